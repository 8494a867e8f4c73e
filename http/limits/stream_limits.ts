/** Limits of open streams on this replica, in all and per subject. */

/** Bounds of streams. */
export interface StreamLimits {
  /** In total (`--max-streams`). Default 1000. */
  readonly total: number;
  /** Of one service account (`--max-streams-per-subject`). Default 20. */
  readonly perSubject: number;
}

/** Default limits. */
export const DEFAULT_STREAM_LIMITS: StreamLimits = { total: 1000, perSubject: 20 };

/** The limit that was reached. */
export type StreamLimitReason = "stream_limit" | "subject_stream_limit";

/** Slot of one stream. */
export interface StreamSlot {
  /** Frees the slot; further calls do nothing. */
  release(): void;
}

/** Slots of open streams. */
export interface StreamSlots {
  /** Takes a slot. Returns the limit that was reached if there is none. */
  take(subject: string): StreamSlot | StreamLimitReason;
  /** Number of slots that are taken. */
  open(): number;
}

/** Creates {@link StreamSlots}. `onChange` is called with the number of open streams. */
export function createStreamSlots(
  limits: StreamLimits,
  onChange?: (open: number) => void,
): StreamSlots {
  /** Has never more keys than there are streams. */
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
