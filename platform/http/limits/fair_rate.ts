/** Fair rate: a budget that users share, each with a part of its own; who has used the least of it comes first. */
import { onAbort } from "../../base/aborted.ts";
import { type Clock, every } from "../../base/clock.ts";
import { Bucket, createKeyedBuckets } from "../../base/token_bucket.ts";

/** The budget. `nowMs` is monotonic. Of a user's share, and of all, `first` ones may take what the others leave. */
export type FairRate = ReturnType<typeof createFairRate>;

/** Part of the rate that one user has. */
const USER_PART = 0.1;
/** What all may take at once, in seconds of the rate, and in bursts of users at least. */
const [BURST_SECONDS, BURST_USERS] = [10, 2] as const;
/** Part of a burst that is reserved for those that come first. */
const RESERVED_PART = 0.2;
/** Longest wait for a turn, and least time between two turns. */
const [PATIENCE_MS, MIN_SERVE_MS] = [5_000, 5] as const;
/** Users that are remembered; that wait at a time. */
const [MAX_USERS, MAX_WAITING_USERS] = [10_000, 1_000] as const;

interface Waiting {
  readonly untilMs: number;
  readonly settle: (isTaken: boolean) => void;
}

/** The waits of one user, in order. Never more than its share. */
interface Queue {
  readonly first: Waiting[];
  readonly others: Waiting[];
}

const lengthOf = ({ first, others }: Queue) => first.length + others.length;

/** Creates {@link FairRate}. */
export function createFairRate(options: {
  readonly clock: Clock;
  readonly perSecond: number;
  /** What one user may take at once; then it has a tenth of what there is each second. */
  readonly userBurst: number;
}) {
  const { clock, perSecond, userBurst } = options;
  const userReserve = Math.floor(userBurst * RESERVED_PART);
  const share = { ratePerSecond: perSecond * USER_PART, burst: userBurst + userReserve };
  const shares = createKeyedBuckets(share, MAX_USERS);
  const burst = Math.max(perSecond * BURST_SECONDS, share.burst * BURST_USERS);
  const pool = new Bucket({ ratePerSecond: perSecond, burst });
  const reserve = Math.floor(burst * RESERVED_PART);
  const queues = new Map<string, Queue>();
  const serveMs = Math.max(MIN_SERVE_MS, 1000 / perSecond);
  /** Undefined while nobody waits. */
  let stopServing: (() => void) | undefined;

  /**
   * Returns the wait whose turn it is. Nobody takes more than is left then, so that whoever comes new need not wait for
   * the bursts of others.
   */
  function next(nowMs: number): { readonly queue: Waiting[]; readonly user: string } | undefined {
    const tokens = pool.tokens(nowMs);
    let best: { queue: Waiting[]; user: string; used: number } | undefined;
    for (const [user, all] of queues) {
      const isFirst = all.first.length > 0;
      const left = isFirst ? tokens : tokens - reserve;
      const used = shares.used(user, nowMs) - lengthOf(all);
      if (left < 1 || used > left || used >= (best?.used ?? Infinity)) continue;
      best = { user, used, queue: isFirst ? all.first : all.others };
    }
    return best;
  }

  function leave(user: string): void {
    const queue = queues.get(user);
    if (queue !== undefined && lengthOf(queue) === 0) queues.delete(user);
    if (queues.size === 0) endLooks();
  }

  /** Ends waits that are too long: the first of each queue is the oldest. */
  function endLate(nowMs: number): void {
    for (const [user, { first, others }] of queues) {
      for (const queue of [first, others]) {
        while ((queue[0]?.untilMs ?? Infinity) <= nowMs) queue.shift()?.settle(false);
      }
      leave(user);
    }
  }

  function serve(nowMs: number): void {
    for (let turn = next(nowMs); turn !== undefined; turn = next(nowMs)) {
      pool.take(nowMs);
      turn.queue.shift()?.settle(true);
      leave(turn.user);
    }
    endLate(nowMs);
  }

  function endAll(): void {
    for (const { first, others } of queues.values()) {
      for (const { settle } of [...first, ...others]) settle(false);
    }
    queues.clear();
    endLooks();
  }

  function endLooks(): void {
    stopServing?.();
    stopServing = undefined;
  }

  return {
    /** Takes one of the user's share: 0, or milliseconds to wait for one. */
    takeShare(user: string, nowMs: number, first: boolean): number {
      const waitMs = shares.waitMs(user, nowMs, first ? 1 : 1 + userReserve);
      return waitMs > 0 ? waitMs : shares.take(user, nowMs);
    },
    /** Resolves when it is the turn of the user, who has taken a share for it; with false if that is too late. */
    takeTurn(
      nowMs: number,
      first: boolean,
      { subject: user = "", signal }: {
        readonly subject?: string | undefined;
        readonly signal: AbortSignal;
      },
    ): Promise<boolean> {
      const queue = queues.get(user) ?? { first: [], others: [] };
      if (signal.aborted || (!queues.has(user) && queues.size >= MAX_WAITING_USERS)) {
        return Promise.resolve(false);
      }
      const { promise, resolve: settle } = Promise.withResolvers<boolean>();
      queue[first ? "first" : "others"].push({ untilMs: nowMs + PATIENCE_MS, settle });
      queues.set(user, queue);
      serve(nowMs);
      if (queues.size > 0 && stopServing === undefined) {
        // One end for all that wait: they are of one kind of question, which ends as one.
        const stops = [
          every(clock, serveMs, () => serve(clock.monotonic())),
          onAbort(signal, endAll),
        ];
        stopServing = () => stops.forEach((stop) => stop());
      }
      return promise;
    },
  };
}
