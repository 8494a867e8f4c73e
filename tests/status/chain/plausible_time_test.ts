/** Tests of implausible times: how far they are moved, and who is informed. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { plausible } from "../../../status/chain/plausible_time.ts";

const NOW = "2026-01-01T12:00:00.000Z";
const START = "2026-01-01T10:00:00.000Z";
const bounds = { nowMs: Date.parse(NOW), startMs: Date.parse(START) };

const CASES: Record<
  string,
  { times: string[]; want: string[]; warnings: RegExp[]; start?: false }
> = {
  "leaves a time between the pod's start and now as it was written": {
    times: ["2026-01-01T12:30:00.123456+01:00"],
    want: ["2026-01-01T12:30:00.123456+01:00"],
    warnings: [],
  },
  "leaves now and the start": {
    times: [START, "2026-01-01T12:00:00Z"],
    want: [START, "2026-01-01T12:00:00Z"],
    warnings: [],
  },
  "moves the future to now, and says so": {
    times: ["2026-01-01T12:00:01Z"],
    want: [NOW],
    warnings: [
      /^lastUpdatedTime 2026-01-01T12:00:01Z is in the future, and is taken as now, 2026-01-01T12:00:00.000Z: /,
    ],
  },
  "moves the future of less than a second to now without a word": {
    times: ["2026-01-01T12:00:00.999Z"],
    want: [NOW],
    warnings: [],
  },
  "moves the past before the pod to its start, and says so": {
    times: ["2026-01-01T09:59:59Z"],
    want: [START],
    warnings: [
      /^lastUpdatedTime 2026-01-01T09:59:59Z is before the pod's start, and is taken as its start, 2026-01-01T10:00:00.000Z: /,
    ],
  },
  "leaves past times if the pod's start is unknown": {
    times: ["1970-01-01T00:00:00Z"],
    want: ["1970-01-01T00:00:00Z"],
    warnings: [],
    start: false,
  },
  "says once a kind how many of a history's samples were moved": {
    times: [
      "2020-01-01T00:00:00Z",
      "2026-01-01T09:00:00Z",
      "2026-01-01T11:00:00Z",
      "2031-01-01T00:00:00Z",
    ],
    want: [START, START, "2026-01-01T11:00:00Z", NOW],
    warnings: [
      /^lastUpdatedTime of 1 of 4 samples is in the future/,
      /^lastUpdatedTime of 2 of 4 samples is before the pod's start/,
    ],
  },
};
for (const [sentence, { times, want, warnings, start }] of Object.entries(CASES)) {
  Deno.test(`\`plausible()\` ${sentence}`, () => {
    const samples = times.map((lastUpdatedTime) => ({ progressPercentage: 5, lastUpdatedTime }));
    const answer = plausible(samples, start === false ? { nowMs: bounds.nowMs } : bounds);
    assert.deepEqual(answer.samples.map((sample) => sample.lastUpdatedTime), want);
    assert(answer.samples.every((sample) => sample.progressPercentage === 5));
    const moved = times.map((time, index) => time === want[index] ? undefined : time);
    assert.deepEqual(answer.sentTimes ?? times.map(() => undefined), moved);
    assert.equal(answer.warnings.length, warnings.length, JSON.stringify(answer.warnings));
    warnings.forEach((says, index) => assert.match(answer.warnings[index] ?? "", says));
  });
}

Deno.test("`plausible()` moves nothing past now if the pod seems to start later than now", () => {
  const late = { nowMs: bounds.nowMs, startMs: bounds.nowMs + 60_000 };
  const { samples } = plausible([{ lastUpdatedTime: START }], late);
  assert.equal(samples[0]?.lastUpdatedTime, NOW);
});

Deno.test("`plausible()` keeps order, and every time between start and now", () => {
  const anyTime = fc.integer({ min: bounds.startMs - 10 ** 10, max: bounds.nowMs + 10 ** 10 });
  fc.assert(fc.property(fc.array(anyTime, { minLength: 1, maxLength: 30 }), (list) => {
    const ordered = list.toSorted((a, b) => a - b)
      .map((ms) => ({ lastUpdatedTime: new Date(ms).toISOString() }));
    const times = plausible(ordered, bounds).samples.map((one) => Date.parse(one.lastUpdatedTime));
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert(times.every((time) => time >= bounds.startMs && time <= bounds.nowMs));
  }));
});
