/** Limits of open streams on this replica, in all and per subject. */

/** Bounds of streams. */
export interface StreamLimits {
  /** In all (`--max-streams`). Default 1000. */
  readonly total: number;
  /** Of one service account (`--max-streams-per-subject`). Default 20. */
  readonly perSubject: number;
}

/** Default limits. */
export const DEFAULT_STREAM_LIMITS: StreamLimits = { total: 1000, perSubject: 20 };

/** Which limit leaves no room. */
export type StreamLimitReason = "stream_limit" | "subject_stream_limit";

/** Room for one stream. */
export interface StreamPlace {
  /** Gives it back, once; more calls do nothing. */
  release(): void;
}

/** Counts streams. */
export interface StreamPlaces {
  /** A place, or which limit leaves none. */
  take(subject: string): StreamPlace | StreamLimitReason;
  /** Places taken. */
  open(): number;
}

/** Creates {@link StreamPlaces}. `onChange` hears of the number of open streams. */
export function createStreamPlaces(
  limits: StreamLimits,
  onChange?: (open: number) => void,
): StreamPlaces {
  /** Never more keys than streams. */
  const bySubject = new Map<string, number>();
  let open = 0;

  function count(subject: string, change: 1 | -1): void {
    const now = (bySubject.get(subject) ?? 0) + change;
    if (now === 0) bySubject.delete(subject);
    else bySubject.set(subject, now);
    open += change;
    onChange?.(open);
  }

  return {
    open: () => open,
    take(subject) {
      if (open >= limits.total) return "stream_limit";
      if ((bySubject.get(subject) ?? 0) >= limits.perSubject) return "subject_stream_limit";
      count(subject, 1);
      let isHeld = true;
      return {
        release() {
          if (isHeld) count(subject, -1);
          isHeld = false;
        },
      };
    },
  };
}
