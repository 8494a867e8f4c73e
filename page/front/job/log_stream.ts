/** Streams of containers' logs, which are read on where they broke off: of one, or of several together. */
import { joinedLogs, KeptLines, LogLines } from "./log_lines.ts";
import { call, comebacks } from "../page_state.ts";
import { CallError } from "../feed/server_calls.ts";
import { pause } from "../feed/view_feed.ts";
import { backoffMs } from "../../../platform/base/backoff.ts";
import { createSemaphore, type Semaphore } from "../../../platform/base/semaphore.ts";
import { RETRY } from "../feed/view_state.ts";

/** Lines from which a log begins. */
const TAIL = 1_000;
/** Most lines of a log that is downloaded, which a server gives of it. */
const WHOLE = 100_000;
/** Characters of logs that are downloaded together, after which others are left out. */
const MOST_CHARACTERS = 64 << 20;
/** Most logs that are shown together. */
export const MOST_TOGETHER = 32;
/** Logs that are read together are read again after so long, a browser having few connections for streams, in milliseconds. */
const POLL_MS = 3_000;
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
}

/** How it is with the log. */
export type LogState =
  | { readonly phase: "loading" | "followed" | "ended" | "hidden" }
  /** The container has no log yet. */
  | { readonly phase: "waiting"; readonly reason: string }
  /** It is tried again. */
  | { readonly phase: "broken"; readonly reason: string }
  /** One of several is gone, or may not be read. */
  | { readonly phase: "partly"; readonly reason: string }
  | { readonly phase: "gone" | "failed"; readonly reason: string };

/** Options of {@link followLog}. */
export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly onLines: (lines: LogLines) => void;
  readonly onState: (state: LogState) => void;
  /** Returns whether the pod writes nothing more. */
  readonly isOver: () => boolean;
  /** What takes the lines; absent: a log of its own. */
  readonly lines?: LogLines;
  /** Bounds how many logs are read at a time; with it the log is read again and again. */
  readonly turns?: Semaphore;
}

function pathOf({ namespace, pod, container, isPrevious }: LogPlace, more: object) {
  const query = new URLSearchParams({ timestamps: "true", ...more });
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
  { onLines, onState, turns }: FollowOptions,
): Promise<void> {
  const since = lines.resume();
  const path = pathOf(place, {
    ...(since === undefined ? { tailLines: TAIL } : { sinceTime: since }),
    ...(!place.isPrevious && turns === undefined && { follow: true }),
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

/** Follows a log until there is nothing more of it. */
export async function followLog(place: LogPlace, options: FollowOptions): Promise<void> {
  const { signal, onState, isOver, lines = new LogLines(), turns } = options;
  let failures = 0;
  while (!signal.aborted) {
    const seen = whileSeen(signal);
    const before = lines.taken;
    let state: LogState = { phase: "ended" };
    const wasOver = isOver();
    try {
      const read = () => readOnce(place, lines, seen.signal, options);
      await (turns === undefined ? read() : turns.run(read, seen.signal));
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
    const isEnd = state.phase === "ended" &&
      (place.isPrevious || (turns === undefined ? isOver() : wasOver));
    if (isEnd || state.phase === "gone" || state.phase === "failed") return onState(state);
    if (state.phase === "ended" && turns !== undefined) {
      failures = 0;
      await pause(POLL_MS, signal);
      continue;
    }
    onState(state.phase === "ended" ? { phase: "broken", reason: "the stream ended" } : state);
    failures = lines.taken > before ? 1 : failures + 1;
    await pause(backoffMs(failures, RETRY, Math.random), signal);
  }
}

/** A log of several. */
export interface LabelledPlace extends LogPlace {
  /** What its lines stand behind. */
  readonly label: string;
}

/** Returns how it is with logs together. */
function joinedState(states: ReadonlyMap<string, LogState>): LogState {
  const all = [...states];
  const reasonsOf = (...phases: readonly string[]) =>
    all.flatMap(([pod, it]) =>
      phases.includes(it.phase) && "reason" in it ? [`${pod}: ${it.reason}`] : []
    );
  const [broken] = reasonsOf("broken", "waiting");
  if (broken !== undefined) return { phase: "broken", reason: broken };
  const [left] = reasonsOf("gone", "failed");
  if (left !== undefined) return { phase: "partly", reason: left };
  const isAll = (phase: string) => all.every(([, it]) => it.phase === phase);
  const phase = (["ended", "loading", "hidden"] as const).find(isAll) ?? "followed";
  return { phase };
}

/** Follows several logs together. Returns a function that adds one. */
export function followTogether(
  { signal, onLines, onState }: Pick<FollowOptions, "signal" | "onLines" | "onState">,
): (place: LabelledPlace, isOver: () => boolean) => void {
  const kept = new KeptLines();
  const turns = createSemaphore(AT_ONCE);
  const states = new Map<string, LogState>();
  return (place, isOver) => {
    const take = (state: LogState) => {
      states.set(place.pod, state);
      onState(joinedState(states));
    };
    states.set(place.pod, { phase: "loading" });
    const lines = new LogLines(kept, `[${place.label}] `);
    followLog(place, { signal, onLines, onState: take, isOver, lines, turns });
  };
}

/** Returns whole logs as a text, those of several in the order of their times. Throws a {@link CallError}. */
export async function wholeLogs(places: readonly LabelledPlace[]): Promise<string> {
  const tailLines = Math.floor(WHOLE / Math.max(1, places.length));
  const logs: { label: string; text: string }[] = [];
  let left = MOST_CHARACTERS;
  for (const { label, ...place } of places) {
    const text = left > 0
      ? await (await call(pathOf(place, { tailLines }))).text()
      : "left out: the other logs are long\n";
    left -= text.length;
    logs.push({ label: places.length > 1 ? `[${label}] ` : "", text });
  }
  return joinedLogs(logs);
}
