/** Obstacles to a restart of a job, by its object. Pure. */
import { type AnyJob, type JobKind, jobRefOf, jobText } from "./job_kind.ts";
import { endOf, restartOf, restartUnderWay, storedStopOf, suspensionOf } from "./job_state.ts";
import { isSuspended } from "./suspension_switch.ts";

/** Why a job cannot be restarted. */
export interface RestartObstacle {
  /** `conflict`: it is in no state for it; `elsewhere`: Milepost does not run it. */
  readonly why: "conflict" | "gone" | "elsewhere";
  /** For people. */
  readonly reason: string;
}

/** Returns which restart of the job would be the next one. */
export const nextRestartOf = (job: Pick<AnyJob, "kind" | "metadata" | "status">): number =>
  (restartOf(job)?.count ?? 0) + 1;

/** Returns what keeps the job from being restarted now; undefined if nothing does. */
export function restartObstacle(kind: JobKind, job: AnyJob): RestartObstacle | undefined {
  const because = (why: RestartObstacle["why"], reason: string) => ({
    why,
    reason: `${jobText(jobRefOf(kind, job))} ${reason}`,
  });
  if (kind.isForeign) return because("elsewhere", "is run by another operator: restart it there");
  const end = endOf(kind, job);
  if (end !== undefined) return because("conflict", `has ended: it is ${end}`);
  if (job.metadata.deletionTimestamp !== undefined) return because("gone", "is being deleted");
  const controller = kind.foreignController?.(job);
  if (controller !== undefined) {
    return because("elsewhere", `is run by ${controller} in another cluster: restart it there`);
  }
  if (storedStopOf(job) !== undefined) return because("conflict", "is being stopped");
  const why = isSuspended(kind, job) || suspensionOf(kind, job) !== undefined
    ? "is suspended"
    : kind.hasBegun(job)
    ? undefined
    : "has not begun";
  if (why !== undefined) {
    return because("conflict", `${why}: it has no pods that could be started again`);
  }
  const open = restartUnderWay(job);
  if (open === undefined) return undefined;
  const which = `restart ${open.count}, since ${open.time}`;
  return because("conflict", `is being restarted already: ${which}`);
}
