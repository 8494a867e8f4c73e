/** Decision on a stalled job by its policy: whether it is restarted or stopped, or why not (docs/decisions/0084). Pure. */
import {
  type JobCheckpoint,
  type JobRestart,
  RESTART_LIMITS,
  type RestartBudget,
} from "../../crds/job_restart.ts";
import type { JobStall } from "../../crds/job_stall.ts";
import { STALL_POLICY_LIMITS, type StallPolicy } from "../../crds/stall_policy.ts";
import { compact } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";

const DAY_MS = 86_400_000;
/** The stall at one step that is not restarted any more: a third try would end there as well. */
const LAST_STALL = 3;
/** Restarts by policy within a minute, of all jobs and of those of one namespace. */
const RESTART_RATE = { windowMs: 60_000, all: 6, namespace: 2 } as const;

/** What is known of a stalled job. Times are of the wall clock, in milliseconds. */
export interface StallFacts {
  readonly policy: StallPolicy;
  readonly stall: JobStall;
  /** The last step that anybody has shown; undefined: the program says none. */
  readonly step: number | undefined;
  /** Steps between two reports. */
  readonly stepsPerReport: number;
  /** The nodes of the pods that stand out, else of all. */
  readonly nodes: readonly string[];
  /** Whether a pod is heard, and makes no step. */
  readonly hasWitness: boolean;
  /** Whether the present run has made no step yet. */
  readonly isStarting: boolean;
  /** Whether so many jobs are stalled that the cause is theirs in common. */
  readonly isStorm: boolean;
  /** The newest checkpoint of the job, not of an earlier one of its name. */
  readonly checkpoint: JobCheckpoint | undefined;
  readonly last: JobRestart | undefined;
  /** Whether another restart may be now. */
  readonly hasTurn: boolean;
  readonly nowMs: number;
}

/** What becomes of the job. */
export type StallAction =
  | { readonly kind: "notify" }
  | { readonly kind: "restart"; readonly budget: RestartBudget }
  | { readonly kind: "stop" }
  /** Nothing now, and there is nothing to say of it. */
  | { readonly kind: "wait" }
  /** Nothing, as long as it stays so. */
  | { readonly kind: "held"; readonly why: string }
  /** Nothing more: what its policy allows is used up. */
  | { readonly kind: "limit"; readonly why: string };

const NOTHING_SPENT: RestartBudget = { spent: 0, times: [], stalls: 0 };

/**
 * The step of a checkpoint from which restarts are counted anew: a higher one than ever, for a job that saves again what it had
 * saved goes nowhere. After a restart by a person it is the first one, whatever its step: they may have begun elsewhere.
 */
function newStep({ checkpoint, last }: StallFacts): number | undefined {
  if (checkpoint === undefined) return undefined;
  const { user, time = "", endTime = time, budget: { checkpoint: top = -1 } = {} } = last ?? {};
  const isAfterPerson = user !== undefined && Date.parse(checkpoint.time) > Date.parse(endTime);
  return checkpoint.step > top || isAfterPerson ? checkpoint.step : undefined;
}

/** The budget once the job is restarted; a stall without a step says nothing of where it is. */
function budgetAfter(facts: StallFacts): RestartBudget {
  const { last, step, stepsPerReport, nowMs } = facts;
  const before = last?.budget ?? NOTHING_SPENT;
  const anew = newStep(facts);
  const isSame = step !== undefined && before.step !== undefined &&
    Math.abs(step - before.step) <= stepsPerReport;
  const stalls = step === undefined ? before.stalls : isSame ? before.stalls + 1 : 1;
  return compact({
    spent: (anew === undefined ? before.spent : 0) + 1,
    checkpoint: anew ?? before.checkpoint,
    times: [...before.times, rfc3339(nowMs)].slice(-RESTART_LIMITS.aDay),
    // Of stalls in a row the first one counts, so that they do not wander.
    step: step === undefined || isSame ? before.step : step,
    stalls,
  });
}

/** What of the policy is used up; undefined if nothing is. */
function limitReached(facts: StallFacts, next: RestartBudget): string | undefined {
  const { last, policy: { maxRestarts }, nodes, nowMs } = facts;
  const times = last?.budget?.times ?? [];
  const today = times.filter((it) => Date.parse(it) > nowMs - DAY_MS).length;
  if (today >= RESTART_LIMITS.aDay) return `it was restarted ${today} times within a day`;
  if (next.spent > maxRestarts) {
    const { checkpoint } = next;
    const since = checkpoint === undefined ? "" : ` since its checkpoint of step ${checkpoint}`;
    const times = maxRestarts === 1 ? "once" : `${maxRestarts} times`;
    return maxRestarts === 0 ? "maxRestarts is 0" : `it was restarted ${times}${since}`;
  }
  if (next.stalls < LAST_STALL || facts.step === undefined) return undefined;
  const where = nodes.length === 0 ? "" : `, now on ${nodes.join(", ")}`;
  return `it has stalled ${next.stalls} times at step ${facts.step}${where}`;
}

/** Returns what becomes of a stalled job. */
export function stallActionOf(facts: StallFacts): StallAction {
  const { policy, last, checkpoint, nowMs } = facts;
  const { action, afterMs = 0, startupMs, needsCheckpoint } = policy;
  if (action === "Notify" || action === "Ignore") return { kind: "notify" };
  if (facts.isStorm) return { kind: "held", why: "many jobs are stalled together" };
  if (!facts.hasWitness && afterMs < STALL_POLICY_LIMITS.silentMs) {
    return { kind: "held", why: "none of its pods is heard" };
  }
  if (action === "Stop") return { kind: "stop" };
  if (needsCheckpoint && checkpoint === undefined) {
    return { kind: "held", why: "it has reported no checkpoint" };
  }
  // One restart is not over, or has just been.
  const endedMs = Date.parse(last?.endTime ?? "");
  const isUnderWay = last !== undefined && last.endTime === undefined;
  if (isUnderWay || (facts.isStarting && nowMs - endedMs < startupMs)) return { kind: "wait" };
  const budget = budgetAfter(facts);
  const why = limitReached(facts, budget);
  if (why !== undefined) return { kind: "limit", why };
  return facts.hasTurn ? { kind: "restart", budget } : { kind: "wait" };
}

/** A restart that was begun, by a monotonic clock. */
export interface BegunRestart {
  readonly namespace: string;
  readonly atMs: number;
}

/** Returns those that count against the rate now. */
export const recentRestarts = (begun: readonly BegunRestart[], nowMs: number): BegunRestart[] =>
  begun.filter(({ atMs }) => nowMs - atMs < RESTART_RATE.windowMs);

/** Whether a job of that namespace may be restarted now, after those. */
export function hasTurn(begun: readonly BegunRestart[], namespace: string, nowMs: number): boolean {
  const recent = recentRestarts(begun, nowMs);
  return recent.length < RESTART_RATE.all &&
    recent.filter((it) => it.namespace === namespace).length < RESTART_RATE.namespace;
}
