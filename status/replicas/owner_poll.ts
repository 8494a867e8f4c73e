/** Polls of the owner for news of many jobs, on any replica; they end when the owner changes. */
import type { Clock } from "../../kube/clock.ts";
import type { LeaderLocation, LeaderLocator } from "../../kube/leadership.ts";
import type { ForwardTarget } from "../../http/replicas/terms.ts";
import type { CallBounds } from "../../http/replicas/calls.ts";
import type { ReadEntry, Reading } from "../reading/reading.ts";
import type { PollOwner } from "../reading/status_feeds.ts";

/** A poll on its way to an owner elsewhere. */
export interface PollAsk {
  readonly entries: readonly ReadEntry[];
  /** How long the owner may wait for news, in milliseconds. */
  readonly waitMs: number;
}

/** Options of {@link createOwnerPoll}. */
export interface OwnerPollOptions {
  /** Locates the leader, which owns the state. */
  readonly leader: LeaderLocator;
  /** Answers from this replica's own state. */
  readonly pollHere: PollOwner;
  /** Asks an owner on another replica; undefined if it gave no answer. Never throws. */
  readonly forward: (
    target: ForwardTarget,
    ask: PollAsk,
    bounds: CallBounds,
  ) => Promise<readonly Reading[] | undefined>;
  readonly clock: Clock;
}

/** What a forwarded poll may take beyond the time that the owner may wait, in milliseconds. */
const ANSWER_MS = 5000;
/** How often a poll under way looks whether its owner still is the owner, in milliseconds. */
const LOOK_EVERY_MS = 1000;

const isSame = (one: LeaderLocation, other: LeaderLocation) =>
  one.kind === other.kind &&
  (one.kind !== "elsewhere" || other.kind !== "elsewhere" ||
    (one.address === other.address && one.transitions === other.transitions));

/** Creates a {@link PollOwner} that knows where the owner is. Who lost the lease does not answer. */
export function createOwnerPoll(options: OwnerPollOptions): PollOwner {
  const { leader, pollHere, forward, clock } = options;

  /** Aborts `over` when the owner is not at `where` any more. */
  async function watch(where: LeaderLocation, over: AbortController): Promise<void> {
    while (!over.signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, over.signal);
      if (!isSame(leader.locate(), where)) over.abort();
    }
  }

  async function ask(entries: readonly ReadEntry[], waitMs: number, signal: AbortSignal) {
    const where = leader.locate();
    if (where.kind === "here") return await pollHere(entries, waitMs, signal);
    if (where.kind === "nowhere") return undefined;
    return await forward(where, { entries, waitMs }, { deadlineMs: waitMs + ANSWER_MS, signal });
  }

  return async (entries, waitMs, signal) => {
    const where = leader.locate();
    const over = new AbortController();
    const stop = () => over.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const watching = watch(where, over);
    try {
      const readings = await ask(entries, waitMs, over.signal);
      // Who lost the lease meanwhile does not speak for the state any more.
      const isAnswer = readings !== undefined && isSame(leader.locate(), where);
      if (!isAnswer && !signal.aborted) leader.refresh();
      return isAnswer ? readings : undefined;
    } finally {
      stop();
      signal.removeEventListener("abort", stop);
      await watching;
    }
  };
}
