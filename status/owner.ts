/** Whose a push is: accepted here, forwarded to the replica that owns the state, or held a moment. */
import type { Clock } from "../kube/clock.ts";
import type { Acceptance, AcceptPush, Push } from "./exchange.ts";
import type { ForwardResult, ForwardTarget } from "./forwarding.ts";

/** Where the owner of all state is now (design, decision 7). */
export type OwnerPlace =
  | { readonly kind: "here" }
  | ({ readonly kind: "elsewhere" } & ForwardTarget)
  | { readonly kind: "nowhere" };

/** Options of {@link createOwnerRouter}. */
export interface OwnerRouterOptions {
  /**
   * Where the owner is. "here" only while the last renewal is younger than the renew deadline; asked
   * before a push is taken, and again before it is answered.
   */
  readonly place: () => OwnerPlace;
  /** Takes a push into this replica's own state. */
  readonly acceptHere: AcceptPush;
  /** Hands a push to the owner. Never throws. */
  readonly forward: (
    target: ForwardTarget,
    push: Push,
    bounds: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ) => Promise<ForwardResult>;
  /** Somebody misses the owner: look whether there is another. */
  readonly lookAgain: () => void;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** How long a push waits for an owner. Default 2 s: clients give up after 5. */
  readonly holdMs?: number;
  /** Pushes that wait at a time; more are refused at once. Default 2000. */
  readonly maxHeld?: number;
}

/** What a forwarding call may take beyond the time of holding, in milliseconds. */
const LAST_TRY_MS = 500;
/** Pause between two looks for an owner, plus up to as much again, in milliseconds. */
const LOOK_EVERY_MS = 100;
/** When a client may come again. */
const RETRY_AFTER_MS = 2000;

const NO_OWNER: Acceptance = {
  retryAfterMs: RETRY_AFTER_MS,
  reason: "no replica owns the status of jobs right now: try again soon",
};
const TOO_MANY: Acceptance = {
  retryAfterMs: RETRY_AFTER_MS,
  reason: "too many pushes wait for the replica that owns the status of jobs: try again soon",
};

/**
 * Accepts pushes wherever their owner is. What cannot reach it is held and tried again for `holdMs`,
 * then refused: a push may so come to its owner twice, and is acknowledged at most once.
 */
export function createOwnerRouter(options: OwnerRouterOptions): AcceptPush {
  const { place, acceptHere, forward, lookAgain, clock, random = Math.random } = options;
  const { holdMs = 2000, maxHeld = 2000 } = options;
  let held = 0;

  /** The owner's answer; undefined where there was none. */
  async function attempt(push: Push, leftMs: number, signal: AbortSignal) {
    const where = place();
    if (where.kind === "here") {
      const acceptance = await acceptHere(push, signal);
      // Who lost the lease meanwhile does not speak for the state any more.
      return place().kind === "here" ? acceptance : undefined;
    }
    if (where.kind === "nowhere") return undefined;
    const bounds = { deadlineMs: leftMs + LAST_TRY_MS, signal };
    const { acceptance } = await forward(where, push, bounds);
    return acceptance;
  }

  async function hold(push: Push, untilMs: number, signal: AbortSignal): Promise<Acceptance> {
    for (;;) {
      lookAgain();
      const leftMs = untilMs - clock.monotonic();
      if (leftMs <= 0 || signal.aborted) return NO_OWNER;
      await clock.sleep(Math.min(leftMs, LOOK_EVERY_MS * (1 + random())), signal);
      const acceptance = await attempt(push, Math.max(0, untilMs - clock.monotonic()), signal);
      if (acceptance !== undefined) return acceptance;
    }
  }

  return async (push, signal) => {
    const untilMs = clock.monotonic() + holdMs;
    const acceptance = await attempt(push, holdMs, signal);
    if (acceptance !== undefined) return acceptance;
    if (held >= maxHeld) return TOO_MANY;
    held += 1;
    try {
      return await hold(push, untilMs, signal);
    } finally {
      held -= 1;
    }
  };
}
