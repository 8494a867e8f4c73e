/** Words about a stop: what is left of its grace, whether the pods know of it, and what came of it. Pure. */
import { durationText } from "../readable_text.ts";
import { type Condition, hasEnded, type Pod, type Stop } from "./job_details.ts";

/** What is known of a job that is being stopped, or was. */
export interface StoppedJob {
  readonly stop: Stop;
  readonly state: string;
  readonly pods: readonly Pod[];
  readonly conditions: readonly Condition[];
  /** When its pods last reported; the answer to a report tells them. */
  readonly reportedMs: number | undefined;
}

/** A stop whose job has not ended. */
export interface Stopping {
  readonly phase: "grace" | "late";
  /** Seconds of the grace that are left. */
  readonly leftSeconds: number;
  readonly isTold: boolean;
  readonly podsEnded: number;
  readonly pods: number;
}

/** A stop as it is now. */
export type StopPhase =
  | Stopping
  /** It was stopped, so many seconds after it was asked for. */
  | { readonly phase: "stopped"; readonly tookSeconds: number | undefined }
  /** It ended by itself before. */
  | { readonly phase: "ended"; readonly state: string };

/** Returns what has become of a stop by a moment. */
export function stopPhase(job: StoppedJob, nowMs: number): StopPhase {
  const { stop, state, pods, conditions, reportedMs } = job;
  if (state === "EarlyStopped") {
    const at = conditions.find(({ type, status }) => type === state && status === "True")
      ?.lastTransitionTimeMs;
    const tookSeconds = at === undefined ? undefined : Math.max(0, (at - stop.timeMs) / 1000);
    return { phase: "stopped", tookSeconds };
  }
  if (state === "Complete" || state === "Failed") return { phase: "ended", state };
  const present = pods.filter(({ gone }) => !gone);
  const leftSeconds = (stop.timeMs + stop.graceSeconds * 1000 - nowMs) / 1000;
  return {
    phase: leftSeconds > 0 ? "grace" : "late",
    leftSeconds: Math.max(0, leftSeconds),
    isTold: reportedMs !== undefined && reportedMs > stop.timeMs,
    podsEnded: present.filter(hasEnded).length,
    pods: present.length,
  };
}

/** Returns how far the pods are with it, as a sentence. */
export function podsWords(
  { isTold, podsEnded, pods }: Pick<Stopping, "isTold" | "podsEnded" | "pods">,
): string {
  if (pods > 0 && podsEnded === pods) return "All pods have ended.";
  if (podsEnded > 0) return `${podsEnded} of ${pods} pods have ended.`;
  return isTold ? "A pod has been told." : "Pods are told when they next report.";
}

/** Returns how the job was stopped. */
export function stoppedWords({ graceSeconds }: Stop, tookSeconds: number | undefined): string {
  if (graceSeconds === 0) return "Stopped immediately (no grace period)";
  if (tookSeconds === undefined) return "Stopped early";
  return `Stopped early after ${durationText(tookSeconds)} of ${durationText(graceSeconds)} grace`;
}

/** Returns who asked for a stop, and why, as a sentence. */
export function whyWords({ reason, message, user }: Stop): string {
  const by = user === "" || message.endsWith(`by ${user}`) ? "" : ` (requested by ${user})`;
  return `${reason}${message && `: ${message.replace(/\.$/, "")}`}${by}.`;
}
