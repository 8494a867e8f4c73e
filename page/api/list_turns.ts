/** Turns of users at looking at lists, which together take no more than a part of the time of a process. */
import { createFairTurns } from "../../platform/base/fair_turns.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { OverloadedError } from "../../platform/http/message.ts";
import type { Clock } from "../../platform/base/clock.ts";

/** Looks that wait or run, in all and of one user. */
const LOOKS = { total: 8_000, perSubject: 2_000 } as const;
/** Time for which nobody has looked that is given to those who come then, in milliseconds. */
const CREDIT_MS = 1_000;

/** Looks when it is the user's turn. Throws an {@link OverloadedError} if too many wait. */
export type LookInTurn = <T>(user: string, look: () => T, signal: AbortSignal) => Promise<T>;

/**
 * Creates a {@link LookInTurn}; looks together take `part` of the time, in the long run. Users look one after the other,
 * whatever one of them asks for.
 */
export function createLookTurns(
  clock: Pick<Clock, "monotonic" | "sleep">,
  part: number,
): LookInTurn {
  const inTurn = createFairTurns({ perKey: 1 });
  const slots = createStreamSlots(LOOKS);
  /** When the time that was taken is paid for. */
  let paidMs = -Infinity;

  async function looked<T>(look: () => T, signal: AbortSignal): Promise<T> {
    const waitMs = paidMs - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    signal.throwIfAborted();
    const beganMs = clock.monotonic();
    try {
      return look();
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      paidMs = Math.max(paidMs, beganMs - CREDIT_MS) + tookMs / part;
    }
  }

  return async (user, look, signal) => {
    const slot = slots.take(user);
    if (typeof slot === "string") throw new OverloadedError();
    try {
      return await inTurn(user, () => looked(look, signal), signal);
    } finally {
      slot.release();
    }
  };
}
