/** Least-recently-used caches with a bound on their entries, or on what the entries hold. */
import { LRUCache } from "lru-cache";

/** The calls of a cache by those who keep something in it. */
export type BoundedCache<V extends NonNullable<unknown>> = Pick<
  LRUCache<string, V>,
  "get" | "set" | "delete"
>;

/** How long entries are kept. Without it they stay until others need their place. */
export interface EntryLifetime {
  /** Age at which an entry is gone, in milliseconds. */
  readonly ttl: number;
  /** Whether reading an entry makes it young again. Default false. */
  readonly updateAgeOnGet?: boolean;
  /** Monotonic time, in milliseconds. */
  readonly perf: { now(): number };
}

/**
 * Creates a cache of at most `maxEntries` entries. The bound is given to lru-cache as a size, since
 * its `max` reserves room for all entries at once: the manager's caches together would take tens of
 * megabytes and a quarter of a second at start. `dispose` is called with each entry that leaves.
 */
export function createBoundedCache<V extends NonNullable<unknown>>(
  maxEntries: number,
  lifetime?: EntryLifetime,
  dispose?: (value: V) => void,
): LRUCache<string, V> {
  const bound = { maxSize: maxEntries, sizeCalculation: () => 1 };
  // The library takes an entry of the time 0 for one without a lifetime.
  const perf = lifetime && { now: () => lifetime.perf.now() + 1 };
  // It would save calls of the clock by a timer.
  return new LRUCache<string, V>({
    ...bound,
    ...lifetime,
    ...(perf && { perf }),
    ...(dispose && { dispose }),
    ttlResolution: 0,
  });
}

/** Creates a cache of entries that have at most `maxSize` together; a single one that is larger is not kept. */
export function createSizedCache<V extends NonNullable<unknown>>(
  maxSize: number,
  sizeOf: (value: V, key: string) => number,
): LRUCache<string, V> {
  return new LRUCache<string, V>({ maxSize, sizeCalculation: sizeOf });
}
