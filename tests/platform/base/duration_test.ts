/** Tests of durations as Go writes them. */
import assert from "node:assert/strict";
import { parseDuration } from "../../../platform/base/duration.ts";

/** What Go 1.26's time.ParseDuration made of each text, in nanoseconds; undefined is an error. */
const facts: [string, number | undefined][] = [
  ["0", 0],
  ["0s", 0],
  ["-0s", 0],
  ["+0", 0],
  ["1h", 3600000000000],
  ["3600s", 3600000000000],
  ["60m", 3600000000000],
  ["1h0m0s", 3600000000000],
  ["1h1ns", 3600000000001],
  ["1.5s", 1500000000],
  [".5s", 500000000],
  ["1.s", 1000000000],
  ["1.5h30m", 7200000000000],
  ["15ms", 15000000],
  ["10us", 10000],
  ["10µs", 10000],
  ["10μs", 10000],
  ["5ns", 5],
  ["+5s", 5000000000],
  ["-5s", -5000000000],
  ["", undefined],
  ["5", undefined],
  ["s", undefined],
  ["1 s", undefined],
  ["1s5", undefined],
  ["1d", undefined],
  ["1S", undefined],
  ["1e3s", undefined],
  ["0x1s", undefined],
  ["..5s", undefined],
  [".s", undefined],
  ["1h-1s", undefined],
  ["9223372036854775807ns", 9223372036854775807],
  ["9223372036854775808ns", undefined],
  ["2562048h", undefined],
  ["1_0s", undefined],
  ["00012s", 12000000000],
  ["0.0000001s", 100],
  ["1m1m", 120000000000],
  ["99999999999999999999s", undefined],
  ["3600001ms", 3600001000000],
  [" 1s", undefined],
  ["1.5", undefined],
  ["0.0", undefined],
];
/** Go's own longest; a double cannot tell it from the nanosecond that is too much. */
const ROUNDED = "9223372036854775807ns";

for (const [text, nanoseconds] of facts) {
  if (text === ROUNDED) continue;
  const isRead = nanoseconds !== undefined && nanoseconds >= 0;
  const want = isRead ? nanoseconds / 1e6 : undefined;
  Deno.test(`parseDuration() reads ${JSON.stringify(text)} as ${want} ms`, () => {
    const ms = parseDuration(text);
    if (want === undefined) return assert.equal(ms, undefined);
    assert.ok(ms !== undefined && Math.abs(ms - want) < 1e-7, String(ms));
  });
}
