/** Startup order and dependencies of replicated jobs. Pure. */
import type { ReplicatedJobStatus } from "../../../crds/jobset.ts";
import type { ResolvedReplicatedJob, ResolvedSpec } from "../defaults.ts";
import { counterOf } from "../job_restarts.ts";

type Counters = readonly ReplicatedJobStatus[];

function startedJobs(counters: Counters, name: string): number {
  const counter = counterOf(counters, name);
  return counter ? counter.ready + counter.succeeded + counter.failed : 0;
}

/** Reports whether every dependency of the replicated job has the status that is required. */
export function dependenciesHold(
  job: ResolvedReplicatedJob,
  spec: ResolvedSpec,
  counters: Counters,
): boolean {
  return job.dependsOn.every(({ name, status }) => {
    const replicas = spec.replicatedJobs.find((each) => each.name === name)?.replicas;
    const reached = status === "Complete"
      ? counterOf(counters, name)?.succeeded ?? 0
      : startedJobs(counters, name);
    return reached === replicas;
  });
}

/** Returns the replicated jobs whose Jobs may be created or resumed in this pass, in the spec's order. */
export function startable(spec: ResolvedSpec, counters: Counters): {
  readonly replicatedJobs: readonly ResolvedReplicatedJob[];
  /** Set with InOrder while not suspended: whether one is still waited for, or all have started. */
  readonly order: "in_progress" | "completed" | "not_ordered";
} {
  const ordered = spec.inOrder && !spec.suspend;
  const replicatedJobs: ResolvedReplicatedJob[] = [];
  for (const job of spec.replicatedJobs) {
    if (!dependenciesHold(job, spec, counters)) continue;
    if (ordered && startedJobs(counters, job.name) === job.replicas) continue;
    replicatedJobs.push(job);
    if (ordered) return { replicatedJobs, order: "in_progress" };
  }
  return { replicatedJobs, order: ordered ? "completed" : "not_ordered" };
}
