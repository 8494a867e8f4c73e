/** Headline of a failure: what failed and why, in a line for people. Pure. */
import { crashLine, errorLine } from "../platform/base/error_line.ts";
import { cutText } from "../platform/base/hostile_text.ts";
import { FAILURE_LIMITS, type JobFailure } from "./job_failure.ts";
import { POD_REASONS } from "./pod_names.ts";

/** Longest text of what was said last, in characters. */
const SAID_MAX = 256;

/** What Kubernetes' words mean. */
const WORDS: Readonly<Record<string, string>> = {
  [POD_REASONS.outOfMemory]: "ran out of memory (OOMKilled)",
  [POD_REASONS.evicted]: "was evicted",
  [POD_REASONS.deadlineExceeded]: "exceeded its deadline",
  [POD_REASONS.startError]: "could not start",
  [POD_REASONS.terminatedByKubelet]: "was ended by its kubelet",
};

/** By the exit codes of shells and container runtimes. */
const SIGNALS: Readonly<Record<number, string>> = {
  ...{ 130: "SIGINT", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE" },
  ...{ 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM" },
};

/** Whether the process was ended by a signal, and Kubernetes has no words of its own for it. */
const isSignalled = ({ reason = "Error", exitCode = 0 }: JobFailure) =>
  reason === POD_REASONS.outOfMemory || (reason === "Error" && exitCode in SIGNALS);

function wordsOf({ reason = "", exitCode }: JobFailure): string {
  const words = Object.hasOwn(WORDS, reason) ? WORDS[reason] : undefined;
  if (words !== undefined) return words;
  if (exitCode === undefined) return reason === "" ? "failed" : `failed (${reason})`;
  const signal = SIGNALS[exitCode];
  return signal === undefined ? `exited ${exitCode}` : `was ended by ${signal}`;
}

/** Returns the headline, such as `node-0 exited 1: ModuleNotFoundError: No module named 'tochr'`. */
export function headlineOf(failure: JobFailure): string {
  const { replica, pod, message = "" } = failure;
  // An exception ends a process with an exit code: one that stands before a signal was handled.
  const line = isSignalled(failure) ? crashLine(message) : errorLine(message);
  const detail = cutText(line.replaceAll(/\s+/g, " "), SAID_MAX);
  const what = `${replica ?? pod ?? "the job"} ${wordsOf(failure)}`;
  return cutText(detail === "" ? what : `${what}: ${detail}`, FAILURE_LIMITS.headlineLength);
}

/** Returns the headline with the pod that is meant, where it ran, and which of its containers. */
export function fullHeadlineOf(failure: JobFailure): string {
  const { pod, node, container } = failure;
  if (pod === undefined) return headlineOf(failure);
  const where = [
    `pod "${pod}"`,
    ...(node === undefined ? [] : [`on node "${node}"`]),
    ...(container === undefined ? [] : [`container "${container}"`]),
  ].join(", ");
  return `${headlineOf(failure)} (${where})`;
}
