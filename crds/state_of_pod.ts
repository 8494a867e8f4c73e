/** State of a pod's containers in words, by what a cache keeps of it. Pure. */
import type { WatchedPod } from "./watched.ts";

/** Returns the state, such as `Running`, `Running, not ready` or `Terminated: exit code 137`; undefined if nothing is known. */
export function stateOfPod(pod: WatchedPod | undefined): string | undefined {
  if (pod === undefined) return undefined;
  const { metadata, status, failure, isUnready } = pod;
  if (metadata?.deletionTimestamp !== undefined) return "Terminating";
  if (failure !== undefined && failure.runsSince === undefined) {
    const { reason = "Error", exitCode } = failure.failure;
    if (exitCode === undefined) return `Terminated: ${reason}`;
    return `Terminated: ${reason === "Error" ? "" : `${reason}, `}exit code ${exitCode}`;
  }
  return isUnready ? `${status?.phase}, not ready` : status?.phase;
}
