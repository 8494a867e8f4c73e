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

/** Time after which there may be room for one more stream, in milliseconds. */
export const ROOM_MS = 10_000;

/** The limit that was reached. */
export type StreamLimitReason = "stream_limit" | "subject_stream_limit";

/** Slot of one stream. */
export interface StreamSlot {
  /** Frees the slot; further calls do nothing. */
  release(): void;
}

/** Slots of open streams. */
export type StreamSlots = ReturnType<typeof createStreamSlots>;

/** Part of all slots that is for subjects that have none: a few of them cannot take the last ones. */
const NEWCOMERS_PART = 0.1;

/** Creates {@link StreamSlots}. `onChange` is called with the number of open streams. */
export function createStreamSlots(
  limits: StreamLimits,
  onChange?: (open: number) => void,
) {
  /** Has never more keys than there are streams. */
  const bySubject = new Map<string, number>();
  let open = 0;
  const forAll = limits.total - Math.floor(limits.total * NEWCOMERS_PART);

  function count(subject: string, change: number): void {
    const now = (bySubject.get(subject) ?? 0) + change;
    if (now === 0) bySubject.delete(subject);
    else bySubject.set(subject, now);
    open += change;
    onChange?.(open);
  }

  return {
    /** Number of slots that are taken. */
    open: (): number => open,
    /** Takes a slot, or the places of several. Returns the limit that was reached if there is none. */
    take(subject: string, places = 1): StreamSlot | StreamLimitReason {
      const held = bySubject.get(subject) ?? 0;
      if (held + places > limits.perSubject) return "subject_stream_limit";
      if (open + places > (held === 0 ? limits.total : forAll)) return "stream_limit";
      count(subject, places);
      let isHeld = true;
      return {
        release() {
          if (isHeld) count(subject, -places);
          isHeld = false;
        },
      };
    },
  };
}
