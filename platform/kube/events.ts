/** Event recorder: writes core/v1 Events, aggregated and rate-limited; it never fails its caller. */
import { getLogger } from "@logtape/logtape";
import { retry } from "../base/backoff.ts";
import { createBoundedCache } from "../base/bounded_cache.ts";
import type { KubeClient } from "./client.ts";
import { KUBERNETES_KINDS } from "./kubernetes_kinds.ts";
import { withMetadataOnly } from "./resource.ts";
import { rfc3339 } from "../base/timestamps.ts";
import { type BucketLimits, createKeyedBuckets } from "../base/token_bucket.ts";
import { after, type Clock, systemClock } from "../base/clock.ts";
import { ignoring, isAlreadyExists, isNotFound, isTransient, messageOf } from "./errors.ts";
import {
  cutMessage,
  eventObject,
  type EventSubject,
  type EventText,
  sameEventKey,
  subjectKey,
} from "./event_object.ts";

/** Reason for which an event was not written. */
export type DropCause = "queue_full" | "rate_limited" | "refused" | "closed";

/** Writes events in the background, from the first one on. */
export type EventRecorder = ReturnType<typeof createEventRecorder>;

/** Different events that wait to be written. */
const QUEUE_LENGTH = 1000;
/** Events, and objects, that are remembered. */
const REMEMBERED = 4096;
/** The same event within this time is counted, not written anew. */
const SAME_WITHIN_MS = 600_000;
/** Rate limit of events about one object: a burst, and one more every five minutes. */
const LIMITS: BucketLimits = { burst: 25, ratePerSecond: 1 / 300 };
const TRIES = 5;
const WRITE_DEADLINE_MS = 5000;
const LAST_WORDS_MS = 2000;
const RETRY = { firstMs: 200, longestMs: 5000 } as const;

/** Events, of which a response need not repeat more than which one it is. */
const EVENT = withMetadataOnly(KUBERNETES_KINDS.event);

const logger = getLogger(["milepost", "kube", "events"]);

/** One event, written or waiting. */
interface Entry {
  readonly about: EventSubject;
  readonly text: EventText;
  /** End of its object's name, the same for each attempt: one without an answer may have created it. */
  readonly suffix: string;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** Its object, once written. */
  written?: { namespace: string; name: string };
}

/** Creates a recorder, which its owner has to close. */
export function createEventRecorder(options: {
  client: Pick<KubeClient, "create" | "patch">;
  /** `source.component` and `reportingComponent` of events that name none. */
  component: string;
  clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  /** Called for each event that was not written, with the cause. */
  onDropped?: (cause: DropCause) => void;
}) {
  const { client, component, clock = systemClock, random = Math.random, onDropped } = options;
  const known = createBoundedCache<Entry>(REMEMBERED);
  const buckets = createKeyedBuckets(LIMITS, REMEMBERED);
  const waiting = new Map<string, Entry>();
  const over = new AbortController();
  const { signal } = over;
  let draining: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  let failing = false;

  function drop(cause: DropCause, entry: Pick<Entry, "about" | "text">, error?: unknown): void {
    onDropped?.(cause);
    const { kind, namespace, name } = entry.about;
    const { reason } = entry.text;
    const fields = { cause, kind, namespace, name, reason, error: error && messageOf(error) };
    // Once until one is written again: an API server that refuses one refuses many.
    const isNews = cause === "refused" && !failing && !signal.aborted;
    if (cause === "refused") failing = true;
    logger[isNews ? "warn" : "debug"]("an event was not written", fields);
  }

  /** The entry of this event: the old one, counted up, or a new one. */
  function entryOf(key: string, about: EventSubject, text: EventText): Entry {
    const now = clock.now();
    const old = waiting.get(key) ?? known.get(key);
    if (old === undefined || now - old.lastMs > SAME_WITHIN_MS) {
      const suffix = Math.floor(random() * 2 ** 52).toString(16).padStart(13, "0");
      return { about: { ...about }, text, suffix, firstMs: now, lastMs: now, count: 1 };
    }
    old.count++;
    old.lastMs = now;
    return old;
  }

  function record(about: EventSubject, event: EventText): void {
    const text = { ...event, message: cutMessage(event.message) };
    if (signal.aborted) return drop("closed", { about, text });
    const key = sameEventKey(about, text);
    const [subject, nowMs] = [subjectKey(about), clock.monotonic()];
    if (buckets.waitMs(subject, nowMs) > 0) return drop("rate_limited", { about, text });
    if (!waiting.has(key) && waiting.size >= QUEUE_LENGTH) {
      return drop("queue_full", { about, text });
    }
    buckets.take(subject, nowMs);
    const entry = entryOf(key, about, text);
    known.set(key, entry);
    waiting.set(key, entry);
    drain();
  }

  async function create(entry: Entry): Promise<void> {
    const { about, text, suffix, count, firstMs, lastMs } = entry;
    const event = eventObject(about, text, { component, suffix, count, firstMs, lastMs });
    await client.create(EVENT, event, { signal, deadlineMs: WRITE_DEADLINE_MS })
      .catch(ignoring(isAlreadyExists));
    const { namespace = "", name = "" } = event.metadata ?? {};
    entry.written = { namespace, name };
  }

  async function write(entry: Entry): Promise<void> {
    if (entry.written === undefined) return await create(entry);
    const body = { count: entry.count, lastTimestamp: rfc3339(entry.lastMs) };
    const bounds = { signal, deadlineMs: WRITE_DEADLINE_MS };
    try {
      await client.patch(KUBERNETES_KINDS.event, entry.written, { type: "merge", body }, bounds);
    } catch (error) {
      // The API server forgets events after an hour.
      if (!isNotFound(error)) throw error;
      await create(entry);
    }
  }

  async function writeOrDrop(entry: Entry): Promise<void> {
    const onFailure = (error: unknown, failures: number) => {
      if (failures >= TRIES || !isTransient(error)) throw error;
    };
    try {
      await retry(() => write(entry), { backoff: RETRY, clock, random, signal, onFailure });
      failing = false;
    } catch (error) {
      drop("refused", entry, error);
    }
  }

  async function writeAll(): Promise<void> {
    // The same event, recorded several times at once, is one.
    await Promise.resolve();
    for (const [key, entry] of waiting) {
      waiting.delete(key);
      await writeOrDrop(entry);
    }
  }

  /** Writes what waits; what is recorded meanwhile, too. */
  function drain(): Promise<void> {
    return draining ??= writeAll().finally(() => {
      draining = undefined;
      if (waiting.size > 0) drain();
    });
  }

  async function flush(): Promise<void> {
    while (draining !== undefined || waiting.size > 0) await drain();
  }

  async function lastWords(): Promise<void> {
    const cancel = after(clock, LAST_WORDS_MS, () => over.abort());
    await flush();
    over.abort();
    cancel();
  }

  return {
    /** Queues an event; never waits, never throws. */
    record,
    /** Resolves when all that was recorded before is written or given up. */
    flush,
    /** Writes what is queued for two seconds at most. Call it when all who record have ended: nothing is written after it. */
    close: (): Promise<void> => closing ??= lastWords(),
  };
}
