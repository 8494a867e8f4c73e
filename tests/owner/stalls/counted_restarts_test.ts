/** Tests of the restarts that are counted, and by which cause. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { type AnyJob, jobSchema } from "../../../crds/job_kind.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { countRestarts } from "../../../owner/stalls/counted_restarts.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";

const TIME = "2026-01-01T00:00:00Z";

function job(count?: number, user?: string): AnyJob {
  const restart = count && { count, reason: "Stalled", message: "", time: TIME, user };
  return jobSchema.parse({
    apiVersion: TRAINJOB.apiVersion,
    kind: "TrainJob",
    metadata: { name: "a" },
    status: restart ? { restart } : {},
  });
}

const jobSet = (restarts?: number): JobSet =>
  KINDS.jobSet.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "a" },
    ...(restarts !== undefined && { status: { restarts } }),
  });

Deno.test("each restart is counted once by its cause, and what the caches are filled with is not", () => {
  const told: string[] = [];
  let onJob: (change: Change<AnyJob>) => void = () => {};
  let onJobSet: (change: Change<JobSet>) => void = () => {};
  countRestarts({
    jobs: new Map([[TRAINJOB, {
      jobs: { get: () => undefined, onChange: (it) => (onJob = it, () => {}) },
    }]]),
    jobSets: { onChange: (it) => (onJobSet = it, () => {}) },
    onRestart: (cause, times) => void told.push(`${cause} ${times}`),
  });
  onJob({ type: "added", object: job(4) });
  onJob({ type: "updated", old: job(), object: job(1, "ada") });
  onJob({ type: "updated", old: job(1, "ada"), object: job(1, "ada") });
  onJob({ type: "updated", old: job(1, "ada"), object: job(2) });
  onJob({ type: "updated", old: job(2), object: job() });
  onJob({ type: "updated", old: job(), object: job(2 ** 31 - 1) });
  onJobSet({ type: "added", object: jobSet(7) });
  onJobSet({ type: "updated", old: jobSet(), object: jobSet(2) });
  onJobSet({ type: "updated", old: jobSet(2), object: jobSet(0) });
  assert.deepEqual(told, ["user 1", "policy 1", "policy 1", "failure 2"]);
});
