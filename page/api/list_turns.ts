/** Turns of users at reading lists, which together take no more than a part of the time of a process. */
import { createFairTurns } from "../../platform/base/fair_turns.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { OverloadedError } from "../../platform/http/message.ts";
import type { Clock } from "../../platform/base/clock.ts";

/** Reads that wait or run, in all and of one user. */
const WAITING = { total: 8_000, perSubject: 2_000 } as const;
/** Unused time that those who come next may use at once, in milliseconds. */
const CREDIT_MS = 1_000;

/** Reads when it is the user's turn. Throws an {@link OverloadedError} if too many wait. */
export type ListInTurn = <T>(user: string, read: () => T, signal: AbortSignal) => Promise<T>;

/**
 * Creates a {@link ListInTurn}; all reads take `part` of the time, in the long run. Users read one after the other,
 * whatever one of them asks for.
 */
export function createListTurns(
  clock: Pick<Clock, "monotonic" | "sleep">,
  part: number,
): ListInTurn {
  const inTurn = createFairTurns({ perKey: 1 });
  const slots = createStreamSlots(WAITING);
  /** When the time that was taken is paid for. */
  let paidMs = -Infinity;

  async function timed<T>(read: () => T, signal: AbortSignal): Promise<T> {
    const waitMs = paidMs - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    signal.throwIfAborted();
    const beganMs = clock.monotonic();
    try {
      return read();
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      paidMs = Math.max(paidMs, beganMs - CREDIT_MS) + tookMs / part;
    }
  }

  return async (user, read, signal) => {
    const slot = slots.take(user);
    if (typeof slot === "string") throw new OverloadedError();
    try {
      return await inTurn(user, () => timed(read, signal), signal);
    } finally {
      slot.release();
    }
  };
}
