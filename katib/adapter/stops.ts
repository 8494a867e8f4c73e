/** Stops that were decided on: each waits for its grace, and is then asked for until it is done. */
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
  /** 0 to 1. */
  readonly random: () => number;
  /** What is known when its time has come; undefined while the log is out of reach. */
  readonly currentStop: (jobUid: string) => Stop | undefined;
  /** Whether this replica may still act as the owner. */
  readonly leading: () => boolean;
  readonly onStop: (stop: Stop, outcome: StopOutcome) => void;
}

/** The stops of one term. */
export interface Stops {
  /** Decided: the job is stopped `graceMs` after the deciding row. Asked for once a job. */
  decided(stop: Stop): void;
  /** The job has ended by itself: its stop, where one is decided, does not wait. Resolves when it is done. */
  hurry(jobUid: string): Promise<void>;
  /** The job is gone. */
  forget(jobUid: string): void;
  /** Whether a stop of this job is not done yet. */
  pending(jobUid: string): boolean;
  /** Breaks off what waits, and resolves when nothing is under way. */
  close(): Promise<void>;
}

/** Stops that are written at a time. */
const AT_ONCE = 32;
/** Longest time of one try, in milliseconds. */
const TRY_MS = 10_000;
/** First and longest pause between tries, in milliseconds. */
const RETRY = { firstMs: 100, longestMs: 15_000 } as const;
/** Between two lines of log about tries that fail, in milliseconds. */
const TELL_EVERY_MS = 60_000;

interface Pending {
  readonly hurry: AbortController;
  readonly gone: AbortController;
  readonly done: Promise<void>;
}

/** How long the stop still waits for its grace, in milliseconds, never longer than the grace itself. */
export function graceLeftMs({ plan: { graceMs }, verdict }: Stop, nowMs: number): number {
  // A history may bring what was measured long ago: its pod is told now.
  const decidedMs = verdict.heardMs ?? Date.parse(verdict.time);
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
  let toldAtMs = -Infinity;

  function tell(stop: Stop, error: unknown): void {
    const nowMs = clock.monotonic();
    const isNews = nowMs - toldAtMs >= TELL_EVERY_MS;
    if (isNews) toldAtMs = nowMs;
    const { namespace, name } = stop.plan.job;
    const fields = { namespace, name, problem: messageOf(error) };
    log[isNews ? "warn" : "debug"]("a job could not be stopped early; trying again", fields);
  }

  async function tryOnce(stop: Stop, over: AbortSignal): Promise<StopOutcome> {
    if (!leading()) throw new Error("the lease was not renewed in time");
    const bounds = {
      clock,
      deadlineMs: TRY_MS,
      signal: over,
      onDeadline: () => new Error(`the API server did not answer within ${TRY_MS} ms`),
    };
    const write = (signal: AbortSignal) =>
      stopper.stop(currentStop(stop.plan.job.uid) ?? stop, signal);
    // The time of a try begins when it has its place.
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
        tell(stop, error);
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
    decided(stop) {
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
