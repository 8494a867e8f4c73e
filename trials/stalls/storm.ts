/** Storm: so many jobs fall silent together that the cause is theirs in common, such as the way to the status endpoint. Pure. */
import { missedMs } from "./stall_verdict.ts";
import type { Watch } from "./silence_watch.ts";

/** Jobs that make a storm: at least so many, and such a part of those that would have been heard. */
const STORM = { jobs: 5, part: 1 / 5, longestMs: 1_800_000 } as const;
/** Part of the silence after which a job is missed that makes it one of a storm: not all fall silent in one moment. */
const NEARLY = 3 / 4;

const areMany = (some: number, all: number) => some >= STORM.jobs && some >= STORM.part * all;

/**
 * Returns whether there is a storm, among jobs that should run: `silentMs` is the silence that made somebody ask. Jobs
 * that may be silent for longer say nothing of it.
 */
export function isStorm(watches: Iterable<Watch>, silentMs: number, nowMs: number): boolean {
  let [expected, missed] = [0, 0];
  for (const watch of watches) {
    const afterMs = missedMs(watch);
    if (afterMs === undefined || afterMs > silentMs) continue;
    expected += 1;
    if (nowMs - watch.sinceMs >= NEARLY * afterMs) missed += 1;
  }
  return areMany(missed, expected);
}

/**
 * Returns what has become of a storm that began at that time: `heard` once most jobs were heard since, `long` if they were not
 * for half an hour, so that those that are silent have more in common than a way that is blocked.
 */
export function stormAfter(
  watches: readonly Watch[],
  beganMs: number,
  nowMs: number,
): "heard" | "long" | "on" {
  const silent = watches.filter(({ sinceMs }) => sinceMs < beganMs);
  if (!areMany(silent.length, watches.length)) return "heard";
  return nowMs - beganMs < STORM.longestMs ? "on" : "long";
}
