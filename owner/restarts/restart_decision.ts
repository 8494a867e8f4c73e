/** Decisions to restart a job, by its policy or by a request (docs/decisions/0083). Pure. */
import { type AnyJob, type JobRef, jobText } from "../../crds/job_kind.ts";
import { type JobRestart, RESTART_LIMITS, type RestartBudget } from "../../crds/job_restart.ts";
import { restartOf } from "../../crds/job_state.ts";
import { nextRestartOf, type RestartObstacle, restartObstacle } from "../../crds/restartable.ts";
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
  /** `changed`: another Trial controls the job than the one for which rights were checked. */
  readonly why: RestartObstacle["why"] | "changed";
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

/** Returns why the job, as it was read now, does not get this restart; undefined if it does. */
function refusalOf(
  job: AnyJob,
  { job: ref, count, trialUid }: AskedRestart,
  { isStopping }: RestartFacts,
): Omit<RestartRefused, "kind"> | undefined {
  const what = jobText(ref);
  const obstacle = restartObstacle(ref.kind, job);
  if (obstacle !== undefined) return obstacle;
  const trial = trialReference(job.metadata)?.uid ?? null;
  if (trialUid !== undefined && trial !== trialUid) {
    return { why: "changed", reason: `another Trial controls ${what} now: try again` };
  }
  if (isStopping) return { why: "conflict", reason: `${what} is being stopped` };
  const next = nextRestartOf(job);
  if (count === next) return undefined;
  const reason = `${what} is not restarted: restart ${count} is meant, and the next one is ${next}`;
  return { why: "conflict", reason };
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
  if (refused !== undefined) return { kind: "refused", ...refused };
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
