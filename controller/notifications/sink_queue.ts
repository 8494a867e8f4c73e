/** Queue of one sink: notices of a namespace up to a rate, the others summed up; each is sent until it is taken. */
import type { Logger } from "@logtape/logtape";
import { type Backoff, backoffMs } from "../../platform/base/backoff.ts";
import { after, type Clock } from "../../platform/base/clock.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { createSleeper } from "../../platform/base/sleeper.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { noticeBody, summaryBody } from "./forms.ts";
import type { JobNotice, NotifiedEvent } from "./notice_of_change.ts";
import { addressOf, type Answer, type Message } from "./post.ts";
import type { Sink } from "./notified_sink.ts";

/** Bounds of a queue. */
export const QUEUE_LIMITS = {
  /** Notices of a namespace that are sent one by one in a window. */
  perWindow: 10,
  windowMs: 60_000,
  /** Namespaces that are counted by themselves in a window. */
  namespaces: 1_000,
  /** What waits; of more the oldest goes. */
  entries: 1_000,
  characters: 2 ** 20,
  /** For how long one is tried; a leader tells again what happened in that time before it. */
  keptMs: 600_000,
} as const;

/** Pauses after failures of the sink, whichever message it was. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 60_000 };
/** Problems of a sink that are logged once. */
const PROBLEMS = 100;

/** What becomes of notices: taken by the sink, refused by it, given up, dropped from a full queue, or only counted. */
export type NotificationResult = "sent" | "refused" | "failed" | "dropped" | "summarised";

/** Options of {@link createSinkQueue}. */
export interface SinkQueueOptions {
  readonly sink: Sink;
  readonly clock: Clock;
  readonly random: () => number;
  /** Tries once. */
  readonly post: (message: Message, signal: AbortSignal) => Promise<Answer>;
  readonly onResult: (result: NotificationResult) => void;
  readonly log: Logger;
}

interface Entry extends Message {
  readonly sinceMs: number;
}

/** Notices of a namespace since the first one of the window. */
interface Window {
  sent: number;
  readonly counts: Partial<Record<NotifiedEvent, number>>;
  readonly stop: () => void;
}

/** Creates the queue; it sends while it runs. */
export function createSinkQueue({ sink, clock, random, post, onResult, log }: SinkQueueOptions) {
  const waiting: Entry[] = [];
  let characters = 0;
  const sleeper = createSleeper(clock);
  /** By namespace; undefined: those of namespaces beyond the bound. */
  const windows = new Map<string | undefined, Window>();
  const isNews = createNotices(PROBLEMS);

  function warn(why: string): void {
    if (isNews(why)) log.warn("cannot notify", { sink: sink.name, problem: why });
  }

  function take(): Entry | undefined {
    const entry = waiting.shift();
    characters -= entry?.body.length ?? 0;
    return entry;
  }

  function add(id: string, body: string): void {
    waiting.push({ id, body, sinceMs: clock.monotonic() });
    characters += body.length;
    while (waiting.length > QUEUE_LIMITS.entries || characters > QUEUE_LIMITS.characters) {
      take();
      onResult("dropped");
      warn("too many notices wait: the oldest are dropped");
    }
    sleeper.wake();
  }

  function close(namespace: string | undefined): void {
    const counts = windows.get(namespace)?.counts ?? {};
    windows.delete(namespace);
    if (Object.keys(counts).length === 0) return;
    const id = `${namespace ?? ""}-Summary-${rfc3339(clock.now())}`;
    add(id, summaryBody(sink, { id, namespace, counts }));
  }

  function windowOf(namespace: string): Window {
    const known = windows.has(namespace) || windows.size < QUEUE_LIMITS.namespaces;
    const key = known ? namespace : undefined;
    const open = windows.get(key);
    if (open !== undefined) return open;
    const stop = after(clock, QUEUE_LIMITS.windowMs, () => close(key));
    const opened = { sent: 0, counts: {}, stop };
    windows.set(key, opened);
    return opened;
  }

  /** Tries until the sink has answered for good, or the time of the message is over. */
  async function deliver(entry: Entry, failedBefore: number, signal: AbortSignal) {
    for (let failures = failedBefore;;) {
      const answer = await post(entry, signal);
      if (signal.aborted) return failures;
      if (answer.kind !== "sent") warn(answer.why);
      if (answer.kind !== "again") {
        onResult(answer.kind);
        return 0;
      }
      failures++;
      const isOver = clock.monotonic() - entry.sinceMs >= QUEUE_LIMITS.keptMs;
      if (isOver) onResult("failed");
      await clock.sleep(
        Math.max(backoffMs(failures, BACKOFF, random), answer.afterMs ?? 0),
        signal,
      );
      if (isOver || signal.aborted) return failures;
    }
  }

  return {
    /** Takes a notice, if the sink wants it. */
    offer(notice: JobNotice): void {
      const { id, event, job: { namespace } } = notice;
      if (!sink.events.includes(event)) return;
      if (sink.namespaces?.includes(namespace) === false) return;
      const window = windowOf(namespace);
      if (window.sent < QUEUE_LIMITS.perWindow) {
        window.sent++;
        return add(id, noticeBody(sink, notice));
      }
      window.counts[event] = (window.counts[event] ?? 0) + 1;
      onResult("summarised");
    },
    /** Sends until `signal` aborts; what waits then is told by the next leader. */
    async run(signal: AbortSignal): Promise<void> {
      await addressOf(sink).catch((error: Error) => warn(error.message));
      for (let failures = 0; !signal.aborted;) {
        const entry = take();
        if (entry === undefined) await sleeper.sleep(Infinity, signal);
        else failures = await deliver(entry, failures, signal);
      }
      windows.forEach(({ stop }) => stop());
    },
  };
}
