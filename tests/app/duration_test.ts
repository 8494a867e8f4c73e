/** Durations as Go writes them. */
import assert from "node:assert/strict";
import { parseDuration } from "../../app/duration.ts";

const cases: [string, number | undefined][] = [
  ["15s", 15_000],
  ["250ms", 250],
  ["1m30s", 90_000],
  ["1.5h", 5_400_000],
  ["0", 0],
  ["0s", 0],
  ["5", undefined],
  ["", undefined],
  ["-1s", undefined],
  ["1s5", undefined],
  ["s", undefined],
  ["1 s", undefined],
];
for (const [text, want] of cases) {
  Deno.test(`parseDuration() reads "${text}" as ${want}`, () => {
    assert.equal(parseDuration(text), want);
  });
}
