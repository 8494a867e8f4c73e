/** Bounded memory of values that expire, whether they are used or not. */
import type { Clock } from "./clock.ts";
import { createRecentMemory } from "./recent_memory.ts";

/** Values by key. */
export type ExpiringMemory<V> = ReturnType<typeof createExpiringMemory<V>>;

/** Least interval between two sweeps of expired values, in milliseconds. */
const SWEEP_MS = 120_000;

/** Creates an {@link ExpiringMemory} of at most `max` values; those unused for longest make room. */
export function createExpiringMemory<V>(clock: Clock, max: number) {
  const entries = createRecentMemory<{ readonly value: V; readonly untilMs: number }>({
    now: () => clock.monotonic(),
    max,
    idleMs: SWEEP_MS,
  });
  return {
    /** Returns the value until it expires. */
    get(key: string): V | undefined {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (clock.monotonic() < entry.untilMs) return entry.value;
      entries.delete(key);
      return undefined;
    },
    /** Keeps the value for `forMs` milliseconds. */
    set: (key: string, value: V, forMs: number): void =>
      entries.set(key, { value, untilMs: clock.monotonic() + forMs }, forMs),
    delete: entries.delete,
  };
}
