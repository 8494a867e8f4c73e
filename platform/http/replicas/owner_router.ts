/** Routing of requests to the replica that owns all state: answered here, forwarded, or held a moment. */
import type { Clock } from "../../base/clock.ts";
import type { LeaderLocator } from "../../kube/leading/leadership.ts";
import type { CallBounds } from "./calls.ts";
import type { ForwardTarget } from "./terms.ts";

/** Answer without a result: the client shall come again, such as while no replica owns the state. */
export interface Refused {
  /** Discriminates answers in code; replicas do not send it. */
  readonly ok?: false;
  readonly retryAfterMs: number;
  readonly reason: string;
  /**
   * Whether what was asked about is about to be deleted, so that there is no use in coming again. A replica
   * that does not know this asks to come again.
   */
  readonly gone?: boolean | undefined;
}

/** Returns the answer to come again, after a second unless it says otherwise. */
export const comeAgain = (reason: string, retryAfterMs = 1000): Refused => ({
  retryAfterMs,
  reason,
});

/** Returns the answer to a request, from the owner on any replica; at once if nothing has to be waited for. */
export type AskOwner<Ask, Answer> = (
  ask: Ask,
  signal: AbortSignal,
) => Answer | Refused | Promise<Answer | Refused>;

/** Options of {@link createOwnerRouter}. */
export interface OwnerRouterOptions<Ask, Answer> {
  /** Locates the leader, which owns the state, before a request is taken and again before it is answered. */
  readonly leader: LeaderLocator;
  /** Returns the answer from this replica's own state; undefined if it has none. */
  readonly here: (
    ask: Ask,
    signal: AbortSignal,
  ) => Answer | undefined | Promise<Answer | undefined>;
  /** Hands the request to the owner. Never throws. */
  readonly forward: (
    target: ForwardTarget,
    ask: Ask,
    bounds: CallBounds,
  ) => Promise<{ readonly acceptance?: Answer | undefined }>;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Requests that wait at a time; more are refused at once. Default 2000. */
  readonly maxHeld?: number;
}

/** Time of a forwarding call beyond that of holding, in milliseconds. */
const LAST_TRY_MS = 500;
/** How long a request waits for an owner, in milliseconds: clients give up after 5 s. */
const HOLD_MS = 2000;
/** Pause between two attempts to find an owner, plus up to as much again, in milliseconds. */
const RETRY_MS = 100;
/** Time after which a client may retry, in milliseconds. */
const RETRY_AFTER_MS = 2000;

const NO_OWNER = comeAgain(
  "no replica owns the status of jobs right now: try again soon",
  RETRY_AFTER_MS,
);
const TOO_MANY = comeAgain(
  "too many requests wait for the replica that owns the status of jobs: try again soon",
  RETRY_AFTER_MS,
);

/**
 * Creates a router of requests to their owner. A request that cannot reach it is held and tried again for
 * two seconds, then refused. A push may therefore reach its owner twice, but is acknowledged at most once.
 */
export function createOwnerRouter<Ask, Answer>(
  options: OwnerRouterOptions<Ask, Answer>,
): AskOwner<Ask, Answer> {
  const { leader, here, forward, clock, random = Math.random, maxHeld = 2000 } = options;
  let held = 0;

  /** Returns the answer, or undefined if this replica has lost the lease meanwhile. */
  const ifStillOwner = (answer: Answer | undefined) =>
    leader.locate().kind === "here" ? answer : undefined;

  /** Returns the owner's answer; undefined if there was none. */
  function attempt(
    ask: Ask,
    leftMs: number,
    signal: AbortSignal,
  ): Answer | undefined | Promise<Answer | undefined> {
    const where = leader.locate();
    if (where.kind === "here") {
      const answer = here(ask, signal);
      return answer instanceof Promise ? answer.then(ifStillOwner) : ifStillOwner(answer);
    }
    if (where.kind === "nowhere") return undefined;
    const bounds = { deadlineMs: leftMs + LAST_TRY_MS, signal };
    return forward(where, ask, bounds).then(({ acceptance }) => acceptance);
  }

  async function retryUntil(
    ask: Ask,
    untilMs: number,
    signal: AbortSignal,
  ): Promise<Answer | Refused> {
    for (;;) {
      leader.refresh();
      const leftMs = untilMs - clock.monotonic();
      if (leftMs <= 0 || signal.aborted) return NO_OWNER;
      await clock.sleep(Math.min(leftMs, RETRY_MS * (1 + random())), signal);
      const acceptance = await attempt(ask, Math.max(0, untilMs - clock.monotonic()), signal);
      if (acceptance !== undefined) return acceptance;
    }
  }

  async function later(
    first: Answer | undefined | Promise<Answer | undefined>,
    ask: Ask,
    signal: AbortSignal,
  ): Promise<Answer | Refused> {
    const untilMs = clock.monotonic() + HOLD_MS;
    const answer = await first;
    if (answer !== undefined) return answer;
    if (held >= maxHeld) return TOO_MANY;
    held += 1;
    try {
      return await retryUntil(ask, untilMs, signal);
    } finally {
      held -= 1;
    }
  }

  return (ask, signal) => {
    const first = attempt(ask, HOLD_MS, signal);
    // The usual case: this replica is the owner, and accepts the push without waiting for anything.
    if (first !== undefined && !(first instanceof Promise)) return first;
    return later(first, ask, signal);
  };
}
