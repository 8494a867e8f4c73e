/** Tests of changes by hand: what a stop says where the manager cannot be asked, and that each is of the job that was seen. */
import assert from "node:assert/strict";
import type { StopBody } from "../../crds/wire/stop_request.ts";
import type { JobStop } from "../../crds/trainjob.ts";
import {
  BY_HAND,
  changeByHand,
  restartJobByHand,
  stopJobByHand,
} from "../../terminal/stopped_job.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { answeringClient, never } from "../support/answering_client.ts";
import { withAnswers } from "../support/api_answers.ts";

const JOB = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };

const NOW = Date.parse("2026-01-01T00:00:12.300Z");
/** A decision of twelve seconds ago. */
const stopOf = (graceSeconds: number): JobStop => ({
  reason: "Pruned",
  message: "asked for by alice",
  time: "2026-01-01T00:00:00.000Z",
  graceSeconds,
});

const stop = (
  client: ManagerClient | undefined,
  signal: AbortSignal,
  body: StopBody = BY_HAND,
  status = {},
) => {
  const missingOfManager = () => ["the manager does not accept this user's token"];
  const { uid, name, namespace } = JOB;
  const { apiVersion, kind } = TRAINJOB;
  const spec = { runtimeRef: { name: "plain" } };
  const object = { apiVersion, kind, metadata: { uid, name, namespace }, spec, status };
  return stopJobByHand(
    {
      client: answeringClient(() => Response.json(object)),
      manager: () => client,
      missingOfManager,
      clock: { now: () => NOW },
    },
    JOB,
    body,
    signal,
  );
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

const SUSPENDED = { type: "Suspended", status: "True", reason: "Suspended", message: "" };
const answers: Readonly<Record<string, [StopBody, unknown, string, unknown?]>> = {
  "the grace that the job has": [
    BY_HAND,
    { stop: stopOf(45) },
    "was told to stop (grace period: 45 s)",
  ],
  "that it has none": [
    { ...BY_HAND, graceSeconds: 0 },
    { stop: stopOf(0) },
    "was stopped immediately (no grace period)",
  ],
  "that another one holds, and how long it lasts": [
    { ...BY_HAND, graceSeconds: 300 },
    { stop: stopOf(40) },
    "is being stopped already, 27s left; a grace can only be shortened",
    { stop: stopOf(40) },
  ],
  "that it has shortened another one's grace": [
    { ...BY_HAND, graceSeconds: 5 },
    { stop: stopOf(18) },
    "is being stopped already, 5s left; a grace can only be shortened",
    { stop: stopOf(40) },
  ],
  "no grace of a job that is suspended": [
    BY_HAND,
    { stop: stopOf(30) },
    "was stopped at once, since it is suspended",
    { conditions: [SUSPENDED] },
  ],
};
for (const [what, [body, answer, want, status = {}]] of Object.entries(answers)) {
  Deno.test(`a stop says ${what}, and asks for 30 s where nothing says a grace`, async () => {
    const asked: unknown[] = [];
    const client = answeringClient((request) => {
      asked.push(JSON.parse(request.body ?? ""));
      return Response.json(answer);
    });
    assert.equal(await stop(client, new AbortController().signal, body, Object(status)), want);
    assert.deepEqual(asked, [{ defaultGraceSeconds: 30, ...body, uid: "u1" }]);
  });
}

Deno.test("a job that was stopped early is not asked to stop", async () => {
  const ended = { type: "EarlyStopped", status: "True", reason: "Pruned", message: "" };
  const { signal } = new AbortController();
  assert.equal(
    await stop(undefined, signal, BY_HAND, { conditions: [ended] }),
    "has ended already, stopped early",
  );
});

const RESTART = { count: 3, reason: "RestartedByUser", message: "m", time: "2026-01-01T00:00:00Z" };
/** Restarts the job, whose status says that; returns what was asked of the manager, and what was said. */
function restart(status: object, response: () => Response, message?: string) {
  const { apiVersion, kind } = TRAINJOB;
  const spec = { runtimeRef: { name: "plain" } };
  const object = { apiVersion, kind, metadata: { ...JOB, kind: undefined }, spec, status };
  const asked: unknown[] = [];
  const cluster = {
    client: answeringClient(() => Response.json(object)),
    manager: () =>
      answeringClient(({ path, body = "" }) => {
        asked.push([path.split("/").at(-1), JSON.parse(body)]);
        return response();
      }),
    missingOfManager: () => [],
  };
  const said = restartJobByHand(cluster, JOB, { message }, new AbortController().signal);
  return { said, asked };
}

Deno.test("a restart asks for the next one of that very job, and says what goes", async () => {
  const stored = () => Response.json({ restart: { ...RESTART, pods: ["a", "b"] } });
  const before = { ...RESTART, count: 2, endTime: "2026-01-01T00:00:09Z" };
  const { said, asked } = restart(
    { state: "Running", restart: before, checkpoint: { step: 812, time: RESTART.time } },
    stored,
    "it hangs",
  );
  assert.equal(
    await said,
    "is being restarted (restart 3): its pods go, and new ones come; its newest checkpoint is of step 812",
  );
  const body = { count: 3, reason: "RestartedByUser", message: "it hangs", uid: "u1" };
  assert.deepEqual(asked, [["restart", body]]);
  const first = restart(
    { state: "Running" },
    () => Response.json({ restart: { ...RESTART, count: 1, pods: ["a"] } }),
  );
  assert.equal(
    await first.said,
    "is being restarted (restart 1): its pod goes, and a new one comes; it has reported no checkpoint",
  );
  assert.deepEqual(first.asked, [["restart", { count: 1, reason: "RestartedByUser", uid: "u1" }]]);
});

Deno.test("a restart that is refused says why", async () => {
  const message = "TrainJob ml/mnist is suspended: it has no pods that could be started again";
  const status = { kind: "Status", status: "Failure", reason: "Conflict", code: 409, message };
  const { said } = restart(
    { state: "Running" },
    () => Response.json(status, { status: 409 }),
  );
  await assert.rejects(said, { message: /is suspended: it has no pods/ });
});
