/** Decisions to stop a job early, by its rules or by a request (docs/decisions/0043). Pure. */
import { sameJson } from "../../platform/base/json.ts";
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import { earlyStopOf, endOf, storedStopOf } from "../../crds/job_state.ts";
import type { JobStop } from "../../crds/trainjob.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import type { Control } from "../../crds/wire/push_answer.ts";

/** The reason to stop a trial: its last rule was met. */
export interface Verdict {
  /** The metric of the rule that decided. */
  readonly metric: string;
  /** Time of the deciding row, RFC 3339 with microseconds. */
  readonly time: string;
  /** Its arrival at this owner, in wall-clock milliseconds; absent if it was read from the log. */
  readonly receivedMs?: number | undefined;
  /** Metric, value, rule and step in words, for events and answers. */
  readonly message: string;
}

/** The decision to stop a job early. */
export interface StopDecision {
  /** The reason of the condition EarlyStopped. */
  readonly reason: string;
  /** That condition's message. */
  readonly message: string;
  /** When it was decided, RFC 3339; for a rule the time of the deciding row. */
  readonly time: string;
  /** When this owner learnt of it, in wall-clock milliseconds; absent if it was read from the log. */
  readonly receivedMs?: number | undefined;
  /** Who asked for it; absent if the job's rules were met. */
  readonly user?: string | undefined;
  /** Time that the job has to end by itself, in milliseconds. */
  readonly graceMs: number;
  /** Whether it is in the job's status, which decides. */
  readonly isStored?: boolean | undefined;
}

/** Returns the decision that a job's rules make. */
export function decidedByRules(
  kind: JobKind,
  { message, time, receivedMs }: Verdict,
  graceMs: number,
): StopDecision {
  const type = kind.conditions.earlyStopped;
  const reason = kind.stop.find((it) => it.type === type)?.reason ?? type;
  return { reason, message, time, receivedMs, graceMs };
}

/** Returns the decision that a job's status holds. */
export function decisionOf({ reason, message, time, user, graceSeconds = 0 }: JobStop) {
  return { reason, message, time, user, graceMs: graceSeconds * 1000, isStored: true } as const;
}

/** Returns what is left of the grace period, in milliseconds, never more than the whole of it. */
export function graceLeftMs(
  { graceMs, time, receivedMs }: Pick<StopDecision, "graceMs" | "time" | "receivedMs">,
  nowMs: number,
): number {
  // A history may contain old samples, but its pod learns of the stop only now.
  const decidedMs = receivedMs ?? Date.parse(time);
  if (!Number.isFinite(decidedMs)) return graceMs;
  return Math.min(graceMs, Math.max(0, decidedMs + graceMs - nowMs));
}

/** Returns the decision as the status holds it; its grace ends when that of the decision does. */
export function storedForm(decision: StopDecision, nowMs: number): JobStop {
  const { reason, message, user, graceMs } = decision;
  const beganMs = nowMs - (graceMs - graceLeftMs(decision, nowMs));
  return {
    reason,
    message,
    time: new Date(beganMs).toISOString(),
    ...(user !== undefined && { user }),
    graceSeconds: Math.ceil(graceMs / 1000),
  };
}

/** Says for people why a job is stopped: in events, and in answers to its pods. */
export function describeStop(
  { reason, message, user }: Pick<StopDecision, "reason" | "message" | "user">,
): string {
  return user === undefined ? `stopped early: ${message}` : `stopped early: ${reason}: ${message}`;
}

const toStop = (message: string): Control => ({ stop: true, reason: "EarlyStopped", message });

/** Returns the instruction to a trainer whose job is to stop. */
export const controlOf = (decision: StopDecision): Control => toStop(describeStop(decision));

/** A decision that is to be stored. */
export interface DecidedStop {
  readonly job: JobRef;
  readonly decision: StopDecision;
  /** What the job's rules have decided before, if anything: then that is stored. */
  readonly byRules?: StopDecision | undefined;
  /**
   * UID of the Trial that controls the job, as it was when rights were checked; null if none did. Undefined:
   * nobody's rights matter, since the rules decide.
   */
  readonly trialUid?: string | null | undefined;
}

