/** Tests of the demo's scenario: each job must end as it should. */
import assert from "node:assert/strict";
import { wentAsPlanned } from "../../../app/demo/scenario.ts";
import type { JobSummary } from "../../../app/demo/job_summary.ts";

const summary = (job: string, state: string): JobSummary => ({
  job,
  state,
  seconds: 1,
  metrics: {},
  message: "",
});
const good = [
  summary("softmax", "Complete"),
  summary("failing", "Failed"),
  summary("paused", "Complete"),
];

Deno.test("wentAsPlanned() is true only if each job ended as it should", () => {
  assert.equal(wentAsPlanned(good), true);
  assert.equal(wentAsPlanned(good.slice(1)), false);
  assert.equal(wentAsPlanned([summary("softmax", "Failed"), ...good.slice(1)]), false);
  assert.equal(wentAsPlanned([good[0]!, summary("failing", "Complete"), good[2]!]), false);
});
