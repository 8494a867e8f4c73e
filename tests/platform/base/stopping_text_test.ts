/** Tests of the words of a stop whose grace is running. */
import assert from "node:assert/strict";
import { stoppingText } from "../../../platform/base/stopping_text.ts";

const cases: Readonly<Record<string, { leftMs: number; want: string }>> = {
  "whole seconds": { leftMs: 18_000, want: "stopping, 18 s left" },
  "a part of a second is none: no more is left than the grace": {
    leftMs: 18_900,
    want: "stopping, 18 s left",
  },
  "less than a second": { leftMs: 400, want: "stopping now" },
  "a grace that is over": { leftMs: 0, want: "stopping now" },
  "a job that is late": { leftMs: -5_000, want: "stopping now" },
};
for (const [what, { leftMs, want }] of Object.entries(cases)) {
  Deno.test(`\`stoppingText()\`: ${what}`, () => {
    assert.equal(stoppingText(100_000 + leftMs, 100_000, (seconds) => `${seconds} s`), want);
  });
}
