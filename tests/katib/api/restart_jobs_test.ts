/** Tests of requests to restart jobs: who may, what a body may say, and the answer to each outcome. */
import assert from "node:assert/strict";
import { restartingSchema } from "../../../katib/api/messages.ts";
import { restartAsks } from "../../../owner/restarts/restart_asks.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { restartPath, stopPath } from "../../../crds/job_kind.ts";
import { apiBench, RESTARTED } from "./api_bench.ts";
import {
  type RefusedBody,
  type RefusedRequest,
  testChangeRequests,
} from "./change_request_cases.ts";

const BODY = { count: 1, reason: "Hangs", message: "no step for an hour" };

const long = (field: string, length: number) =>
  JSON.stringify({ count: 1, reason: "A", [field]: "m".repeat(length) });
const refusedBodies: Readonly<Record<string, RefusedBody>> = {
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
const refused: Readonly<Record<string, RefusedRequest>> = {
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
const send = testChangeRequests({
  verb: "restart",
  url: restartPath(TRAINJOB, "team", "job"),
  body: BODY,
  stored: RESTARTED,
  answerSchema: restartingSchema,
  asksOf: (bench) => bench.restartAsks,
  refusedBodies,
  refused,
});

Deno.test("requests to stop and to restart count together", async () => {
  const bench = apiBench();
  for (let times = 0; times < 5; times++) assert.equal((await send(bench)).status, 200);
  const url = stopPath(TRAINJOB, "team", "job");
  assert.equal((await send(bench, { url, body: '{"reason":"A"}' })).status, 429);
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
