/** Stream of a container's log, which is read on where it broke off. */
import { LogLines } from "./log_lines.ts";
import { call, comebacks } from "../page_state.ts";
import { CallError } from "../feed/server_calls.ts";
import { pause } from "../feed/view_feed.ts";
import { backoffMs } from "../../../platform/base/backoff.ts";
import { RETRY } from "../feed/view_state.ts";

/** Lines from which a log begins. */
const TAIL = 1_000;

/** A log. */
export interface LogPlace {
  readonly namespace: string;
  readonly pod: string;
  /** Empty: the pod's only one, or the one that it names. */
  readonly container: string;
  /** That of the run before the container was restarted. */
  readonly isPrevious: boolean;
}

/** How it is with the log. */
export type LogState =
  | { readonly phase: "loading" | "followed" | "ended" | "hidden" }
  /** The container has no log yet. */
  | { readonly phase: "waiting"; readonly reason: string }
  /** It is tried again. */
  | { readonly phase: "broken"; readonly reason: string }
  | { readonly phase: "gone" | "failed"; readonly reason: string };

/** Options of {@link followLog}. */
export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly onLines: (lines: LogLines) => void;
  readonly onState: (state: LogState) => void;
  /** Returns whether the pod writes nothing more. */
  readonly isOver: () => boolean;
}

function pathOf({ namespace, pod, container, isPrevious }: LogPlace, since: string | undefined) {
  const query = new URLSearchParams({ timestamps: "true" });
  if (container !== "") query.set("container", container);
  query.set(isPrevious ? "previous" : "follow", "true");
  if (since === undefined) query.set("tailLines", String(TAIL));
  else query.set("sinceTime", since);
  return `/logs/${encodeURIComponent(namespace)}/${encodeURIComponent(pod)}?${query}`;
}

/**
 * A signal for as long as the tab is seen: one that nobody sees shall hold no connection. It also ends when the page's
 * own stream has come back: this one says nothing while there are no lines, so that it may be dead without a sign.
 */
function whileSeen(signal: AbortSignal) {
  const stop = new AbortController();
  const isHidden = () => document.visibilityState === "hidden";
  const look = () => isHidden() && stop.abort();
  document.addEventListener("visibilitychange", look);
  look();
  const first = comebacks.peek();
  const unfollow = comebacks.subscribe((count) => count !== first && stop.abort());
  return {
    signal: AbortSignal.any([signal, stop.signal]),
    isStopped: () => stop.signal.aborted,
    isHidden,
    end: () => {
      document.removeEventListener("visibilitychange", look);
      unfollow();
    },
  };
}

function untilSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!signal.aborted && document.visibilityState === "hidden") return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/** Says what a failure means for a log. */
function stateAfter(error: unknown, { isPrevious }: LogPlace): LogState {
  const reason = error instanceof Error ? error.message : String(error);
  const status = error instanceof CallError ? error.status : 0;
  if (status === 404) return { phase: "gone", reason };
  if (status === 400 && !isPrevious) return { phase: "waiting", reason };
  const isFinal = status >= 400 && status < 500 && status !== 429;
  return { phase: isFinal ? "failed" : "broken", reason };
}

/** Reads the log once, to the end of its stream. */
async function readOnce(
  place: LogPlace,
  lines: LogLines,
  signal: AbortSignal,
  { onLines, onState }: FollowOptions,
): Promise<void> {
  const { body } = await call(pathOf(place, lines.resume()), { signal, streamed: true });
  onState({ phase: "followed" });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) return;
    lines.add(value);
    onLines(lines);
  }
}

/** Follows a log until there is nothing more of it. */
export async function followLog(place: LogPlace, options: FollowOptions): Promise<void> {
  const { signal, onState, isOver } = options;
  const lines = new LogLines();
  let failures = 0;
  while (!signal.aborted) {
    const seen = whileSeen(signal);
    const before = lines.taken;
    let state: LogState = { phase: "ended" };
    try {
      await readOnce(place, lines, seen.signal, options);
    } catch (error) {
      state = stateAfter(error, place);
    } finally {
      seen.end();
    }
    if (signal.aborted) return;
    if (seen.isStopped()) {
      if (seen.isHidden()) onState({ phase: "hidden" });
      await untilSeen(signal);
      continue;
    }
    // A stream that ends although the container may run broke off in between, or the container is restarted.
    const isEnd = state.phase === "ended" && (place.isPrevious || isOver());
    if (isEnd || state.phase === "gone" || state.phase === "failed") return onState(state);
    onState(state.phase === "ended" ? { phase: "broken", reason: "the stream ended" } : state);
    failures = lines.taken > before ? 1 : failures + 1;
    await pause(backoffMs(failures, RETRY, Math.random), signal);
  }
}
