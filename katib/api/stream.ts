/** Observation as server-sent events: every row of the log once, and each change of the state. */
import type { Position } from "../../crds/wire/observation.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { ObservationSeen } from "../../owner/observations/observation_asks.ts";
import { eventText, type StreamEnd, type WriteEvents } from "../../platform/http/event_stream.ts";
import { type JobState, observationOf } from "./observation_state.ts";
import { behind } from "../../owner/observations/log_parts.ts";

/** What has changed: the log, or the object of the job. */
export type Changed = "log" | "job";

/** A page, or when to come again. */
export type PageRead = ObservationSeen | { readonly retryAfterMs: number; readonly reason: string };

/** Tries to read the last rows at a job's end while the owner has no answer. */
const LAST_TRIES = 5;
/** Longest pause before a log that was out of reach is read again, plus up to as much again, in milliseconds. */
const LONGEST_PAUSE_MS = 5000;

/** Returns the parts of a watch that `runEventLoop()` takes. Its events hold what its reader has not seen yet. */
export function createWatch(options: {
  /** Behind what the reader has; absent: from the beginning. */
  readonly from?: Position | undefined;
  readonly clock: Clock;
  /** Aborts when the client has gone, or the endpoint shuts down: then nothing is waited for. */
  readonly signal: AbortSignal;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  /** Reads the rows behind a position. */
  readonly read: (from: Position | undefined) => PageRead | Promise<PageRead>;
  /** Returns the state of the job; undefined if it is gone. */
  readonly state: () => JobState | undefined;
  /** Calls the listener when log or job have changed. Returns a function that stops this. */
  readonly follow: (listener: (what: Changed) => void) => () => void;
}) {
  const { clock, random, read, state } = options;
  let { from } = options;
  let last: string | undefined;
  /** The state that was sent last, if new rows are always told: other changes of the job are then no news. */
  let sentState: string | undefined;
  let lastId = 0;
  let ring = () => {};
  const stopped = new AbortController();
  const over = AbortSignal.any([options.signal, stopped.signal]);

  /** Sends a page if it, or the rest of the observation, is new. Returns whether there are more rows. */
  async function send(page: ObservationSeen, write: WriteEvents): Promise<boolean> {
    const now = state();
    if (now === undefined) return false;
    from = behind(page.rows, from);
    sentState = page.isTold ? JSON.stringify(now) : undefined;
    const observation = observationOf(now, page, from);
    // The observation without its rows: an event that only repeats it is not sent.
    const summary = JSON.stringify({ ...observation, log: [] });
    if (page.rows.length > 0 || summary !== last) {
      last = summary;
      lastId = Math.max(lastId + 1, clock.now());
      await write(eventText("observation", lastId, observation));
    }
    return page.more;
  }

  /** Sends all that is new. Returns when to try again if the owner has no answer. */
  async function drain(write: WriteEvents): Promise<number | undefined> {
    for (;;) {
      const page = await read(from);
      if ("retryAfterMs" in page) return page.retryAfterMs;
      if (!await send(page, write)) return undefined;
    }
  }

  /** Many streams wait for one log: they do not come back together. */
  const pause = (retryMs: number) =>
    clock.sleep(Math.min(retryMs, LONGEST_PAUSE_MS) * (1 + random()), over);

  return {
    follow(listener: () => void): () => void {
      ring = listener;
      const isNews = (what: Changed) =>
        what === "log" || sentState === undefined || sentState !== JSON.stringify(state());
      const stop = options.follow((what) => isNews(what) && listener());
      return () => {
        stopped.abort();
        stop();
      };
    },
    async sendNews(write: WriteEvents): Promise<void> {
      const retryMs = await drain(write);
      if (retryMs === undefined) return;
      pause(retryMs).then(() => over.aborted || ring());
    },
    async sendLast(write: WriteEvents): Promise<StreamEnd | void> {
      for (let tries = 0; tries < LAST_TRIES && !over.aborted; tries++) {
        const retryMs = await drain(write);
        if (retryMs === undefined) return;
        await pause(retryMs);
      }
      return { kind: "reader", why: "the end of the log cannot be read now: connect again" };
    },
  };
}
