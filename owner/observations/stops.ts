/** Pending stops: each waits for its grace period, and is then retried until it is done. */
import { getLogger } from "@logtape/logtape";
import type { JobRef } from "../../crds/job_kind.ts";
import { retryUntilAborted } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { createSleeper, type Sleeper } from "../../platform/base/sleeper.ts";
import { graceLeftMs, type StopDecision } from "./stop_decision.ts";
import type { Stop, StopOutcome, Stopper } from "./observations.ts";

/** Options of {@link createStops}. */
export interface StopsOptions {
  readonly stopper: Stopper;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1, as `Math.random` does. */
  readonly random: () => number;
  /** Returns the stop with the observation as the log has it now. Rejects if that is not known now. */
  readonly refreshed: (stop: Stop, signal: AbortSignal) => Promise<Stop>;
  /** Whether this replica may still act as the owner (docs/decisions/0014). */
  readonly leading: () => boolean;
  /** Whether no pod of the job can use a grace period. */
  readonly isSuspended: (job: JobRef) => boolean;
  /** Called when a stop is done. */
  readonly onStop: (stop: Stop, outcome: StopOutcome) => void;
}

/** Stops that are written at a time. */
const AT_ONCE = 32;
/** Deadline of one try, in milliseconds. */
const TRY_MS = 10_000;
/** Pauses between tries. */
const RETRY = { firstMs: 100, longestMs: 15_000 } as const;
/** Interval between warnings about failed tries, in milliseconds. */
const WARN_EVERY_MS = 60_000;

interface Pending {
  readonly stop: Stop;
  /** End of the grace period, in monotonic milliseconds. */
  dueMs: number;
  /** Whether the rules' decision is in `dueMs`. */
  isByRules: boolean;
  /** Woken when `dueMs` has changed. */
  readonly sleeper: Sleeper;
  /** Whether the grace period is over. */
  isDue: boolean;
  /** Ends the stop, since the job was deleted. */
  readonly gone: AbortController;
  done: Promise<void>;
}

/** The stops of one term. */
export type Stops = ReturnType<typeof createStops>;

