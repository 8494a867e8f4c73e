/** The controller loop: workers that take keys from a queue and reconcile one at a time. */
import type { Clock } from "./clock.ts";
import type { Backoff } from "./work_queue.ts";

/** What a reconciliation asks for; nothing where it is content. */
export type ReconcileResult = { requeueAfterMs?: number } | void;

/** An error that trying again does not mend: it is logged and the key rests until it changes. */
export class TerminalError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TerminalError";
  }
}

/** How a reconciliation ended. */
export type ReconcileOutcome = "success" | "requeue" | "error" | "terminal_error";

/** Hooks for metrics; each is optional. */
export interface ControllerMetrics {
  /** After each reconciliation. */
  reconciled?(controller: string, outcome: ReconcileOutcome, seconds: number): void;
  /** Keys that wait for a worker, after each change. */
  depth?(controller: string, depth: number): void;
  /** A key was queued again after a failure. */
  retried?(controller: string): void;
  /** Workers that have a key in hand, after each change. */
  active?(controller: string, workers: number): void;
}

/** A controller. Keys may be enqueued before it runs. */
export interface Controller {
  /** Reconcile this key soon. Many calls before it is taken make one reconciliation. */
  enqueue(key: string): void;
  enqueueAfter(key: string, ms: number): void;
  /** Works until `signal` aborts, then waits for the keys in hand. May be called once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createController}. */
export interface ControllerOptions {
  /** Stands in logs and metrics. */
  name: string;
  /** Makes the world as the object of the key wants it. Its signal aborts when the controller stops or the deadline passes. */
  reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult>;
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

/** A controller; it starts with {@link Controller.run}. */
export function createController(_options: ControllerOptions): Controller {
  throw new Error("the controller is being built");
}