/** What is to be done to store a decision. */
export type StoreStep =
  | { readonly kind: "patch"; readonly body: unknown }
  /** The status holds it, or an earlier one, which goes on. */
  | { readonly kind: "stored"; readonly stop: JobStop }
  /** The job was stopped early before. */
  | { readonly kind: "stopped"; readonly stop: JobStop }
  /** The job has ended in another way. */
  | { readonly kind: "ended" }
  /** The job does not exist any more, or is being deleted. */
  | { readonly kind: "gone" }
  /** Another controller runs it, in another cluster. */
  | { readonly kind: "elsewhere"; readonly controller: string }
  /** Another Trial controls it than the one for which rights were checked. */
  | { readonly kind: "changed" };

/** How it ended that a decision was to be stored. */
export type StoreOutcome =
  | Exclude<StoreStep, { kind: "patch" }>
  /** The API server does not keep the field. */
  | { readonly kind: "pruned" }
  /** The Trial has ended in another way. */
  | { readonly kind: "trial ended" };

/** Returns the first decision, with a shorter grace if the second one ends earlier. */
function shortened(first: JobStop, second: StopDecision, nowMs: number): JobStop {
  const { graceMs } = decisionOf(first);
  const leftMs = graceLeftMs(second, nowMs);
  if (leftMs >= graceLeftMs({ graceMs, time: first.time }, nowMs)) return first;
  const beganMs = Date.parse(first.time);
  const graceSeconds = Math.max(0, Math.ceil((nowMs + leftMs - beganMs) / 1000));
  return { ...first, graceSeconds: Math.min(graceSeconds, first.graceSeconds ?? 0) };
}

/** A job that was stopped early says so, and why, in a condition, whoever stored the decision. */
function stopOfEnd(kind: JobKind, job: AnyJob): JobStop | undefined {
  const condition = earlyStopOf(kind, job);
  if (condition === undefined) return undefined;
  const { reason = condition.type, message = "", lastTransitionTime: time = "" } = condition;
  return storedStopOf(job) ?? { reason, message, time };
}

/** Returns the instruction to a trainer whose Trial says that it was stopped; whoever did that knows why. */
export const controlOfTrial = (message = "Trial is early stopped"): Control => toStop(message);

/** Returns the instruction to a trainer only by what the job's object shows, whoever owns its state. */
export function controlShown(kind: JobKind, job: AnyJob): Control | undefined {
  const stored = storedStopOf(job);
  if (stored !== undefined) return controlOf(decisionOf(stored));
  const condition = earlyStopOf(kind, job);
  return condition && toStop(condition.message ?? "");
}

/** Returns what is to be done so that the status of the job, as it was read now, holds a decision. */
export function storeStep(
  job: AnyJob | undefined,
  { job: { kind, uid }, decision, byRules, trialUid }: DecidedStop,
  nowMs: number,
): StoreStep {
  if (job === undefined || job.metadata.uid !== uid) return { kind: "gone" };
  const stopped = stopOfEnd(kind, job);
  if (stopped !== undefined) return { kind: "stopped", stop: stopped };
  if (endOf(kind, job) !== undefined) return { kind: "ended" };
  if (job.metadata.deletionTimestamp !== undefined) return { kind: "gone" };
  const controller = kind.foreignController?.(job);
  if (controller !== undefined) return { kind: "elsewhere", controller };
  const reference = trialReference(job.metadata);
  if (trialUid !== undefined && (reference?.uid ?? null) !== trialUid) return { kind: "changed" };
  const stored = storedStopOf(job);
  const first = stored ?? storedForm(byRules ?? decision, nowMs);
  const stop = shortened(first, decision, nowMs);
  if (stored !== undefined && sameJson(stored, stop)) return { kind: "stored", stop };
  const { resourceVersion } = job.metadata;
  return { kind: "patch", body: { metadata: { uid, resourceVersion }, status: { stop } } };
}
