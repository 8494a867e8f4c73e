/** Streams of containers' logs, of one or of several together, which are read on where they broke off. */
import { KeptLines, LogLines } from "./log_lines.ts";
import { call, comebacks } from "../page_state.ts";
import { problemOf } from "../feed/server_calls.ts";
import { pause } from "../feed/view_feed.ts";
import { backoffMs } from "../../../platform/base/backoff.ts";
import { createSemaphore, type Semaphore } from "../../../platform/base/semaphore.ts";
import { RETRY } from "../feed/view_state.ts";

/** Lines from which a log begins. */
const TAIL = 1_000;
/** Most lines of a log that is downloaded, which a server gives of it. */
const WHOLE = 100_000;
/** Most logs that are shown together. */
export const MOST_TOGETHER = 32;
/** Logs that are read together are read again after so long, a browser having few connections for streams, in milliseconds. */
const POLL_MS = 3_000;
/** Time between two looks whether the tab is seen again, beside those when it is, in milliseconds. */
const UNSEEN_MS = 60_000;
/** Logs of several that are read at a time. */
const AT_ONCE = 2;

/** A log. */
export interface LogPlace {
  readonly namespace: string;
  readonly pod: string;
  /** Empty: the pod's only one, or the one that it names. */
  readonly container: string;
  /** That of the run before the container was restarted. */
  readonly isPrevious: boolean;
  /** What its lines begin with among those of others; empty: it is read alone. */
  readonly label: string;
}

/** How it is with the log. */
export type LogState =
  | { readonly phase: "loading" | "followed" | "ended" | "hidden" }
  /** The container has no log yet. */
  | { readonly phase: "waiting"; readonly reason: string }
  /** It is tried again. */
  | { readonly phase: "broken"; readonly reason: string }
  /** One of several cannot be read now, or not any more. */
  | { readonly phase: "partly"; readonly reason: string }
  | { readonly phase: "gone" | "failed"; readonly reason: string };

/** How a log is followed. */
interface FollowOptions {
  readonly signal: AbortSignal;
  readonly onLines: (lines: LogLines) => void;
  readonly onState: (state: LogState) => void;
  /** Returns whether the pod writes nothing more. */
  readonly isOver: () => boolean;
  readonly lines: LogLines;
  /** Bounds how many logs are read at a time that are read together. */
  readonly turns: Semaphore;
}

function pathOf({ namespace, pod, container, isPrevious }: LogPlace, more: object) {
  const query = new URLSearchParams({ ...more });
  if (container !== "") query.set("container", container);
  if (isPrevious) query.set("previous", "true");
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

/** Says what a failure means for a log. */
function stateAfter(error: unknown, { isPrevious }: LogPlace): LogState {
  const { status, message: reason } = problemOf(error);
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
  const since = lines.resume();
  const path = pathOf(place, {
    timestamps: true,
    ...(since === undefined ? { tailLines: TAIL } : { sinceTime: since }),
    ...(!place.isPrevious && place.label === "" && { follow: true }),
  });
  const { body } = await call(path, { signal, streamed: true });
  onState({ phase: "followed" });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) return;
    lines.add(value);
    onLines(lines);
  }
}

/** Follows a log until there is nothing more of it; one of several is read again and again. */
async function followLog(place: LogPlace, options: FollowOptions): Promise<void> {
  const { signal, onState, isOver, lines, turns } = options;
  const isAlone = place.label === "";
  let failures = 0;
  while (!signal.aborted) {
    const seen = whileSeen(signal);
    const before = lines.taken;
    let state: LogState = { phase: "ended" };
    const wasOver = isOver();
    try {
      const read = () => readOnce(place, lines, seen.signal, options);
      await (isAlone ? read() : turns.run(read, seen.signal));
    } catch (error) {
      state = stateAfter(error, place);
    } finally {
      seen.end();
    }
    if (signal.aborted) return;
    if (seen.isStopped()) {
      if (seen.isHidden()) onState({ phase: "hidden" });
      while (!signal.aborted && seen.isHidden()) await pause(UNSEEN_MS, signal);
      continue;
    }
    // A stream that ends although the container may run broke off in between, or the container is restarted.
    const isEnd = state.phase === "ended" && (place.isPrevious || (isAlone ? isOver() : wasOver));
    if (isEnd || state.phase === "gone" || state.phase === "failed") return onState(state);
    const isRead = !isAlone && state.phase === "ended";
    if (!isRead) {
      onState(state.phase === "ended" ? { phase: "broken", reason: "the stream ended" } : state);
    }
    failures = lines.taken > before ? 1 : failures + 1;
    await pause(isRead ? POLL_MS : backoffMs(failures, RETRY, Math.random), signal);
  }
}

/** Returns how it is with logs together, by their pods. */
function joinedState(states: ReadonlyMap<string, LogState>): LogState {
  const [first = { phase: "loading" } as const, ...others] = states.values();
  if (others.length === 0) return first;
  for (const [pod, it] of states) {
    if ("reason" in it) return { phase: "partly", reason: `${pod}: ${it.reason}` };
  }
  return others.every(({ phase }) => phase === first.phase) ? first : { phase: "followed" };
}

/** Follows logs, whose lines stand in the order of their times. Returns a function that adds one. */
export function followLogs(
  { onState, ...options }: Omit<FollowOptions, "isOver" | "lines" | "turns">,
) {
  const kept = new KeptLines();
  const turns = createSemaphore(AT_ONCE);
  const states = new Map<string, LogState>();
  return (place: LogPlace, isOver: () => boolean): void => {
    const take = (state: LogState) => onState(joinedState(states.set(place.pod, state)));
    take({ phase: "loading" });
    const lines = new LogLines(kept, place.label);
    followLog(place, { ...options, onState: take, isOver, lines, turns });
  };
}

/** Returns whole logs, one after the other. Throws a `CallError`. */
export async function wholeLogs(places: readonly LogPlace[]): Promise<string> {
  const tailLines = Math.floor(WHOLE / Math.max(1, places.length));
  const texts: string[] = [];
  for (const place of places) {
    const text = await (await call(pathOf(place, { tailLines }))).text();
    texts.push(place.label === "" ? text : `==> ${place.pod} <==\n${text}\n`);
  }
  return texts.join("");
}
