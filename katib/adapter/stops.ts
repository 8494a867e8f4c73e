/** Pending stops: each waits for its grace period, and is then retried until it is done. */
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../kube/backoff.ts";
import type { Clock } from "../../kube/clock.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { messageOf } from "../../kube/errors.ts";
import { createSemaphore } from "../../kube/semaphore.ts";
import type { Stop, StopOutcome, Stopper } from "./adapter.ts";

/** Options of {@link createStops}. */
export interface StopsOptions {
  readonly stopper: Stopper;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Returns the stop as the log has it now; undefined if the log is unavailable. */
  readonly currentStop: (jobUid: string) => Stop | undefined;
  /** Whether this replica may still act as the owner. */
  readonly leading: () => boolean;
  readonly onStop: (stop: Stop, outcome: StopOutcome) => void;
}

/** The stops of one term. */
export interface Stops {
  /** Schedules a stop `graceMs` after the deciding row, once for each job. */
  schedule(stop: Stop): void;
  /** Ends the grace period of a job that has ended by itself. Resolves when its stop, if any, is done. */
  hurry(jobUid: string): Promise<void>;
  /** Forgets a job that was deleted. */
  forget(jobUid: string): void;
  /** Whether a stop of this job is not done yet. */
  pending(jobUid: string): boolean;
  /** Aborts all stops, and resolves when none is under way. */
  close(): Promise<void>;
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
  /** Ends the grace period. */
  readonly hurry: AbortController;
  /** Ends the stop, since the job was deleted. */
  readonly gone: AbortController;
  readonly done: Promise<void>;
}

/** Returns what is left of the grace period, in milliseconds, never more than the whole of it. */
function graceLeftMs({ plan: { graceMs }, verdict }: Stop, nowMs: number): number {
  // A history may contain old samples, but its pod learns of the stop only now.
  const decidedMs = verdict.receivedMs ?? Date.parse(verdict.time);
  if (!Number.isFinite(decidedMs)) return graceMs;
  return Math.min(graceMs, Math.max(0, decidedMs + graceMs - nowMs));
}

/** Creates {@link Stops}. */
export function createStops(options: StopsOptions): Stops {
  const { stopper, clock, random, currentStop, leading, onStop } = options;
  const log = getLogger(["milepost", "katib"]);
  const closed = new AbortController();
  const semaphore = createSemaphore(AT_ONCE);
  const pendings = new Map<string, Pending>();
  const finished = new Set<string>();
  let warnedAtMs = -Infinity;

  function logFailure(stop: Stop, error: unknown): void {
    const nowMs = clock.monotonic();
    const isDue = nowMs - warnedAtMs >= WARN_EVERY_MS;
    if (isDue) warnedAtMs = nowMs;
    const { namespace, name } = stop.plan.job;
    const fields = { namespace, name, problem: messageOf(error) };
    log[isDue ? "warn" : "debug"]("cannot stop a job early; trying again", fields);
  }

  async function tryOnce(stop: Stop, over: AbortSignal): Promise<StopOutcome> {
    if (!leading()) throw new Error("this replica no longer holds the Lease");
    const bounds = {
      clock,
      deadlineMs: TRY_MS,
      signal: over,
      onDeadline: () => new Error(`the API server did not answer within ${TRY_MS} ms`),
    };
    const write = (signal: AbortSignal) =>
      stopper.stop(currentStop(stop.plan.job.uid) ?? stop, signal);
    // The deadline of a try begins when it has a place.
    return await semaphore.run(() => withDeadline(bounds, write), over);
  }

  async function untilDone(stop: Stop, over: AbortSignal): Promise<void> {
    for (let failures = 1; !over.aborted; failures++) {
      try {
        const outcome = await tryOnce(stop, over);
        finished.add(stop.plan.job.uid);
        return onStop(stop, outcome);
      } catch (error) {
        if (over.aborted) return;
        logFailure(stop, error);
      }
      await clock.sleep(backoffMs(failures, RETRY, random), over);
    }
  }

  async function run(stop: Stop, hurry: AbortSignal, over: AbortSignal): Promise<void> {
    const leftMs = graceLeftMs(stop, clock.now());
    if (leftMs > 0) await clock.sleep(leftMs, AbortSignal.any([hurry, over]));
    await untilDone(stop, over);
  }

  return {
    schedule(stop) {
      const { uid } = stop.plan.job;
      if (closed.signal.aborted || pendings.has(uid) || finished.has(uid)) return;
      const hurry = new AbortController();
      const gone = new AbortController();
      const over = AbortSignal.any([gone.signal, closed.signal]);
      const done = run(stop, hurry.signal, over).finally(() => pendings.delete(uid));
      pendings.set(uid, { hurry, gone, done });
    },
    async hurry(jobUid) {
      const pending = pendings.get(jobUid);
      pending?.hurry.abort();
      await pending?.done;
    },
    forget(jobUid) {
      pendings.get(jobUid)?.gone.abort();
      finished.delete(jobUid);
    },
    pending: (jobUid) => pendings.has(jobUid),
    async close() {
      closed.abort();
      await Promise.all([...pendings.values()].map(({ done }) => done));
    },
  };
}
