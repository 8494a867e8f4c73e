/** Bounds of the logs of ended pods: which of them go first. Pure. */

/** The bounds. */
export interface LogBounds {
  /** Of all of them together, in bytes. */
  readonly bytes: number;
  /** Since the end of the pod, in milliseconds; 0: any. */
  readonly ageMs: number;
}

/** The logs of an ended pod. */
export interface EndedLogs {
  /** Undefined if unknown: they count as none. */
  readonly bytes: number | undefined;
  /** Milliseconds since the epoch. */
  readonly endedMs: number;
}

/** Returns those beyond the bounds: all that are too old, and the oldest until the others are small enough. */
export function beyondBounds<T extends EndedLogs>(
  all: readonly T[],
  { bytes, ageMs }: LogBounds,
  now: number,
): T[] {
  const newestFirst = [...all].sort((one, other) => other.endedMs - one.endedMs);
  let sum = 0;
  return newestFirst.filter((it) => {
    sum += it.bytes ?? 0;
    return sum > bytes || (ageMs > 0 && it.endedMs + ageMs <= now);
  });
}
