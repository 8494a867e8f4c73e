/** Observation as server-sent events: every row of the log once, and each change of the state. */
import type { Position } from "../../crds/wire/observation.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { ObservationSeen } from "../../owner/observations/observation_asks.ts";
import { eventText, type StreamEnd, type WriteEvents } from "../../platform/http/event_stream.ts";
import { type JobState, observationOf } from "./observation_state.ts";
import { type Changed, pauseMs, SentJob } from "./sent_job.ts";

/** A page, or when to come again. */
export type PageRead = ObservationSeen | { readonly retryAfterMs: number; readonly reason: string };

/** Tries to read the last rows at a job's end while the owner has no answer. */
const LAST_TRIES = 5;

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
  const { clock, random, read } = options;
  const sent = new SentJob({ ...options, tell: observationOf });
  let lastId = 0;
  let ring = () => {};
  const stopped = new AbortController();
  const over = AbortSignal.any([options.signal, stopped.signal]);

  /** Sends a page if it, or the rest of the observation, is new. Returns whether there are more rows. */
  async function send(page: ObservationSeen, write: WriteEvents): Promise<boolean> {
    if (!sent.look()) return false;
    const observation = sent.news(page);
    if (observation !== undefined) {
      lastId = Math.max(lastId + 1, clock.now());
      await write(eventText("observation", lastId, observation));
    }
    return page.more;
  }

  /** Sends all that is new. Returns when to try again if the owner has no answer. */
  async function drain(write: WriteEvents): Promise<number | undefined> {
    for (;;) {
      const page = await read(sent.from);
      if ("retryAfterMs" in page) return page.retryAfterMs;
      if (!await send(page, write)) return undefined;
    }
  }

  const pause = (retryMs: number) => clock.sleep(pauseMs(retryMs, random), over);

  return {
    follow(listener: () => void): () => void {
      ring = listener;
      const stop = options.follow((what) => sent.isNews(what) && listener());
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
