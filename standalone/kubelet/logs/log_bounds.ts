/** Bounds of the logs of ended pods: which of them go first. Pure. */
import { MOST_KEPT_LOGS } from "../../../crds/kept_log.ts";

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
  /** UID of the job of a pod that is gone; undefined while the pod is there. */
  readonly goneOf?: string | undefined;
}

/**
 * Returns those beyond the bounds: all that are too old, the oldest of pods that are gone until the others are few enough,
 * and the oldest until the others are small enough.
 */
export function beyondBounds<T extends EndedLogs>(
  all: readonly T[],
  { bytes, ageMs }: LogBounds,
  now: number,
  most: { readonly inAll: number; readonly ofJob: number } = MOST_KEPT_LOGS,
): T[] {
  const newestFirst = [...all].sort((one, other) => other.endedMs - one.endedMs);
  const counts = new Map<string, number>();
  let gone = 0;
  let sum = 0;
  return newestFirst.filter((it) => {
    if (it.goneOf !== undefined) {
      const count = (counts.get(it.goneOf) ?? 0) + 1;
      counts.set(it.goneOf, count);
      if (count > most.ofJob || ++gone > most.inAll) return true;
    }
    sum += it.bytes ?? 0;
    return sum > bytes || (ageMs > 0 && it.endedMs + ageMs <= now);
  });
}
