/** Words about a job that page and terminal share: that it is stopped, started again, or makes no progress, and what its time went to. Pure. */
import { at } from "./json.ts";

/** What happens to it; nothing of a job that goes on. Times are in milliseconds since the epoch. */
export interface JobChange {
  /** When the grace of its stop ends. */
  readonly stopsByMs?: number | undefined;
  /** How often its pods were started again, and after how many times it fails at the most, if that is known. */
  readonly restarts?: number | undefined;
  readonly restartLimit?: number | undefined;
  /** Since when it is being restarted. */
  readonly restartingSinceMs?: number | undefined;
  /** Since when it makes no progress. */
  readonly stalledSinceMs?: number | undefined;
}

/**
 * Returns the words, such as `stopping, 18 s left`, of the first of them that holds; undefined if none does. `durationText`
 * writes whole seconds as the page or the terminal does.
 */
export function jobChangeText(
  { stopsByMs, restartingSinceMs, restarts, restartLimit, stalledSinceMs }: JobChange,
  nowMs: number,
  durationText: (seconds: number) => string,
): string | undefined {
  if (stopsByMs !== undefined) {
    const seconds = Math.floor((stopsByMs - nowMs) / 1000);
    return seconds > 0 ? `stopping, ${durationText(seconds)} left` : "stopping now";
  }
  const since = (ms: number) => durationText(Math.max(0, Math.floor((nowMs - ms) / 1000)));
  if (restartingSinceMs !== undefined) return `restarting for ${since(restartingSinceMs)}`;
  if (restarts !== undefined) {
    const limit = restartLimit === undefined ? "" : `, fails after at most ${restartLimit}`;
    return `restarting (${restarts}×${limit})`;
  }
  return stalledSinceMs === undefined ? undefined : `stalled for ${since(stalledSinceMs)}`;
}

/** Returns what the time of a job went to by its `status.timeSpent`, such as `3h2m productive, 4m starting`; empty if that was nothing. */
export const jobTimeText = (spent: unknown, durationText: (seconds: number) => string): string =>
  ["productive", "starting", "stalled", "lost"].flatMap((to) => {
    const seconds = at(spent, `${to}Seconds`);
    return typeof seconds === "number" && seconds > 0 ? `${durationText(seconds)} ${to}` : [];
  }).join(", ");
