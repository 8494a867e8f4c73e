/** Tests of changes by hand: what a stop says where the manager cannot be asked, and that each is of the job that was seen. */
import assert from "node:assert/strict";
import type { StopBody } from "../../crds/wire/stop_request.ts";
import { BY_HAND, changeByHand, stopJobByHand } from "../../terminal/stopped_job.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { answeringClient, never } from "../support/answering_client.ts";
import { withAnswers } from "../support/api_answers.ts";

const JOB = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };

const stop = (client: ManagerClient | undefined, signal: AbortSignal, body: StopBody = BY_HAND) => {
  const missingOfManager = () => ["the manager does not accept this user's token"];
  return stopJobByHand({ manager: () => client, missingOfManager }, JOB, body, signal);
};

Deno.test("a stop says why the manager is not asked, such as that it does not take the token", () =>
  assert.rejects(
    stop(undefined, new AbortController().signal),
    { message: "the manager does not accept this user's token" },
  ));

Deno.test("a stop that nobody waits for any more is over", async () => {
  const gone = new AbortController();
  const client = answeringClient((_, signal) => {
    const ended = never(signal);
    gone.abort(new Error("ended"));
    return ended;
  });
  await assert.rejects(stop(client, gone.signal), { message: "ended" });
});

Deno.test("a job is suspended, and goes on, by its own switch, if it is the one that was seen", async () => {
  const pytorch = JOB_KINDS.byId("pytorchjobs.kubeflow.org") ?? TRAINJOB;
  const signal = new AbortController().signal;
  await withAnswers(
    ({ body }) => ({ kind: "Any", metadata: {}, ...Object(body) }),
    async (client, asked) => {
      const cluster = { client, manager: () => undefined, missingOfManager: () => [] };
      for (const [kind, change] of [[TRAINJOB, "suspend"], [pytorch, "resume"]] as const) {
        await changeByHand(cluster, change, { ...JOB, kind }, signal).catch(() => {});
      }
      assert.deepEqual(
        asked.map(({ method, path, body }) => [method, path.split("/").at(-2), body]),
        [
          ["PATCH", "trainjobs", { metadata: { uid: "u1" }, spec: { suspend: true } }],
          ["PATCH", "pytorchjobs", {
            metadata: { uid: "u1" },
            spec: { runPolicy: { suspend: false } },
          }],
        ],
      );
    },
  );
});

Deno.test("a job is deleted if it is the one that was seen, in the background", async () => {
  await withAnswers(() => ({ kind: "Status", status: "Success" }), async (client, asked) => {
    const cluster = { client, manager: () => undefined, missingOfManager: () => [] };
    const done = await changeByHand(cluster, "delete", JOB, new AbortController().signal);
    assert.equal(done, "is being deleted");
    assert.partialDeepStrictEqual(asked[0], {
      method: "DELETE",
      body: { preconditions: { uid: "u1" }, propagationPolicy: "Background" },
    });
  });
});

const answers: Readonly<Record<string, [StopBody, unknown, string]>> = {
  "the grace that the job has": [
    BY_HAND,
    { stop: { graceSeconds: 45 } },
    "was told to stop (grace period: 45 s)",
  ],
  "that it has none": [
    { ...BY_HAND, graceSeconds: 0 },
    { stop: { graceSeconds: 0 } },
    "was stopped immediately (no grace period)",
  ],
  "no grace that the manager does not say": [BY_HAND, {}, "was told to stop"],
};
for (const [what, [body, answer, want]] of Object.entries(answers)) {
  Deno.test(`a stop says ${what}, and asks for 30 s where nothing says a grace`, async () => {
    const asked: unknown[] = [];
    const client = answeringClient((request) => {
      asked.push(JSON.parse(request.body ?? ""));
      return Response.json(answer);
    });
    assert.equal(await stop(client, new AbortController().signal, body), want);
    assert.deepEqual(asked, [{ defaultGraceSeconds: 30, ...body, uid: "u1" }]);
  });
}
