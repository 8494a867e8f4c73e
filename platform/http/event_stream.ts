/** Streams of server-sent events, with comments that keep them alive, and re-authorization. */
import type { Clock } from "../base/clock.ts";
import { answerInTime } from "../base/deadline.ts";
import { createSleeper, type Sleeper } from "../base/sleeper.ts";
import type { HttpResponse, ResponseSink } from "./message.ts";

/** End of a job. */
export type JobEnd = "Complete" | "Failed" | "Deleted";

/** Reason for which a stream ends on its own. */
export type StreamEnd =
  /** The job has ended, or is gone: `event: end` is sent. */
  | { readonly kind: "job"; readonly reason: JobEnd }
  /** The reader may not read on: a comment says so, then the connection is closed. */
  | { readonly kind: "reader"; readonly why: string };

/** What a check of a reader came to. */
export type Reauthorization = StreamEnd | "later" | undefined;

/** Writes to the reader. Throws if it does not take the text in time. */
export type WriteEvents = (text: string) => Promise<void>;

/** Options of {@link runEventLoop}. */
export interface EventLoopOptions {
  readonly sink: ResponseSink;
  readonly clock: Clock;
  /** Wall-clock time in milliseconds after which the reader's token is no good. */
  readonly expiresMs: number;
  /** Calls the listener when there may be something new. Returns how to stop that. */
  readonly follow: (listener: () => void) => () => void;
  /** Calls the listener when the job has ended, at once if it has. Returns how to stop that. */
  readonly onJobEnd: (listener: (reason: JobEnd) => void) => () => void;
  /** Sends what is new, if there is something. What it returns ends the stream. */
  readonly sendNews: (write: WriteEvents) => Promise<StreamEnd | void>;
  /**
   * Sends what is left once the job has ended; not called for one that is gone. What it returns ends
   * the stream instead of `event: end`.
   */
  readonly sendLast: (write: WriteEvents) => Promise<StreamEnd | void>;
  /**
   * Returns undefined if the reader may read on, else what ends the stream; `later` if the reader itself asks too much
   * for it to be known now. Throws if it is unknown for another reason.
   */
  readonly reauthorize: () => Promise<Reauthorization>;
  /** Returns what a reader is told that may not read on. Default: a comment. */
  readonly farewell?: ((why: string) => string) | undefined;
  /** 0 to 1, for the pause before the reader connects again. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Time between two comment lines, in milliseconds. */
const COMMENT_MS = 15_000;
/** Between two re-authorizations of the reader, in milliseconds. */
const REAUTHORIZE_MS = 60_000;
/** The same where the reader is too busy to be checked, and how long that may last. */
const AGAIN_MS = 5_000;
const MAX_LATE_MS = 15_000;
const TOO_BUSY: StreamEnd = {
  kind: "reader",
  why: "too much is asked at once for your rights to be checked: connect again later",
};
/** A write that the reader does not take in this time ends the stream, in milliseconds. */
const STALL_MS = 30_000;
/** The same of one that is under way when the reader is to be checked. */
const STALL_AT_CHECK_MS = 5_000;

/** One event. `data` is written as one line of JSON. */
export function eventText(event: string, id: number | undefined, data: unknown): string {
  return eventOfJson(event, id, JSON.stringify(data));
}

/** The same of data that is JSON already, on one line. */
export function eventOfJson(event: string, id: number | undefined, json: string): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${idLine}data: ${json}\n\n`;
}

/** A line that clients ignore. */
export const commentText = (text: string): string => `: ${text}\n\n`;

/** The reader is too slow, or gone. */
class ReaderGoneError extends Error {}

/** What is being sent stops here: the reader may not read on. */
class StreamEndedError extends Error {
  constructor(readonly end: StreamEnd) {
    super("the stream is over");
  }
}

/** Next work of a stream, as its notifications come. */
class Mailbox {
  isNews = false;
  end: StreamEnd | undefined;

  constructor(readonly sleeper: Sleeper) {}

  /** Something may be new. */
  ring(): void {
    this.isNews = true;
    this.sleeper.wake();
  }

  /** It is over; the first reason counts. */
  close(end: StreamEnd): void {
    this.end ??= end;
    this.sleeper.wake();
  }
}

/**
 * Writes to the sink. Throws {@link ReaderGoneError} if the reader does not take the text in time, of which there is
 * less when a check is due: a slow reader does not put it off.
 */
function createWriter(
  { sink, clock }: EventLoopOptions,
  { checkInMs }: Pick<Ticks, "checkInMs">,
): WriteEvents {
  return async (text) => {
    const stallMs = Math.min(STALL_MS, checkInMs() + STALL_AT_CHECK_MS);
    const written = () => sink.write(text);
    const outcome = await answerInTime(clock, stallMs, "late", written, sink.signal);
    if (outcome === "late" || sink.signal.aborted) throw new ReaderGoneError();
  };
}

function createTicks(options: EventLoopOptions) {
  const { clock, expiresMs, reauthorize } = options;
  let commentMs = clock.monotonic() + COMMENT_MS;
  let checkMs = clock.monotonic() + REAUTHORIZE_MS;
  let lateSinceMs: number | undefined;

  async function ask(): Promise<StreamEnd | undefined> {
    const nowMs = clock.monotonic();
    checkMs = nowMs + REAUTHORIZE_MS;
    // An API server without an answer takes no rights away; the next check decides.
    const answer = await reauthorize().catch(() => undefined);
    if (answer !== "later") {
      lateSinceMs = undefined;
      return answer;
    }
    // Whoever uses up its own checks must not read on without one.
    lateSinceMs ??= nowMs;
    if (nowMs - lateSinceMs >= MAX_LATE_MS) return TOO_BUSY;
    checkMs = nowMs + AGAIN_MS;
    return undefined;
  }

  const checkInMs = () =>
    Math.max(0, Math.min(checkMs - clock.monotonic(), expiresMs - clock.now()));
  return {
    /** Milliseconds until the reader is to be checked, or its token expires. */
    checkInMs,
    /** Milliseconds until something is due. */
    waitMs: (): number => Math.max(1, Math.min(commentMs - clock.monotonic(), checkInMs())),
    /** Checks the reader if that is due. Returns what ends the stream. */
    async check(): Promise<StreamEnd | undefined> {
      if (clock.now() >= expiresMs) {
        return { kind: "reader", why: "the token has expired: connect again with a new one" };
      }
      return clock.monotonic() >= checkMs ? await ask() : undefined;
    },
    /** Writes a comment if that is due. */
    async comment(write: WriteEvents): Promise<void> {
      if (clock.monotonic() < commentMs) return;
      commentMs = clock.monotonic() + COMMENT_MS;
      await write(commentText("still there"));
    },
  };
}

/** Comments and re-authorizations, each when it is due. */
type Ticks = ReturnType<typeof createTicks>;

async function finish(
  end: StreamEnd,
  write: WriteEvents,
  { sendLast, farewell = (why) => commentText(`ended: ${why}`) }: EventLoopOptions,
): Promise<void> {
  const instead = end.kind === "job" && end.reason !== "Deleted"
    ? await sendLast(write)
    : undefined;
  const last = instead ?? end;
  if (last.kind === "reader") return await write(farewell(last.why));
  await write(eventText("end", undefined, { reason: last.reason }));
}

async function sendAll(
  mailbox: Mailbox,
  { ticks, write }: { readonly ticks: Ticks; readonly write: WriteEvents },
  options: EventLoopOptions,
): Promise<void> {
  const { sink, sendNews, random = Math.random } = options;
  const check = async () => {
    const end = await ticks.check();
    if (end !== undefined) throw new StreamEndedError(end);
  };
  await write(`retry: ${Math.round(1000 + 2000 * random())}\n\n`);
  while (!sink.signal.aborted) {
    await check();
    await ticks.comment(write);
    const { isNews } = mailbox;
    mailbox.isNews = false;
    if (isNews) {
      // News may be much, and the reader slow.
      const end = await sendNews(async (text) => {
        await check();
        await write(text);
      });
      if (end !== undefined) return await finish(end, write, options);
    }
    if (mailbox.isNews) continue;
    if (mailbox.end !== undefined) return await finish(mailbox.end, write, options);
    await mailbox.sleeper.sleep(ticks.waitMs(), sink.signal);
  }
}

/**
 * Sends what is new as it comes, a comment line every 15 s, and `event: end` when the job ends.
 * Resolves when the stream is over: then the sink may be closed. A reader that takes nothing for 30 s
 * is cut.
 */
export async function runEventLoop(options: EventLoopOptions): Promise<void> {
  const mailbox = new Mailbox(createSleeper(options.clock));
  const ticks = createTicks(options);
  const write = createWriter(options, ticks);
  const stops = [
    options.onJobEnd((reason) => mailbox.close({ kind: "job", reason })),
    options.follow(() => mailbox.ring()),
  ];
  try {
    await sendAll(mailbox, { ticks, write }, options).catch(async (error: unknown) => {
      if (!(error instanceof StreamEndedError)) throw error;
      await finish(error.end, write, options);
    });
  } catch (error) {
    if (!(error instanceof ReaderGoneError)) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

/**
 * Returns the response that streams events. `slot` is released once, whatever becomes of the client. `lastWords` are
 * written if the server shuts down meanwhile.
 */
export function eventStreamResponse(
  slot: { release(): void },
  run: (sink: ResponseSink) => Promise<void>,
  lastWords?: string,
): HttpResponse {
  return {
    ...(lastWords !== undefined && { lastWords }),
    status: 200,
    headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-store" },
    body: "",
    stream: (sink) => run(sink).finally(() => slot.release()),
  };
}
