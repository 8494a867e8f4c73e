/** Cases that requests to stop and to restart jobs have in common: who may, what reaches the owner, and what is refused. */
import assert from "node:assert/strict";
import type { z } from "zod";
import { failureSchema } from "../../../katib/api/messages.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { apiBench, requestOf, runningJob, tokenWith } from "./api_bench.ts";

type Bench = ReturnType<typeof apiBench>;
type Changes = Parameters<typeof requestOf>[0];

/** A body that is refused: the field that is named, and what is said of it. */
export type RefusedBody = {
  readonly body: string;
  readonly field: string;
  readonly says: RegExp;
};

/** What makes a request be refused, and how. */
export interface RefusedRequest {
  readonly changes?: Changes;
  readonly set?: (bench: Bench) => void;
  readonly code: number;
  readonly says?: RegExp;
}

/** A verb, its usual request, and what the owner makes of it. */
export interface VerbCases {
  readonly verb: "stop" | "restart";
  readonly url: string;
  readonly body: object;
  readonly stored: object;
  readonly answerSchema: z.ZodType;
  /** Requests that reached the owner. */
  readonly asksOf: (bench: Bench) => readonly { readonly trialUid: string | null }[];
  readonly refusedBodies: Readonly<Record<string, RefusedBody>>;
  /** Besides those that every request has. */
  readonly refused: Readonly<Record<string, RefusedRequest>>;
}

const REFUSED: Readonly<Record<string, RefusedRequest>> = {
  "no token": { changes: { authorization: null }, code: 401 },
  "a token for pushes": {
    changes: { authorization: `Bearer ${tokenWith({ aud: "trainer.kubeflow.org" })}` },
    code: 401,
  },
  "no job": { set: ({ jobs }) => jobs.clear(), code: 404, says: /there is no TrainJob team\/job/ },
  "a body that is too long": { changes: { body: " ".repeat(16_385) }, code: 413, says: /16384/ },
  "a GET": { changes: { method: "GET" }, code: 405 },
  "an API server without answers": { set: ({ server }) => void (server.isAway = true), code: 503 },
};

function trialsJob() {
  const job = runningJob();
  const owner = {
    apiVersion: "kubeflow.org/v1beta1",
    kind: "Trial",
    name: "job",
    uid: "uid-of-trial",
    controller: true,
  };
  return { ...job, metadata: { ...job.metadata, ownerReferences: [owner] } };
}

/** Tests the cases. Returns how the request is sent, with changes. */
export function testChangeRequests(
  { verb, url, body, stored, answerSchema, asksOf, refusedBodies, refused }: VerbCases,
) {
  async function send({ api }: Pick<Bench, "api">, changes: Changes = {}) {
    const usual = { url, method: "POST", body: JSON.stringify(body) };
    const answer = await api.handle(requestOf({ ...usual, ...changes }));
    return { ...answer, body: JSON.parse(answer.body) };
  }

  Deno.test(`a request to ${verb} reaches the owner with its user, and answers what is stored`, async () => {
    const bench = apiBench();
    const answer = await send(bench);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { [verb]: stored });
    answerSchema.parse(answer.body);
    assert.deepEqual(asksOf(bench), [{
      job: { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" },
      trialUid: null,
      user: "system:serviceaccount:team:reader",
      [verb]: body,
    }]);
    assert.deepEqual(bench.counted, [`${verb} accepted`]);
    const [review] = bench.server.asked.slice(1);
    assert.match(review ?? "", /"verb":"update".*"resource":"trainjobs".*"name":"job"/);
  });

  Deno.test(`a request to ${verb} that names the UID of another job of that name does nothing`, async () => {
    const bench = apiBench();
    const other = await send(bench, { body: JSON.stringify({ ...body, uid: "uid-0" }) });
    assert.equal(other.status, 404);
    assert.match(other.body.message, /that was meant is gone/);
    assert.deepEqual(asksOf(bench), []);
    const meant = await send(bench, { body: JSON.stringify({ ...body, uid: "uid-1" }) });
    assert.equal(meant.status, 200);
    const bodies = asksOf(bench).map((ask) => new Map(Object.entries(ask)).get(verb));
    assert.deepEqual(bodies, [body]);
  });

  Deno.test(`to ${verb} a job that a Trial controls the Trial must be the user's to update, too`, async () => {
    const bench = apiBench();
    bench.jobs.set("team/job", trialsJob());
    assert.equal((await send(bench)).status, 200);
    assert.equal(asksOf(bench)[0]?.trialUid, "uid-of-trial");
    const review = bench.server.asked[2] ?? "";
    assert.match(review, /"verb":"update".*"kubeflow.org".*"resource":"trials"/);

    const other = apiBench();
    other.jobs.set("team/job", trialsJob());
    other.server.denies = /"trials"/;
    const answer = await send(other);
    assert.equal(answer.status, 403);
    assert.match(answer.body.message, /may not update Trial team\/job/);
    assert.deepEqual(asksOf(other), []);
  });

  Deno.test(`who may only get the job may not ${verb} it, whether it exists or not`, async () => {
    for (const exists of [true, false]) {
      const bench = apiBench();
      if (!exists) bench.jobs.clear();
      bench.server.denies = /"verb":"update"/;
      const read = await send(bench, { url: undefined, method: "GET" });
      assert.equal(read.status, exists ? 200 : 404);
      const answer = await send(bench);
      assert.equal(answer.status, 403);
      assert.match(answer.body.message, /may not update TrainJob team\/job/);
      assert.deepEqual(asksOf(bench), []);
      assert.equal(bench.counted.at(-1), `${verb} forbidden`);
    }
  });

  for (const [what, { body, field, says }] of Object.entries(refusedBodies)) {
    Deno.test(`a request to ${verb} with ${what} is refused`, async () => {
      const bench = apiBench();
      const answer = await send(bench, { body });
      assert.equal(answer.status, 422);
      const { message, details } = failureSchema.parse(answer.body);
      assert.match(message, new RegExp(`^the ${verb} is invalid: `));
      assert.equal(details?.causes[0]?.field, field);
      assert.match(details?.causes[0]?.message ?? "", says);
      assert.deepEqual(asksOf(bench), []);
    });
  }

  for (const [what, { changes, set, code, says }] of Object.entries({ ...REFUSED, ...refused })) {
    Deno.test(`a request to ${verb} is refused for ${what}`, async () => {
      const bench = apiBench();
      set?.(bench);
      const { status, body, headers } = await send(bench, changes);
      assert.equal(status, code);
      assert.match(failureSchema.parse(body).message, says ?? /./);
      if (code === 503) assert.match(headers["Retry-After"] ?? "", /^\d+$/);
      if (code === 405) assert.equal(headers["Allow"], "POST");
    });
  }

  Deno.test(`the right to get a job is not taken for the right to ${verb} it, nor the other way round`, async () => {
    const bench = apiBench();
    bench.server.denies = /"verb":"get"/;
    assert.equal((await send(bench)).status, 200);
    assert.equal((await send(bench, { url: undefined, method: "GET" })).status, 403);
  });

  return send;
}
