/** Tests of the messages between replicas about observations: hostile values, long rows, an unreachable log. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import {
  answerAsk,
  answerPages,
  observationAsks,
  PAGES_PER_ASK,
  pagesAsks,
} from "../../../owner/observations/observation_asks.ts";
import type { ObservationReader } from "../../../owner/observations/observations.ts";
import { ASK_MAX_BYTES, encodeAsk } from "../../../owner/replicas/forward_asks.ts";
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

const pages = pagesAsks(JOB_KINDS);

Deno.test("a question for pages and its answer are read as they were sent, with step and pod", async () => {
  const log = logOf("uid-1");
  log.rows.push({ time: "2026-01-01T00:00:01Z", name: "loss", value: "1", step: 7, run: "pod" });
  const ask = { pages: [{ job, limit: 10 }, { job: { ...job, uid: "other" }, limit: 10 }] };
  assert.deepEqual(
    pages.schemas.ask.parse(JSON.parse(JSON.stringify(pages.write(ask)))),
    ask,
  );
  const answer = await answerPages(log.source, ask, NEVER);
  assert.deepEqual(answer, {
    pages: [
      {
        rows: [{ time: "2026-01-01T00:00:01Z", name: "loss", value: "1", step: 7, podUid: "pod" }],
        more: false,
        isTold: true,
      },
      { rows: [], more: false },
    ],
  });
  assert.deepEqual(pages.schemas.answer.parse(JSON.parse(JSON.stringify(answer))), answer);
  const away = { retryAfterMs: 5, reason: "down" };
  assert.deepEqual(pages.schemas.answer.parse(away), away);
  const many = { pages: Array.from({ length: PAGES_PER_ASK + 1 }, () => ask.pages[0]) };
  assert.equal(pages.schemas.ask.safeParse(many).success, false);
});

Deno.test("the longest question for pages fits in a call", () => {
  const long = {
    ...job,
    namespace: "n".repeat(63),
    name: "j".repeat(253),
    uid: crypto.randomUUID(),
  };
  const from = { time: "2026-01-01T00:00:00.000000Z", seen: 10_000 };
  const ask = {
    pages: Array.from({ length: PAGES_PER_ASK }, () => ({ job: long, from, limit: 500 })),
  };
  const bytes = encodeAsk({ transitions: Number.MAX_SAFE_INTEGER, ask: pages.write(ask) });
  assert.ok(bytes.length < ASK_MAX_BYTES, String(bytes.length));
});

Deno.test("one log out of reach is told apart from the others of its answer, and a bug is thrown", async () => {
  const { source } = logOf("uid-1");
  const away: ObservationReader = {
    ...source,
    pageOf: (asked, ...rest) =>
      asked.uid === "away"
        ? Promise.reject(new SinkError("unavailable", "down", { retryAfterMs: 4000 }))
        : asked.uid === "bug"
        ? Promise.reject(new TypeError("a bug"))
        : source.pageOf(asked, ...rest),
  };
  const askOf = (...uids: string[]) => ({
    pages: uids.map((uid) => ({ job: { ...job, uid }, limit: 1 })),
  });
  const answer = await answerPages(away, askOf("uid-1", "away", "uid-1"), NEVER);
  assert.partialDeepStrictEqual(answer, {
    pages: [{ more: false }, { retryAfterMs: 4000 }, { more: false }],
  });
  await assert.rejects(answerPages(away, askOf("uid-1", "bug"), NEVER), TypeError);
});

Deno.test("pages of one answer have its room together, and those without have more", async () => {
  const log = logOf("uid-1");
  for (let second = 0; second < 4; second++) log.push(second, "x".repeat(300_000));
  const asks = Array.from({ length: PAGES_PER_ASK }, () => ({ job, limit: 100 }));
  const answer = await answerPages(log.source, { pages: asks }, NEVER);
  assert.ok("pages" in answer);
  assert.equal(answer.pages.length, PAGES_PER_ASK);
  const counts = answer.pages.map((page) => "rows" in page && page.more ? page.rows.length : NaN);
  assert.equal(counts[0], 3);
  assert.ok(counts.some((count) => count === 0), String(counts));
  // Those that were under way have a row each.
  assert.ok(JSON.stringify(answer).length < 3 * 1_048_576);
});
