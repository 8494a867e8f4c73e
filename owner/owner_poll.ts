/** Polls of the replica that owns all state, for jobs whose state has changed. */
import type { JobRef } from "../crds/job_kind.ts";
import { onAbort } from "../platform/base/aborted.ts";
import { type Clock, every } from "../platform/base/clock.ts";
import type { LeaderLocation, LeaderLocator } from "../platform/kube/leading/leadership.ts";
import type { ForwardTarget } from "../platform/http/replicas/terms.ts";
import type { CallBounds } from "../platform/http/replicas/calls.ts";

/** Version of the state of one job at its owner; kinds of state extend it with what they hold. */
export interface JobVersion {
  readonly uid: string;
  /** Changes with the state, and with the owner; nothing else may be made of it. */
  readonly cursor: string;
}

/** Question about one job: for everything, or only for what differs from the cursor's state. */
export interface PollEntry {
  readonly job: JobRef;
  readonly cursor?: string | undefined;
}

/**
 * Asks the owner, wherever it is, for what differs from the cursors; it may wait up to `waitMs` until
 * something does. Returns undefined if there is no owner, or no answer.
 */
export type PollOwner<State extends JobVersion> = (
  entries: readonly PollEntry[],
  waitMs: number,
  signal: AbortSignal,
) => Promise<readonly State[] | undefined>;

/** A poll on its way to an owner elsewhere. */
export interface PollAsk {
  readonly entries: readonly PollEntry[];
  /** How long the owner may wait for news, in milliseconds. */
  readonly waitMs: number;
}

/** Time of a forwarded poll beyond that for which the owner may wait, in milliseconds. */
const ANSWER_MS = 5000;
/** Time between two checks that the owner of a poll under way still is the owner, in milliseconds. */
const CHECK_MS = 1000;

const isSame = (one: LeaderLocation, other: LeaderLocation) =>
  one.kind === other.kind &&
  (one.kind !== "elsewhere" || other.kind !== "elsewhere" ||
    (one.address === other.address && one.transitions === other.transitions));

/**
 * Creates a {@link PollOwner} that locates the owner. A poll is broken off when the owner changes, and the
 * answer of a replica that lost the lease meanwhile is dropped.
 */
export function createOwnerPoll<State extends JobVersion>(
  { leader, here, forward, clock }: {
    /** Locates the leader, which owns the state. */
    readonly leader: LeaderLocator;
    /** Polls this replica's own state. */
    readonly here: PollOwner<State>;
    /** Asks an owner on another replica; returns undefined if it gave no answer. Never throws. */
    readonly forward: (
      target: ForwardTarget,
      ask: PollAsk,
      bounds: CallBounds,
    ) => Promise<readonly State[] | undefined>;
    readonly clock: Clock;
  },
): PollOwner<State> {
  async function ask(entries: readonly PollEntry[], waitMs: number, signal: AbortSignal) {
    const where = leader.locate();
    if (where.kind === "here") return await here(entries, waitMs, signal);
    if (where.kind === "nowhere") return undefined;
    return await forward(where, { entries, waitMs }, { deadlineMs: waitMs + ANSWER_MS, signal });
  }

  return async (entries, waitMs, signal) => {
    const where = leader.locate();
    const over = new AbortController();
    const stop = () => over.abort();
    const ends = [
      onAbort(signal, stop),
      every(clock, CHECK_MS, () => isSame(leader.locate(), where) || stop()),
    ];
    try {
      const states = await ask(entries, waitMs, over.signal);
      // A replica that lost the lease meanwhile may know less than the next owner.
      const isAnswer = states !== undefined && isSame(leader.locate(), where);
      if (!isAnswer && !signal.aborted) leader.refresh();
      return isAnswer ? states : undefined;
    } finally {
      for (const end of [stop, ...ends]) end();
    }
  };
}
