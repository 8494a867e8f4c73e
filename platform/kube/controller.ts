/** Controller loop: sources that enqueue keys, and workers that reconcile one key at a time. */
import { getLogger } from "@logtape/logtape";
import { onAbort } from "../base/aborted.ts";
import type { Backoff } from "../base/backoff.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { withDeadline } from "../base/deadline.ts";
import { isConflict, KubeError, messageOf } from "./errors.ts";
import type { Source } from "./sources.ts";
import { createWorkQueue, workOn, type WorkQueue } from "../base/work_queue.ts";

/** Result of a reconciliation; nothing if all is done. */
export type ReconcileResult = {
  /** Time after which the key is reconciled again at the latest, in milliseconds. */
  requeueAfterMs?: number;
  /** What went wrong. As if it was thrown, but that the time above holds beside the back-off. */
  error?: unknown;
} | void;

/** How a reconciliation ended. */
export type ReconcileOutcome = "success" | "requeue" | "error";

/** Hooks for metrics; each is optional. */
export interface ControllerMetrics {
  /** After each reconciliation. */
  reconciled?(controller: string, outcome: ReconcileOutcome, seconds: number): void;
  /** Keys that wait for a worker, after each change. */
  depth?(controller: string, depth: number): void;
}

/** A controller. Keys may be enqueued before it runs. */
export type Controller = ReturnType<typeof createController>;

/** Brings the cluster to the state that the object of the key describes. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

/** Options of {@link createController}. */
export interface ControllerOptions {
  /** Name in logs and metrics. */
  name: string;
  /**
   * Brings the cluster to the state that the object of the key describes. Its signal aborts when the
   * controller stops or the deadline passes. An error is logged, and the key is tried again later.
   */
  reconcile: Reconcile;
  /** Sources of keys. Default: only {@link Controller.enqueue}. */
  sources?: readonly Source[];
  /** Default 1. */
  workers?: number;
  clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  metrics?: ControllerMetrics;
  backoff?: Backoff;
  /** A reconciliation is aborted after this many milliseconds. Default: none. */
  deadlineMs?: number;
}

const logger = getLogger(["milepost", "kube", "controller"]);

/** One reconciliation that went wrong. */
interface Failure {
  readonly name: string;
  readonly key: string;
  /** Identifies a reconciliation of one controller. */
  readonly reconcileId: number;
  readonly error: unknown;
}

/** Failures in a row after which conflicts are warned of too: writes that come between do not do so for ever. */
const PATIENCE = 5;

/** Logs the failure and queues the key again. */
function handleFailure(queue: WorkQueue, failure: Failure): ReconcileOutcome {
  const { name: controller, key, reconcileId, error } = failure;
  const fields = { controller, key, reconcileId, error: messageOf(error) };
  const asked = error instanceof KubeError ? error.retryAfterMs : undefined;
  const retryInMs = Math.round(queue.addRateLimited(key, asked));
  if (isConflict(error) && queue.failures(key) < PATIENCE) {
    logger.debug("reconciliation met a conflict; retrying", { ...fields, retryInMs });
  } else {
    logger.warn("reconciliation failed; retrying", { ...fields, retryInMs });
  }
  return "error";
}

function handleSuccess(queue: WorkQueue, key: string, result: ReconcileResult): ReconcileOutcome {
  const requeueAfterMs = result?.requeueAfterMs;
  if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
  queue.forget(key);
  return requeueAfterMs === undefined ? "success" : "requeue";
}

/** A controller; it starts with {@link Controller.run}. */
export function createController(options: ControllerOptions) {
  const { name, reconcile, workers = 1, clock = systemClock, random, metrics = {} } = options;
  const { deadlineMs = Infinity, backoff, sources = [] } = options;
  if (!(Number.isInteger(workers) && workers > 0)) {
    throw new RangeError(`controller ${name}: workers must be a positive number, got ${workers}`);
  }
  const onDepth = (depth: number) => metrics.depth?.(name, depth);
  const queue = createWorkQueue({ clock, random, backoff, onDepth });
  let reconcileId = 0;
  let started = false;

  async function attempt(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const id = ++reconcileId;
    const onDeadline = () => new Error(`not done within ${deadlineMs} ms`);
    const afterError = (error: unknown) =>
      // What breaks off because the controller stops is no failure.
      signal.aborted ? "requeue" : handleFailure(queue, { name, key, reconcileId: id, error });
    try {
      const bounds = { clock, deadlineMs, signal, onDeadline };
      const result = await withDeadline(bounds, (signal) => reconcile(key, signal));
      if (result?.error === undefined) return handleSuccess(queue, key, result);
      // What is due now has just failed, and follows the back-off.
      if (result.requeueAfterMs) queue.addAfter(key, result.requeueAfterMs);
      return afterError(result.error);
    } catch (error) {
      return afterError(error);
    }
  }

  async function work(key: string, signal: AbortSignal): Promise<void> {
    const began = clock.monotonic();
    const outcome = await attempt(key, signal);
    metrics.reconciled?.(name, outcome, (clock.monotonic() - began) / 1000);
  }

  return {
    /** Reconciles this key soon. Many calls before a worker takes it make one reconciliation. */
    enqueue: queue.add,
    /**
     * Starts the sources, waits until their caches are filled, and works until `signal` aborts; then waits
     * for the keys in hand. Call it once.
     */
    async run(signal: AbortSignal): Promise<void> {
      if (started) throw new Error(`controller ${name}: run can be called only once`);
      started = true;
      const ends = sources.map((source) => source.start(queue.add));
      ends.push(onAbort(signal, queue.shutDown));
      try {
        const synced = await Promise.all(
          sources.map((source) => source.whenSynced?.(signal) ?? true),
        );
        if (!synced.every(Boolean)) return;
        const worker = () => workOn(queue, (key) => work(key, signal));
        await Promise.all(Array.from({ length: workers }, worker));
      } finally {
        for (const end of ends) end();
      }
    },
  };
}
