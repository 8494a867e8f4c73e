/** Bounded memory of values that were used lately; unused ones expire. */
import { createBoundedCache } from "./bounded_cache.ts";

/**
 * Creates a memory of values by key. Jobs, pods and tokens come and go for as long as the manager runs: with
 * only a bound on their number the memory would fill up to it, however few are alive.
 */
export function createRecentMemory<V extends object>(
  { now, max, idleMs }: {
    /** Monotonic time, in milliseconds. */
    readonly now: () => number;
    /** Most entries; those unused for longest make place. */
    readonly max: number;
    /** After how long without use an entry goes, in milliseconds. */
    readonly idleMs: number;
  },
) {
  /** Time of the current call: the cache reads it several times, and a push uses the cache several times. */
  let nowMs = now();
  const entries = createBoundedCache<V>(max, {
    ttl: idleMs,
    updateAgeOnGet: true,
    perf: { now: () => nowMs },
  });
  let sweptMs = nowMs;
  return {
    /** The value, which counts as used now. */
    get(key: string): V | undefined {
      nowMs = now();
      return entries.get(key);
    },
    /** `forMs`: how long it is kept without use, if not for the memory's own time. */
    set(key: string, value: V, forMs?: number): void {
      nowMs = now();
      entries.set(key, value, forMs === undefined ? {} : { ttl: forMs });
      if (nowMs - sweptMs < idleMs / 2) return;
      sweptMs = nowMs;
      entries.purgeStale();
    },
    delete: (key: string) => void entries.delete(key),
    /** Entries that take room, past ones too until they are swept. */
    get size(): number {
      return entries.size;
    },
  };
}
