/** Tests of requests to stop jobs: who may, what a body may say, and the answer to each outcome. */
import assert from "node:assert/strict";
import { failureSchema, stoppingSchema } from "../../../katib/api/messages.ts";
import { stopAsks } from "../../../owner/observations/stop_asks.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { stopPath } from "../../../crds/job_kind.ts";
import { apiBench, requestOf, runningJob, STOPPED, tokenWith } from "./api_bench.ts";

type Bench = ReturnType<typeof apiBench>;
type Changes = Parameters<typeof requestOf>[0];

const URL = stopPath(TRAINJOB, "team", "job");
const BODY = { reason: "Pruned", message: "worse than the median", graceSeconds: 30 };

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

Deno.test("a request to stop reaches the owner with its user, and answers what is stored", async () => {
  const bench = apiBench();
  const { status, body } = await send(bench);
  assert.equal(status, 200);
  assert.deepEqual(body, { stop: STOPPED });
  stoppingSchema.parse(body);
  assert.deepEqual(bench.stopAsks, [{
    job: { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" },
    trialUid: null,
    user: "system:serviceaccount:team:reader",
    stop: BODY,
  }]);
  assert.deepEqual(bench.counted, ["stop accepted"]);
  const [review] = bench.server.asked.slice(1);
  assert.match(review ?? "", /"verb":"update".*"resource":"trainjobs".*"name":"job"/);
});

Deno.test("a request that names the UID of another job of that name stops nothing", async () => {
  const bench = apiBench();
  const other = await send(bench, { body: JSON.stringify({ ...BODY, uid: "uid-0" }) });
  assert.equal(other.status, 404);
  assert.match(other.body.message, /that was meant is gone/);
  assert.deepEqual(bench.stopAsks, []);
  const meant = await send(bench, { body: JSON.stringify({ ...BODY, uid: "uid-1" }) });
  assert.equal(meant.status, 200);
  assert.deepEqual(bench.stopAsks.map(({ stop }) => stop), [BODY]);
});

Deno.test("of a job that a Trial controls the Trial must be the user's to update, too", async () => {
  const bench = apiBench();
  bench.jobs.set("team/job", trialsJob());
  assert.equal((await send(bench)).status, 200);
  assert.equal(bench.stopAsks[0]?.trialUid, "uid-of-trial");
  assert.match(bench.server.asked[2] ?? "", /"verb":"update".*"kubeflow.org".*"resource":"trials"/);

  const other = apiBench();
  other.jobs.set("team/job", trialsJob());
  other.server.denies = /"trials"/;
  const { status, body } = await send(other);
  assert.equal(status, 403);
  assert.match(body.message, /may not update Trial team\/job/);
  assert.deepEqual(other.stopAsks, []);
});

Deno.test("who may only get the job may not stop it, whether it exists or not", async () => {
  for (const exists of [true, false]) {
    const bench = apiBench();
    if (!exists) bench.jobs.clear();
    bench.server.denies = /"verb":"update"/;
    assert.equal((await send(bench, { url: undefined, method: "GET" })).status, exists ? 200 : 404);
    const { status, body } = await send(bench);
    assert.equal(status, 403);
    assert.match(body.message, /may not update TrainJob team\/job/);
    assert.deepEqual(bench.stopAsks, []);
    assert.equal(bench.counted.at(-1), "stop forbidden");
  }
});

const bodies: Readonly<Record<string, { body: string; field: string; says: RegExp }>> = {
  "nothing": { body: "", field: "", says: /must be a JSON object with a reason/ },
  "no JSON": { body: "{", field: "", says: /must be a JSON object with a reason/ },
  "no object": { body: "[]", field: "", says: /must be a JSON object with a reason/ },
  "no reason": { body: "{}", field: "reason", says: /must be the reason of a condition/ },
  "an empty reason": { body: '{"reason":""}', field: "reason", says: /reason of a condition/ },
  "a reason of words": { body: '{"reason":"too bad"}', field: "reason", says: /of a condition/ },
  "a reason that begins with a digit": { body: '{"reason":"3rd"}', field: "reason", says: /begin/ },
  "a reason that ends with a comma": { body: '{"reason":"A,"}', field: "reason", says: /begin/ },
  "a long reason": {
    body: JSON.stringify({ reason: "A".repeat(1025) }),
    field: "reason",
    says: /1 to 1024/,
  },
  "a long message": {
    body: JSON.stringify({ reason: "A", message: "m".repeat(1025) }),
    field: "message",
    says: /at most 1024/,
  },
  "a grace below 0": {
    body: '{"reason":"A","graceSeconds":-1}',
    field: "graceSeconds",
    says: /0 to/,
  },
  "a grace of more than an hour": {
    body: '{"reason":"A","graceSeconds":3601}',
    field: "graceSeconds",
    says: /0 to 3600/,
  },
  "a part of a second": {
    body: '{"reason":"A","graceSeconds":0.5}',
    field: "graceSeconds",
    says: /whole number/,
  },
  "a grace as a text": {
    body: '{"reason":"A","graceSeconds":"5"}',
    field: "graceSeconds",
    says: /whole number/,
  },
  "a misspelt name": {
    body: '{"reason":"A","graceSecond":5}',
    field: "graceSecond",
    says: /known/,
  },
};
for (const [what, { body, field, says }] of Object.entries(bodies)) {
  Deno.test(`a request to stop with ${what} is refused`, async () => {
    const bench = apiBench();
    const answer = await send(bench, { body });
    assert.equal(answer.status, 422);
    const { message, details } = failureSchema.parse(answer.body);
    assert.match(message, /^the stop is invalid: /);
    assert.equal(details?.causes[0]?.field, field);
    assert.match(details?.causes[0]?.message ?? "", says);
    assert.deepEqual(bench.stopAsks, []);
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
    set: ({ answerStops }) => answerStops({ refusal: "ended", reason: "it has ended" }),
    code: 409,
    says: /it has ended/,
  },
  "a job that is being deleted": {
    set: ({ answerStops }) => answerStops({ refusal: "gone", reason: "it goes" }),
    code: 404,
    says: /it goes/,
  },
  "a job that another cluster runs": {
    set: ({ answerStops }) => answerStops({ refusal: "elsewhere", reason: "stop it there" }),
    code: 422,
    says: /stop it there/,
  },
  "a definition without the field": {
    set: ({ answerStops }) => answerStops({ retryAfterMs: 60_000, reason: "drops status.stop" }),
    code: 503,
    says: /drops status.stop/,
  },
};
for (const [what, { changes, set, code, says }] of Object.entries(refused)) {
  Deno.test(`a request to stop is refused for ${what}`, async () => {
    const bench = apiBench();
    set?.(bench);
    const { status, body, headers } = await send(bench, changes);
    assert.equal(status, code);
    assert.match(failureSchema.parse(body).message, says ?? /./);
    if (code === 503) assert.match(headers["Retry-After"] ?? "", /^\d+$/);
    if (code === 405) assert.equal(headers["Allow"], "POST");
  });
}

Deno.test("one subject may stop so many jobs at once, and reads meanwhile", async () => {
  const bench = apiBench();
  for (let times = 0; times < 5; times++) assert.equal((await send(bench)).status, 200);
  const { status, body, headers } = await send(bench);
  assert.equal(status, 429);
  assert.match(body.message, /requests of this subject to stop or restart jobs/);
  assert.equal(headers["Retry-After"], "1");
  assert.equal(bench.stopAsks.length, 5);
  assert.equal((await send(bench, { url: undefined, method: "GET" })).status, 200);
});

Deno.test("the right to get a job is not taken for the right to update it, nor the other way round", async () => {
  const bench = apiBench();
  bench.server.denies = /"verb":"get"/;
  assert.equal((await send(bench)).status, 200);
  assert.equal((await send(bench, { url: undefined, method: "GET" })).status, 403);
});

const { schemas } = stopAsks(JOB_KINDS);
const parse = (value: unknown) => schemas.ask.safeParse(value).data;
const parseStopAnswer = (value: unknown) => schemas.answer.safeParse(value).data;
const job = { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" };

Deno.test("a request comes through a message as it was, and anything else is not understood", () => {
  const ask = { job, trialUid: null, user: "someone", stop: BODY };
  const message = { ...ask, job: jobMessage(job) };
  assert.deepEqual(parse(JSON.parse(JSON.stringify(message))), ask);
  for (
    const other of [
      undefined,
      {},
      { ...message, user: "" },
      { ...message, trialUid: undefined },
      { ...message, stop: { reason: "not a reason" } },
      { ...message, stop: { ...BODY, graceSeconds: 4000 } },
    ]
  ) assert.equal(parse(other), undefined);
});

Deno.test("answers come through a message as they were, and anything else is no answer", () => {
  for (
    const answer of [
      { stop: STOPPED },
      { refusal: "ended", reason: "r" },
      { retryAfterMs: 1, reason: "r" },
    ]
  ) assert.deepEqual(parseStopAnswer(JSON.parse(JSON.stringify(answer))), answer);
  for (const other of [undefined, {}, { stop: {} }, { refusal: "new", reason: "r" }]) {
    assert.equal(parseStopAnswer(other), undefined);
  }
});
