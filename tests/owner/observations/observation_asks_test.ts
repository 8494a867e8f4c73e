/** Tests of the messages between replicas about observations: hostile values, long rows, an unreachable log. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { answerAsk, observationAsks } from "../../../owner/observations/observation_asks.ts";
import { behind } from "../../../owner/observations/log_parts.ts";
import type { Position } from "../../../crds/wire/observation.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { logOf } from "../../katib/api/api_bench.ts";

const job = { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" };
const sent = jobMessage(job);
const { schemas } = observationAsks(JOB_KINDS);
const parseAsk = (value: unknown) => schemas.ask.safeParse(value).data;
const parseAnswer = (value: unknown) => schemas.answer.safeParse(value).data;
const NEVER = new AbortController().signal;

Deno.test("`parseAsk()` and `parseAnswer()` read what was sent", async () => {
  const ask = { from: { time: "2026-01-01T00:00:00.000000Z", seen: 1 }, limit: 10 };
  const read = parseAsk(JSON.parse(JSON.stringify({ job: sent, ...ask })));
  assert.deepEqual(read, { job, ...ask });
  const log = logOf("uid-1");
  log.push(1);
  const answer = await answerAsk(log.source, { job, limit: 10 }, NEVER);
  assert.deepEqual(parseAnswer(JSON.parse(JSON.stringify(answer))), answer);
  const away = { retryAfterMs: 5, reason: "down" };
  assert.deepEqual(parseAnswer(away), away);
});

const wrong: Readonly<Record<string, unknown>> = {
  "nothing": undefined,
  "a text": "ask",
  "no job": { limit: 1 },
  "a job without UID": { job: { ...sent, uid: undefined }, limit: 1 },
  "a name without end": { job: { ...sent, name: "n".repeat(254) }, limit: 1 },
  "no limit": { job: sent },
  "a huge limit": { job: sent, limit: 5001 },
  "no rows at all": { job: sent, limit: 0 },
  "half a row": { job: sent, limit: 1.5 },
  "a place before the beginning": { job: sent, limit: 1, from: { time: "x", seen: -1 } },
};
for (const [what, value] of Object.entries(wrong)) {
  Deno.test(`\`parseAsk()\` refuses ${what}`, () => assert.equal(parseAsk(value), undefined));
}

const noAnswers: Readonly<Record<string, unknown>> = {
  "nothing": undefined,
  "rows that are none": { metrics: [], rows: [{ time: 1 }], more: false },
  "no word on whether there is more": { metrics: [], rows: [] },
};
for (const [what, value] of Object.entries(noAnswers)) {
  Deno.test(`\`parseAnswer()\` refuses ${what}`, () => assert.equal(parseAnswer(value), undefined));
}

Deno.test("`answerAsk()` of a job without recorded rows is empty", async () => {
  const { source } = logOf("another");
  assert.deepEqual(await answerAsk(source, { job, limit: 1 }, NEVER), {
    metrics: [],
    rows: [],
    more: false,
  });
});

Deno.test("`answerAsk()` gives a time for the retry if the log is unreachable, and throws other errors", async () => {
  const { source, fault } = logOf("uid-1");
  fault.error = new SinkError("unavailable", "the DB manager hangs", { retryAfterMs: 4000 });
  assert.deepEqual(await answerAsk(source, { job, limit: 1 }, NEVER), {
    retryAfterMs: 4000,
    reason: "the observation log is out of reach: the DB manager hangs",
  });
  fault.error = new TypeError("a bug");
  await assert.rejects(answerAsk(source, { job, limit: 1 }, NEVER), TypeError);
});

Deno.test("`answerAsk()` cuts a page of long rows, and the next page continues after it", async () => {
  const log = logOf("uid-1");
  for (let second = 0; second < 8; second++) log.push(second, `${second}`.repeat(400_000));
  const read: string[] = [];
  let from: Position | undefined;
  let pages = 0;
  for (let more = true; more && pages < 20; pages++) {
    const answer = await answerAsk(log.source, { job, from, limit: 5000 }, NEVER);
    assert.ok("rows" in answer);
    assert.ok(answer.rows.length > 0 && JSON.stringify(answer.rows).length < 1_300_000);
    read.push(...answer.rows.map(({ value }) => value.slice(0, 1)));
    from = behind(answer.rows, from);
    more = answer.more;
  }
  assert.equal(read.join(""), "01234567");
  assert.equal(pages, 4);
});
