/** Tests of requests to restart jobs: who may, what a body may say, and the answer to each outcome. */
import assert from "node:assert/strict";
import { failureSchema, restartingSchema } from "../../../katib/api/messages.ts";
import { restartAsks } from "../../../owner/restarts/restart_asks.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { restartPath, stopPath } from "../../../crds/job_kind.ts";
import { apiBench, requestOf, RESTARTED, runningJob, tokenWith } from "./api_bench.ts";

type Bench = ReturnType<typeof apiBench>;
type Changes = Parameters<typeof requestOf>[0];

const URL = restartPath(TRAINJOB, "team", "job");
const BODY = { count: 1, reason: "Hangs", message: "no step for an hour" };

async function send({ api }: Pick<Bench, "api">, changes: Changes = {}) {
  const request = requestOf({ url: URL, method: "POST", body: JSON.stringify(BODY), ...changes });
  const { status, headers, body } = await api.handle(request);
  return { status, headers, body: JSON.parse(body) };
}

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

Deno.test("a request to restart reaches the owner with its user, and answers what is stored", async () => {
  const bench = apiBench();
  const { status, body } = await send(bench);
  assert.equal(status, 200);
  assert.deepEqual(body, { restart: RESTARTED });
  restartingSchema.parse(body);
  assert.deepEqual(bench.restartAsks, [{
    job: { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" },
    trialUid: null,
    user: "system:serviceaccount:team:reader",
    restart: BODY,
  }]);
  assert.deepEqual(bench.counted, ["restart accepted"]);
  const [review] = bench.server.asked.slice(1);
  assert.match(review ?? "", /"verb":"update".*"resource":"trainjobs".*"name":"job"/);
});

Deno.test("a request that names the UID of another job of that name restarts nothing", async () => {
  const bench = apiBench();
  const other = await send(bench, { body: JSON.stringify({ ...BODY, uid: "uid-0" }) });
  assert.equal(other.status, 404);
  assert.match(other.body.message, /that was meant is gone/);
  assert.deepEqual(bench.restartAsks, []);
  const meant = await send(bench, { body: JSON.stringify({ ...BODY, uid: "uid-1" }) });
  assert.equal(meant.status, 200);
  assert.deepEqual(bench.restartAsks.map(({ restart }) => restart), [BODY]);
});

Deno.test("of a job that a Trial controls the Trial must be the user's to update, too", async () => {
  const bench = apiBench();
  bench.jobs.set("team/job", trialsJob());
  assert.equal((await send(bench)).status, 200);
  assert.equal(bench.restartAsks[0]?.trialUid, "uid-of-trial");
  assert.match(bench.server.asked[2] ?? "", /"verb":"update".*"kubeflow.org".*"resource":"trials"/);

  const other = apiBench();
  other.jobs.set("team/job", trialsJob());
  other.server.denies = /"trials"/;
  const { status, body } = await send(other);
  assert.equal(status, 403);
  assert.match(body.message, /may not update Trial team\/job/);
  assert.deepEqual(other.restartAsks, []);
});

Deno.test("who may only get the job may not restart it, whether it exists or not", async () => {
  for (const exists of [true, false]) {
    const bench = apiBench();
    if (!exists) bench.jobs.clear();
    bench.server.denies = /"verb":"update"/;
    assert.equal((await send(bench, { url: undefined, method: "GET" })).status, exists ? 200 : 404);
    const { status, body } = await send(bench);
    assert.equal(status, 403);
    assert.match(body.message, /may not update TrainJob team\/job/);
    assert.deepEqual(bench.restartAsks, []);
    assert.equal(bench.counted.at(-1), "restart forbidden");
  }
});

const long = (field: string, length: number) =>
  JSON.stringify({ count: 1, reason: "A", [field]: "m".repeat(length) });
const bodies: Readonly<Record<string, { body: string; field: string; says: RegExp }>> = {
  "nothing": { body: "", field: "", says: /must be a JSON object with a count and a reason/ },
  "no object": { body: "[]", field: "", says: /must be a JSON object with a count and a reason/ },
  "no count": { body: '{"reason":"A"}', field: "count", says: /whole number from 1/ },
  "a count of 0": { body: '{"count":0,"reason":"A"}', field: "count", says: /from 1/ },
  "a count as a text": { body: '{"count":"1","reason":"A"}', field: "count", says: /whole/ },
  "half a count": { body: '{"count":1.5,"reason":"A"}', field: "count", says: /whole/ },
  "a count that no object holds": {
    body: '{"count":2147483648,"reason":"A"}',
    field: "count",
    says: /to 2147483647/,
  },
  "no reason": { body: '{"count":1}', field: "reason", says: /must be the reason of a condition/ },
  "a reason of words": {
    body: '{"count":1,"reason":"it hangs"}',
    field: "reason",
    says: /such as/,
  },
  "a long reason": { body: long("reason", 129), field: "reason", says: /1 to 128/ },
  "a long message": { body: long("message", 1025), field: "message", says: /at most 1024/ },
  "an empty UID": { body: '{"count":1,"reason":"A","uid":""}', field: "uid", says: /the UID/ },
  "a grace, which restarts have none of": {
    body: '{"count":1,"reason":"A","graceSeconds":5}',
    field: "graceSeconds",
    says: /known/,
  },
};
for (const [what, { body, field, says }] of Object.entries(bodies)) {
  Deno.test(`a request to restart with ${what} is refused`, async () => {
    const bench = apiBench();
    const answer = await send(bench, { body });
    assert.equal(answer.status, 422);
    const { message, details } = failureSchema.parse(answer.body);
    assert.match(message, /^the restart is invalid: /);
    assert.equal(details?.causes[0]?.field, field);
    assert.match(details?.causes[0]?.message ?? "", says);
    assert.deepEqual(bench.restartAsks, []);
  });
}

const refused: Readonly<
  Record<string, { changes?: Changes; set?: (bench: Bench) => void; code: number; says?: RegExp }>
> = {
  "no token": { changes: { authorization: null }, code: 401 },
  "a token for pushes": {
    changes: { authorization: `Bearer ${tokenWith({ aud: "trainer.kubeflow.org" })}` },
    code: 401,
  },
  "no job": { set: ({ jobs }) => jobs.clear(), code: 404, says: /there is no TrainJob team\/job/ },
  "a body that is too long": { changes: { body: " ".repeat(16_385) }, code: 413, says: /16384/ },
  "a GET": { changes: { method: "GET" }, code: 405 },
  "an API server without answers": { set: ({ server }) => void (server.isAway = true), code: 503 },
  "a job that has ended": {
    set: ({ answerRestarts }) => answerRestarts({ refusal: "conflict", reason: "it has ended" }),
    code: 409,
    says: /it has ended/,
  },
  "a job that is being deleted": {
    set: ({ answerRestarts }) => answerRestarts({ refusal: "gone", reason: "it goes" }),
    code: 404,
    says: /it goes/,
  },
  "a job that another cluster runs": {
    set: ({ answerRestarts }) =>
      answerRestarts({ refusal: "elsewhere", reason: "restart it there" }),
    code: 422,
    says: /restart it there/,
  },
  "a definition without the field": {
    set: ({ answerRestarts }) =>
      answerRestarts({ retryAfterMs: 60_000, reason: "drops status.restart" }),
    code: 503,
    says: /drops status.restart/,
  },
};
for (const [what, { changes, set, code, says }] of Object.entries(refused)) {
  Deno.test(`a request to restart is refused for ${what}`, async () => {
    const bench = apiBench();
    set?.(bench);
    const { status, body, headers } = await send(bench, changes);
    assert.equal(status, code);
    assert.match(failureSchema.parse(body).message, says ?? /./);
    if (code === 503) assert.match(headers["Retry-After"] ?? "", /^\d+$/);
    if (code === 405) assert.equal(headers["Allow"], "POST");
  });
}

Deno.test("requests to stop and to restart count together", async () => {
  const bench = apiBench();
  for (let times = 0; times < 5; times++) assert.equal((await send(bench)).status, 200);
  const url = stopPath(TRAINJOB, "team", "job");
  assert.equal((await send(bench, { url, body: '{"reason":"A"}' })).status, 429);
});

Deno.test("the right to get a job is not taken for the right to update it, nor the other way round", async () => {
  const bench = apiBench();
  bench.server.denies = /"verb":"get"/;
  assert.equal((await send(bench)).status, 200);
  assert.equal((await send(bench, { url: undefined, method: "GET" })).status, 403);
});

const { schemas } = restartAsks(JOB_KINDS);
const parse = (value: unknown) => schemas.ask.safeParse(value).data;
const parseAnswer = (value: unknown) => schemas.answer.safeParse(value).data;
const job = { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" };

Deno.test("a request comes through a message as it was, and anything else is not understood", () => {
  const ask = { job, trialUid: null, user: "someone", restart: BODY };
  const message = { ...ask, job: jobMessage(job) };
  assert.deepEqual(parse(JSON.parse(JSON.stringify(message))), ask);
  for (
    const other of [
      undefined,
      {},
      { ...message, user: "" },
      { ...message, trialUid: undefined },
      { ...message, restart: { count: 1, reason: "not a reason" } },
      { ...message, restart: { ...BODY, count: 0 } },
    ]
  ) assert.equal(parse(other), undefined);
});

Deno.test("answers come through a message as they were, and anything else is no answer", () => {
  for (
    const answer of [
      { restart: RESTARTED },
      { refusal: "conflict", reason: "r" },
      { retryAfterMs: 1, reason: "r" },
    ]
  ) assert.deepEqual(parseAnswer(JSON.parse(JSON.stringify(answer))), answer);
  for (const other of [undefined, {}, { restart: {} }, { refusal: "new", reason: "r" }]) {
    assert.equal(parseAnswer(other), undefined);
  }
});
