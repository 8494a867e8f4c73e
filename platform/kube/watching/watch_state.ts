/** State machine of an informer: list, watch or wait. Pure. */
import { backoffMs } from "../../base/backoff.ts";
import { isGone, KubeError, messageOf, TransportError } from "../errors.ts";
import { CorruptStreamError } from "./watch.ts";

/** State of an informer: its next action. */
export type WatchState =
  /** Read everything. `failures` counts what went wrong in a row. */
  | { readonly phase: "listing"; readonly failures: number; readonly cause: string }
  /** Read changes since `resourceVersion`. */
  | { readonly phase: "watching"; readonly failures: number; readonly resourceVersion: string }
  /** Wait, then do `next`. */
  | {
    readonly phase: "waiting";
    readonly atLeastMs: number;
    /** Limit of the delay. */
    readonly atMostMs: number;
    readonly next: Exclude<WatchState, { phase: "waiting" }>;
  };

/** The outcome of the current step. */
export type WatchOutcome =
  | { readonly type: "listed"; readonly resourceVersion: string }
  /**
   * The watch ended, by itself or by an error. `resourceVersion` is the last that it brought,
   * `progress` whether it brought anything, `short` whether it lasted under a second.
   */
  | {
    readonly type: "ended";
    readonly resourceVersion: string;
    readonly progress: boolean;
    readonly short: boolean;
    readonly error?: unknown;
  }
  | { readonly type: "list_failed"; readonly error: unknown }
  | { readonly type: "waited" };

/** Number of consecutive watches without progress after which the objects are listed again. */
const FRUITLESS_WATCHES = 5;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 30_000;
/**
 * The longest delay while the server cannot be reached: trying costs it nothing then, and when it comes
 * back everything else waits for the watches.
 */
const LONGEST_UNREACHABLE_MS = 5_000;

/** The first state of every informer. */
export const FIRST_STATE: WatchState = { phase: "listing", failures: 0, cause: "start" };

/** Returns the delay before the next try after `failures` consecutive failures, in milliseconds. */
export function retryDelayMs(
  failures: number,
  random: () => number,
  longestMs = LONGEST_DELAY_MS,
): number {
  return backoffMs(failures, { firstMs: FIRST_DELAY_MS, longestMs }, random);
}

function afterList(state: WatchState, outcome: WatchOutcome): WatchState {
  const failures = failuresOf(state);
  if (outcome.type === "listed") {
    // Failures stay counted until the watch brings something: list and 410 in turn must slow down.
    return { phase: "watching", failures, resourceVersion: outcome.resourceVersion };
  }
  const error = outcome.type === "list_failed" ? outcome.error : undefined;
  const next = { phase: "listing", failures: failures + 1, cause: messageOf(error) } as const;
  return waiting(error, next);
}

/** The delay that the server asks for. */
function askedDelay(error: unknown): number {
  return error instanceof KubeError ? error.retryAfterMs ?? 0 : 0;
}

type Waiting = Extract<WatchState, { phase: "waiting" }>;

/** A rest before what comes next, as long as the error asks for. */
function waiting(error: unknown, next: Waiting["next"]): Waiting {
  const isAway = error instanceof TransportError;
  const atMostMs = isAway ? LONGEST_UNREACHABLE_MS : LONGEST_DELAY_MS;
  return { phase: "waiting", atLeastMs: askedDelay(error), atMostMs, next };
}

function afterWatch(
  failuresBefore: number,
  outcome: Extract<WatchOutcome, { type: "ended" }>,
): WatchState {
  const { error, resourceVersion, progress, short } = outcome;
  const before = progress ? 0 : failuresBefore;
  if (error === undefined && !short) {
    return { phase: "watching", failures: 0, resourceVersion };
  }
  const failures = before + 1;
  if (needsList(error, failures)) {
    const next = { phase: "listing", failures, cause: causeOf(error) } as const;
    // The first 410 after progress is the ordinary course of things: no waiting.
    return failures === 1 ? next : waiting(error, next);
  }
  const next = { phase: "watching", failures, resourceVersion } as const;
  return waiting(error, next);
}

function needsList(error: unknown, failures: number): boolean {
  if (isGone(error)) return true;
  if (error instanceof CorruptStreamError) return failures > 1;
  // A server that cannot be reached is not reached by a list either; it may say no for a reason.
  return error instanceof KubeError && failures >= FRUITLESS_WATCHES;
}

function causeOf(error: unknown): string {
  return isGone(error) ? "the resource version is too old" : messageOf(error);
}

/** Failures in a row. */
export function failuresOf(state: WatchState): number {
  return state.phase === "waiting" ? state.next.failures : state.failures;
}

/** Returns the state after `outcome`. */
export function step(state: WatchState, outcome: WatchOutcome): WatchState {
  if (state.phase === "waiting") return state.next;
  if (outcome.type === "ended") return afterWatch(state.failures, outcome);
  return afterList(state, outcome);
}