/** Creates {@link Stops}. */
export function createStops(options: StopsOptions) {
  const { stopper, clock, random, refreshed, leading, isSuspended, onStop } = options;
  const log = getLogger(["milepost", "katib"]);
  const closed = new AbortController();
  const semaphore = createSemaphore(AT_ONCE);
  const pendings = new Map<string, Pending>();
  /** The decisions of stops that are done; undefined if the job had ended before. */
  const finished = new Map<string, StopDecision | undefined>();
  let warnedAtMs = -Infinity;

  function logFailure(stop: Stop, error: unknown): void {
    const nowMs = clock.monotonic();
    const isDue = nowMs - warnedAtMs >= WARN_EVERY_MS;
    if (isDue) warnedAtMs = nowMs;
    const { namespace, name } = stop.plan.job;
    const fields = { namespace, name, problem: messageOf(error) };
    log[isDue ? "warn" : "debug"]("cannot stop a job early; trying again", fields);
  }

  async function tryOnce<T>(
    over: AbortSignal,
    write: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (!leading()) throw new Error("this replica no longer holds the Lease");
    const bounds = {
      clock,
      deadlineMs: TRY_MS,
      signal: over,
      onDeadline: () => new Error(`the API server did not answer within ${TRY_MS} ms`),
    };
    // The deadline of a try begins when it has a place.
    return await semaphore.run(() => withDeadline(bounds, write), over);
  }

  /** Tries until `write` resolves; returns undefined if `over` aborts before. */
  async function untilWritten<T>(
    stop: Stop,
    over: AbortSignal,
    write: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const onFailure = (error: unknown) => logFailure(stop, error);
    const options = { backoff: RETRY, clock, random, signal: over, onFailure };
    return await retryUntilAborted(() => tryOnce(over, write), options);
  }

  async function untilDone(stop: Stop, over: AbortSignal): Promise<void> {
    const outcome = await untilWritten(
      stop,
      over,
      async (signal) => await stopper.stop(await refreshed(stop, signal), signal),
    );
    if (outcome === undefined) return;
    finished.set(stop.plan.job.uid, outcome === "stopped" ? stop.decision : undefined);
    onStop(stop, outcome);
  }

  /**
   * Stores a decision that waits, so that people see it, and so that it outlives this owner if the log does
   * not.
   */
  async function announce(stop: Stop, over: AbortSignal): Promise<void> {
    const { plan: { key, job }, decision } = stop;
    if (decision.isStored) return;
    await untilWritten(stop, over, (signal) => stopper.store({ job, decision }, key, signal));
  }

  /** Waits for the end of the grace period, which may come nearer meanwhile. */
  async function waitFor(pending: Pending, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const leftMs = pending.dueMs - clock.monotonic();
      if (leftMs <= 0) return;
      await pending.sleeper.sleep(leftMs, over);
    }
  }

  async function run(pending: Pending, over: AbortSignal): Promise<void> {
    if (pending.dueMs > clock.monotonic()) {
      const waited = new AbortController();
      const announced = announce(pending.stop, AbortSignal.any([waited.signal, over]));
      await waitFor(pending, over);
      waited.abort();
      await announced;
    }
    pending.isDue = true;
    await untilDone(pending.stop, over);
  }

  function comeNearer(pending: Pending, dueMs: number): void {
    if (dueMs >= pending.dueMs) return;
    pending.dueMs = dueMs;
    pending.sleeper.wake();
  }

  function dueOf({ plan, decision }: Stop): number {
    const leftMs = isSuspended(plan.job) ? 0 : graceLeftMs(decision, clock.now());
    return leftMs <= 0 ? -Infinity : clock.monotonic() + leftMs;
  }

  return {
    /**
     * Schedules a stop at the end of its grace period. Of a job that is to be stopped already the earlier end
     * holds; rules that are met once more change nothing.
     */
    schedule(stop: Stop): void {
      const { plan: { job: { uid } }, decision } = stop;
      if (closed.signal.aborted || finished.has(uid)) return;
      const isByRules = decision.user === undefined;
      const known = pendings.get(uid);
      if (known !== undefined) {
        if (known.isByRules && !decision.isStored) return;
        known.isByRules ||= isByRules;
        return comeNearer(known, dueOf(stop));
      }
      const gone = new AbortController();
      const sleeper = createSleeper(clock);
      const done = Promise.resolve();
      const dueMs = dueOf(stop);
      const pending = { stop, dueMs, isByRules, sleeper, isDue: false, gone, done };
      pendings.set(uid, pending);
      const over = AbortSignal.any([gone.signal, closed.signal]);
      pending.done = run(pending, over).finally(() => pendings.delete(uid));
    },
    /** Ends the grace period of a job that has ended by itself. Resolves when its stop, if any, is done. */
    async hurry(jobUid: string): Promise<void> {
      const pending = pendings.get(jobUid);
      if (pending === undefined) return;
      comeNearer(pending, -Infinity);
      await pending.done;
    },
    /** Ends the grace periods of jobs that are suspended. */
    hurrySuspended(): void {
      for (const pending of pendings.values()) {
        if (isSuspended(pending.stop.plan.job)) comeNearer(pending, -Infinity);
      }
    },
    /** Forgets a job that was deleted. */
    forget(jobUid: string): void {
      pendings.get(jobUid)?.gone.abort();
      finished.delete(jobUid);
    },
    /** Whether a stop of this job is not done yet. */
    pending: (jobUid: string) => pendings.has(jobUid),
    /** Whether it is decided that this job is stopped, also if it was stopped in this term. */
    decided: (jobUid: string) => pendings.has(jobUid) || finished.get(jobUid) !== undefined,
    /** Returns the decision by which the job is being ended, its grace being over, or was in this term. */
    ending(jobUid: string): StopDecision | undefined {
      const pending = pendings.get(jobUid);
      return pending === undefined
        ? finished.get(jobUid)
        : pending.isDue
        ? pending.stop.decision
        : undefined;
    },
    /** Returns the decision by which the job is to be stopped, until that is done. */
    decision: (jobUid: string) => pendings.get(jobUid)?.stop.decision,
    /** Aborts all stops, and resolves when none is under way. */
    async close(): Promise<void> {
      closed.abort();
      await Promise.all([...pendings.values()].map(({ done }) => done));
    },
  };
}
