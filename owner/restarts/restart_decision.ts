/** Decisions to restart a job, by its policy or by a request (docs/decisions/0083). Pure. */
import { type AnyJob, type JobRef, jobText } from "../../crds/job_kind.ts";
import { type JobRestart, RESTART_LIMITS, type RestartBudget } from "../../crds/job_restart.ts";
import { endOf, restartOf, storedStopOf, suspensionOf } from "../../crds/job_state.ts";
import { isSuspended } from "../../crds/suspension_switch.ts";
import { cutText } from "../../platform/base/hostile_text.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { trialReference } from "../../trials/plan/claim.ts";

/** A restart that is asked for, by somebody who may, or by the job's policy. */
export interface AskedRestart {
  readonly job: JobRef;
  /** Which restart is meant: one more than those that were. */
  readonly count: number;
  readonly reason: string;
  readonly message: string;
  /** Who asks for it; absent if the job's policy does. */
  readonly user?: string | undefined;
  readonly budget?: RestartBudget | undefined;
  /** UID of the Trial that controls the job, as it was when rights were checked; null if none did. Undefined: nobody's rights matter. */
  readonly trialUid?: string | null | undefined;
}

/** What is known beside the job's object. */
export interface RestartFacts {
  readonly nowMs: number;
  /** UIDs of the job's pods that have not ended. */
  readonly pods: readonly string[];
  /** The last step of the job. */
  readonly step?: number | undefined;
  /** Whether it is decided that the job is stopped early. */
  readonly isStopping: boolean;
}

/** Why there is no restart. */
export interface RestartRefused {
  readonly kind: "refused";
  /** `conflict`: the job is in no state for it; `elsewhere`: Milepost does not run it; `changed`: another Trial controls it. */
  readonly why: "conflict" | "gone" | "elsewhere" | "changed";
  /** For people. */
  readonly reason: string;
}

/** What is to be done to store a restart. */
export type RestartStep =
  | { readonly kind: "write"; readonly restart: JobRestart }
  /** It was stored before; it may be over by now, as may be the job. */
  | { readonly kind: "same"; readonly restart: JobRestart }
  | RestartRefused;

/** How it ended that a restart was to be stored. */
export type RestartOutcome =
  | Exclude<RestartStep, { kind: "write" }>
  | { readonly kind: "stored"; readonly restart: JobRestart }
  /** The API server does not keep the field. */
  | { readonly kind: "pruned" };

/** Returns why the job, as it was read now, cannot be restarted; undefined if it can. */
function refusalOf(
  job: AnyJob,
  { job: ref, count, trialUid }: AskedRestart,
  { isStopping }: RestartFacts,
): RestartRefused | undefined {
  const { kind } = ref;
  const refused = (why: RestartRefused["why"], reason: string) =>
    ({ kind: "refused", why, reason: `${jobText(ref)} ${reason}` }) as const;
  const conflict = (reason: string) => refused("conflict", reason);
  if (kind.isForeign) return refused("elsewhere", "is run by another operator: restart it there");
  const end = endOf(kind, job);
  if (end !== undefined) return conflict(`has ended: it is ${end}`);
  if (job.metadata.deletionTimestamp !== undefined) return refused("gone", "is being deleted");
  const controller = kind.foreignController?.(job);
  if (controller !== undefined) {
    return refused("elsewhere", `is run by ${controller} in another cluster: restart it there`);
  }
  const trial = trialReference(job.metadata)?.uid ?? null;
  if (trialUid !== undefined && trial !== trialUid) {
    return refused("changed", "is controlled by another Trial now: try again");
  }
  if (isStopping || storedStopOf(job) !== undefined) return conflict("is being stopped");
  if (isSuspended(kind, job) || suspensionOf(kind, job) !== undefined) {
    return conflict("is suspended: it has no pods that could be started again");
  }
  if (!kind.hasBegun(job)) {
    return conflict("has not begun: it has no pods that could be started again");
  }
  const last = restartOf(job);
  if (last !== undefined && last.endTime === undefined) {
    return conflict(`is being restarted already: restart ${last.count}, since ${last.time}`);
  }
  const next = (last?.count ?? 0) + 1;
  return count === next
    ? undefined
    : conflict(`is not restarted: restart ${count} is meant, and the next one is ${next}`);
}

/** Returns what is to be done so that the job, as it was read now, holds the restart. */
export function restartStep(
  job: AnyJob | undefined,
  asked: AskedRestart,
  facts: RestartFacts,
): RestartStep {
  const { count, reason, message, user } = asked;
  if (job === undefined || job.metadata.uid !== asked.job.uid) {
    return { kind: "refused", why: "gone", reason: `${jobText(asked.job)} is gone` };
  }
  const last = restartOf(job);
  if (last?.count === count) return { kind: "same", restart: last };
  const refused = refusalOf(job, asked, facts);
  if (refused !== undefined) return refused;
  const { nowMs, step, pods } = facts;
  // What the policy has spent outlives the restarts of people.
  const { budget = last?.budget } = asked;
  const restart: JobRestart = {
    count,
    reason,
    message: cutText(message, RESTART_LIMITS.messageLength),
    ...(user !== undefined && { user: user.slice(0, RESTART_LIMITS.userLength) }),
    time: rfc3339(nowMs),
    ...(step !== undefined && { step }),
    pods: pods.slice(0, RESTART_LIMITS.pods),
    ...(budget !== undefined && { budget }),
  };
  return { kind: "write", restart };
}
