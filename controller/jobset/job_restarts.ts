/** Restarts of single Jobs, as the status of a JobSet counts them (RestartJob). Pure. */
import type { FailurePolicyRule, ReplicatedJobStatus } from "../../crds/jobset.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import { compact } from "../../platform/base/json.ts";

type Counters = readonly ReplicatedJobStatus[] | undefined;
/** The lists of a counter, with an entry for each Job. */
type Restarts = Pick<ReplicatedJobStatus, "jobRestarts" | "jobRestartsCountTowardsMax">;

/** Reports whether a rule with this action restarts one Job and not the JobSet. */
export function restartsOneJob(action: FailurePolicyRule["action"]): boolean {
  return action === "RestartJob" || action === "RestartJobAndIgnoreMaxRestarts";
}

/** Returns the index of a Job among those of its replicated job, which is the end of its name. */
export function indexOf(job: WatchedJob): number {
  return Number(/-(\d+)$/.exec(job.metadata?.name ?? "")?.[1]);
}

/** Returns the counters of a replicated job. */
export function counterOf(counters: Counters, name: string | undefined) {
  return counters?.find((each) => each.name === name);
}

/** Returns the restarts of the Jobs of a replicated job by their index; empty if there was none. */
export function jobRestarts(counters: Counters, name: string | undefined): readonly number[] {
  return counterOf(counters, name)?.jobRestarts ?? [];
}

/** Returns the fields that stay when a replicated job is counted again. */
export function keptRestarts(counters: Counters, name: string): Restarts {
  const { jobRestarts, jobRestartsCountTowardsMax } = counterOf(counters, name) ?? {};
  return compact({ jobRestarts, jobRestartsCountTowardsMax });
}

/** Returns the number of restarts of single Jobs that count towards the maximum. */
export function countedJobRestarts(counters: Counters): number {
  const counted = counters?.flatMap((counter) => counter.jobRestartsCountTowardsMax ?? []) ?? [];
  return counted.reduce((sum, one) => sum + one, 0);
}

/** Returns the counters with one more restart of a Job. The input is not changed. */
export function withJobRestart(
  counters: Counters,
  { name, index, replicas, isCounted }: {
    readonly name: string;
    readonly index: number;
    /** Length of the lists. */
    readonly replicas: number;
    /** Whether the restart counts towards the maximum. */
    readonly isCounted: boolean;
  },
): ReplicatedJobStatus[] {
  const raised = (list: readonly number[] = []) =>
    Array.from({ length: replicas }, (_, at) => (list[at] ?? 0) + (at === index ? 1 : 0));
  return (counters ?? []).map((counter) =>
    counter.name !== name ? counter : {
      ...counter,
      jobRestarts: raised(counter.jobRestarts),
      ...(isCounted && {
        jobRestartsCountTowardsMax: raised(counter.jobRestartsCountTowardsMax),
      }),
    }
  );
}
