/** Tests of the words of what happens to a job that runs. */
import assert from "node:assert/strict";
import { type JobChange, jobChangeText } from "../../../platform/base/job_change_text.ts";

const NOW = 100_000;
const cases: Readonly<Record<string, { change: JobChange; want: string | undefined }>> = {
  "a job that goes on": { change: {}, want: undefined },
  "whole seconds of a grace": { change: { stopsByMs: NOW + 18_000 }, want: "stopping, 18 s left" },
  "a part of a second is none: no more is left than the grace": {
    change: { stopsByMs: NOW + 18_900 },
    want: "stopping, 18 s left",
  },
  "less than a second": { change: { stopsByMs: NOW + 400 }, want: "stopping now" },
  "a grace that is over": { change: { stopsByMs: NOW }, want: "stopping now" },
  "a job that is late": { change: { stopsByMs: NOW - 5_000 }, want: "stopping now" },
  "restarts": { change: { restarts: 4 }, want: "restarting (4×)" },
  "restarts with a limit": {
    change: { restarts: 4, restartLimit: 6 },
    want: "restarting (4×, fails after at most 6)",
  },
  "a restart under way": {
    change: { restartingSinceMs: NOW - 12_000, restarts: 4, stalledSinceMs: NOW },
    want: "restarting for 12 s",
  },
  "a stop of a job that is restarted": {
    change: { restartingSinceMs: NOW, stopsByMs: NOW },
    want: "stopping now",
  },
  "a stall": { change: { stalledSinceMs: NOW - 61_000 }, want: "stalled for 61 s" },
  "a stall of a clock that is ahead": {
    change: { stalledSinceMs: NOW + 9 },
    want: "stalled for 0 s",
  },
  "a stop is what matters": {
    change: { stopsByMs: NOW, restarts: 4, stalledSinceMs: NOW },
    want: "stopping now",
  },
};
for (const [what, { change, want }] of Object.entries(cases)) {
  Deno.test(`\`jobChangeText()\`: ${what}`, () => {
    assert.equal(jobChangeText(change, NOW, (seconds) => `${seconds} s`), want);
  });
}
