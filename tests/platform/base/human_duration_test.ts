/** Tests of durations as kubectl prints them. */
import assert from "node:assert/strict";
import { humanDuration } from "../../../platform/base/human_duration.ts";

const durations: Record<string, number> = {
  "0s": 0,
  "119s": 119,
  "2m": 120,
  "3m12s": 192,
  "10m": 600,
  "179m": 179 * 60 + 59,
  "3h": 3 * 3600,
  "5h30m": 5.5 * 3600,
  "8h": 8.5 * 3600,
  "2d": 48 * 3600,
  "2d3h": 51 * 3600,
  "7d23h": 8 * 86400 - 1,
  "8d": 8 * 86400,
  "729d": 2 * 365 * 86400 - 1,
  "2y": 2 * 365 * 86400,
  "2y1d": (2 * 365 + 1) * 86400,
  "8y": 8 * 365 * 86400 + 5 * 86400,
  "<invalid>": -5,
};
for (const [want, seconds] of Object.entries(durations)) {
  Deno.test(`humanDuration() prints ${seconds} s as ${want}`, () => {
    assert.equal(humanDuration(seconds * 1000), want);
  });
}
