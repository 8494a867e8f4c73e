/** Storm: so many jobs fall silent together that the cause is theirs in common, such as the way to the status endpoint. Pure. */
import { missedMs, type SetLimits } from "./stall_verdict.ts";
import type { Watch } from "./silence_watch.ts";

/** Jobs that make a storm: at least so many, and such a part of those that would have been heard. */
const STORM = {
  jobs: 5,
  part: 1 / 5,
  longestMs: 1_800_000,
  aroundMs: 600_000,
  togetherMs: 300_000,
} as const;
const BUCKET_MS = 10_000;
/** Part of the silence after which a job is missed that makes it one of a storm: not all fall silent in one moment. */
const NEARLY = 3 / 4;

/** A job that should run. */
export interface StormJob {
  readonly namespace: string;
  readonly watch: Watch;
  readonly policy?: SetLimits;
}

const areMany = (some: number, all: number) => some >= STORM.jobs && some >= STORM.part * all;

/**
 * Returns the jobs that fell silent together; none if that is no storm. `silentMs` is the silence that made somebody ask:
 * jobs that may be silent for longer say nothing of it. Those of one namespace alone are no storm where others are
 * heard: they may have hung together, or want to be believed to.
 */
export function stormOf<Job extends StormJob>(
  jobs: readonly Job[],
  silentMs: number,
  nowMs: number,
): readonly Job[] {
  const missed = ({ watch, policy }: Job) => missedMs(watch, policy) ?? Infinity;
  const expected = jobs.filter((it) => missed(it) <= silentMs);
  const silent = expected.filter((it) => nowMs - it.watch.sinceMs >= NEARLY * missed(it));
  const namespaces = new Set(silent.map(({ namespace }) => namespace));
  const isAlone = namespaces.size < 2 && jobs.some(({ namespace }) => !namespaces.has(namespace));
  return areMany(silent.length, expected.length) && !isAlone ? silent : [];
}

/**
 * Returns what has become of the jobs of a storm that began at that time: `heard` once most of them were heard since, `long` if
 * they were not for half an hour, so that those that are silent have more in common than a way that is blocked.
 */
export function stormAfter(
  jobs: readonly StormJob[],
  beganMs: number,
  nowMs: number,
): "heard" | "long" | "on" {
  const silent = jobs.filter(({ watch }) => watch.sinceMs < beganMs);
  if (silent.length * 2 <= jobs.length) return "heard";
  return nowMs - beganMs < STORM.longestMs ? "on" : "long";
}

/** Whether a silence began so near to the storm, or in it, that it may be the storm's. */
export const isOfStorm = ({ sinceMs }: Watch, beganMs: number): boolean =>
  sinceMs >= beganMs - STORM.aroundMs;

/**
 * Returns a function that says whether a stall that was told at a time is one of many: none of those is restarted. `toldMs` are
 * the times of the stalls that have not ended by a step, of `heard` jobs that should make some.
 */
export function stallsTogether(
  toldMs: Iterable<number>,
  heard: number,
): (atMs: number) => boolean {
  const bucketOf = (ms: number) => Math.floor(ms / BUCKET_MS);
  const counts = new Map<number, number>();
  for (const ms of toldMs) counts.set(bucketOf(ms), (counts.get(bucketOf(ms)) ?? 0) + 1);
  const around = STORM.togetherMs / BUCKET_MS;
  return (atMs) => {
    const first = bucketOf(atMs) - around;
    const near = Array.from({ length: 2 * around + 1 }, (_, at) => counts.get(first + at) ?? 0);
    return areMany(near.reduce((sum, it) => sum + it, 0), heard);
  };
}
