/** Headline of a failure: what failed and why, in a line for people. Pure. */
import { errorLine } from "../platform/base/error_line.ts";
import type { JobFailure } from "./job_failure.ts";
import { DISRUPTIONS, POD_REASONS } from "./pod_names.ts";

/** Longest text of what was said last, in characters. */
const SAID_MAX = 256;

/** What Kubernetes' words mean; `exceeded` and others are said of a pod, and of a job without one. */
const WORDS: Readonly<Record<string, string>> = {
  [POD_REASONS.outOfMemory]: "ran out of memory (OOMKilled)",
  [POD_REASONS.evicted]: "was evicted",
  [POD_REASONS.deadlineExceeded]: "exceeded its deadline",
  [POD_REASONS.startError]: "could not start",
  ContainerCannotRun: "could not start",
  [DISRUPTIONS.preemption]: "was preempted",
  [DISRUPTIONS.eviction]: "was evicted",
  [DISRUPTIONS.taint]: "was evicted from its node",
  [DISRUPTIONS.collected]: "was lost with its node",
  [POD_REASONS.terminatedByKubelet]: "was ended by its node",
};

const SIGNALS: Readonly<Record<number, string>> = {
  129: "SIGHUP",
  130: "SIGINT",
  132: "SIGILL",
  134: "SIGABRT",
  135: "SIGBUS",
  136: "SIGFPE",
  137: "SIGKILL",
  139: "SIGSEGV",
  143: "SIGTERM",
};

function wordsOf({ reason = "", exitCode }: JobFailure): string {
  const words = Object.hasOwn(WORDS, reason) ? WORDS[reason] : undefined;
  if (words !== undefined) return words;
  if (/Image|Registry/.test(reason)) return `cannot get its image (${reason})`;
  if (exitCode === undefined) return reason === "" ? "failed" : `failed (${reason})`;
  const signal = SIGNALS[exitCode];
  return signal === undefined ? `exited ${exitCode}` : `was ended by ${signal}`;
}

/** Returns the headline, such as `node-0 exited 1: ModuleNotFoundError: No module named 'tochr'`. */
export function headlineOf(failure: JobFailure): string {
  const { replica, pod, message = "" } = failure;
  const said = errorLine(message).replaceAll(/\s+/g, " ");
  const detail = said.length > SAID_MAX ? `${said.slice(0, SAID_MAX - 1)}…` : said;
  const what = `${replica ?? pod ?? "the job"} ${wordsOf(failure)}`;
  return detail === "" ? what : `${what}: ${detail}`;
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
