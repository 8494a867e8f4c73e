/** Tests of requests to stop jobs: who may, what a body may say, and the answer to each outcome. */
import assert from "node:assert/strict";
import { stoppingSchema } from "../../../katib/api/messages.ts";
import { stopAsks } from "../../../owner/observations/stop_asks.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { stopPath } from "../../../crds/job_kind.ts";
import { apiBench, STOPPED } from "./api_bench.ts";
import {
  type RefusedBody,
  type RefusedRequest,
  testChangeRequests,
} from "./change_request_cases.ts";

const BODY = { reason: "Pruned", message: "worse than the median", graceSeconds: 30 };

const refusedBodies: Readonly<Record<string, RefusedBody>> = {
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
const refused: Readonly<Record<string, RefusedRequest>> = {
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
const send = testChangeRequests({
  verb: "stop",
  url: stopPath(TRAINJOB, "team", "job"),
  body: BODY,
  stored: STOPPED,
  answerSchema: stoppingSchema,
  asksOf: (bench) => bench.stopAsks,
  refusedBodies,
  refused,
});

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
