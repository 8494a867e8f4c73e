/** A job's status as server-sent events, for as long as its reader may have them. */
import type { Clock } from "../../kube/clock.ts";
import type { EventSink } from "../chain/answer.ts";
import { isNews, type JobStatus, statusView, timeOf } from "./reading.ts";

/** Why a stream ends by itself. */
export type StreamEnd =
  /** The job has ended, or is gone: the reader is told by `event: end`. */
  | { readonly kind: "job"; readonly reason: "Complete" | "Failed" | "Deleted" }
  /** The reader may have it no longer: told by a comment, then the connection is closed. */
  | { readonly kind: "reader"; readonly why: string };

/** Options of {@link runEventStream}. */
export interface EventStreamOptions {
  readonly sink: EventSink;
  readonly clock: Clock;
  /** Wall-clock time in milliseconds after which the reader's token is no good. */
  readonly expiresMs: number;
  /** Follows the job's status; answers how to stop that. */
  readonly follow: (listener: (status: JobStatus) => void) => () => void;
  /** Hears that the job has ended; answers how to stop that. Called at once where it has. */
  readonly onJobEnd: (listener: (reason: JobEnd) => void) => () => void;
  /** The newest status at the job's end; undefined where it cannot be had. */
  readonly lastStatus: () => Promise<JobStatus | undefined>;
  /** Whether the reader may read on: undefined, or what ends the stream. Throws where unknown. */
  readonly reauthorize: () => Promise<StreamEnd | undefined>;
  /** 0 to 1: how long the reader is told to wait before it comes again. Default `Math.random`. */
  readonly random?: () => number;
}

/** How the job ended. */
export type JobEnd = Extract<StreamEnd, { kind: "job" }>["reason"];

/** Between two comment lines (milepost.md, messages), in milliseconds. */
const COMMENT_MS = 15_000;
/** Between two looks whether the reader may still read, in milliseconds. */
const REAUTHORIZE_MS = 60_000;
/** A write that the reader does not take in this time ends the stream, in milliseconds. */
const STALL_MS = 30_000;

/** One event. `data` is written as one line of JSON. */
export function eventText(event: string, id: number | undefined, data: unknown): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${idLine}data: ${JSON.stringify(data)}\n\n`;
}

/** A line that clients ignore. */
export const commentText = (text: string): string => `: ${text}\n\n`;

/** The reader is too slow, or gone. */
class ReaderGoneError extends Error {}

/** What there is to send next; one value at most, whatever comes meanwhile. */
class Mailbox {
  next: JobStatus | undefined;
  end: StreamEnd | undefined;
  #wake: (() => void) | undefined;

  /** Changes it, and wakes who waits. */
  put(change: { readonly next?: JobStatus; readonly end?: StreamEnd }): void {
    this.next = change.next ?? this.next;
    this.end ??= change.end;
    this.#wake?.();
  }

  /** Waits for a change, at most `ms`. */
  async wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const wake = () => over.abort();
    this.#wake = wake;
    signal.addEventListener("abort", wake, { once: true });
    if (signal.aborted) wake();
    await clock.sleep(ms, over.signal);
    signal.removeEventListener("abort", wake);
    this.#wake = undefined;
  }
}

/** Writes to the sink; throws {@link ReaderGoneError} where the reader does not take it in time. */
async function writeInTime({ sink, clock }: EventStreamOptions, text: string): Promise<void> {
  const done = new AbortController();
  const end = () => done.abort();
  sink.signal.addEventListener("abort", end, { once: true });
  const late = clock.sleep(STALL_MS, done.signal).then(() => "late" as const);
  try {
    const outcome = await Promise.race([sink.write(text), late]);
    if (outcome === "late" || sink.signal.aborted) throw new ReaderGoneError();
  } finally {
    end();
    sink.signal.removeEventListener("abort", end);
  }
}

/** Sends statuses, each newer than the one before, with ids that increase. */
function createSender(options: EventStreamOptions) {
  let last: JobStatus | undefined;
  let lastId = 0;
  return async (status: JobStatus | undefined): Promise<void> => {
    if (status === undefined || !isNews(status, last)) return;
    last = status;
    lastId = Math.max(lastId + 1, timeOf(status.receivedTime));
    await writeInTime(options, eventText("status", lastId, statusView(status)));
  };
}

/** Comments and re-authorizations, each when it is due. */
function createTicks(options: EventStreamOptions) {
  const { clock, expiresMs, reauthorize } = options;
  let commentMs = clock.monotonic() + COMMENT_MS;
  let checkMs = clock.monotonic() + REAUTHORIZE_MS;

  async function check(): Promise<StreamEnd | undefined> {
    checkMs = clock.monotonic() + REAUTHORIZE_MS;
    // An API server without answer takes nobody's rights away; the next look decides.
    return await reauthorize().catch(() => undefined);
  }

  return {
    /** Milliseconds until something is due. */
    waitMs: () =>
      Math.max(
        1,
        Math.min(Math.min(commentMs, checkMs) - clock.monotonic(), expiresMs - clock.now()),
      ),
    /** Does what is due; answers what ends the stream. */
    async run(): Promise<StreamEnd | undefined> {
      if (clock.now() >= expiresMs) {
        return { kind: "reader", why: "the token has expired: come again with a new one" };
      }
      if (clock.monotonic() >= checkMs) return await check();
      if (clock.monotonic() >= commentMs) {
        commentMs = clock.monotonic() + COMMENT_MS;
        await writeInTime(options, commentText("still there"));
      }
      return undefined;
    },
  };
}

async function finish(
  end: StreamEnd,
  send: ReturnType<typeof createSender>,
  options: EventStreamOptions,
): Promise<void> {
  if (end.kind === "reader") return await writeInTime(options, commentText(`ended: ${end.why}`));
  if (end.reason !== "Deleted") await send(await options.lastStatus());
  await writeInTime(options, eventText("end", undefined, { reason: end.reason }));
}

async function sendAll(mailbox: Mailbox, options: EventStreamOptions): Promise<void> {
  const { sink, clock, random = Math.random } = options;
  const send = createSender(options);
  const ticks = createTicks(options);
  await writeInTime(options, `retry: ${Math.round(1000 + 2000 * random())}\n\n`);
  while (!sink.signal.aborted) {
    const stop = await ticks.run();
    if (stop !== undefined) return await finish(stop, send, options);
    const { next } = mailbox;
    mailbox.next = undefined;
    await send(next);
    if (mailbox.next !== undefined) continue;
    if (mailbox.end !== undefined) return await finish(mailbox.end, send, options);
    await mailbox.wait(clock, ticks.waitMs(), sink.signal);
  }
}

/**
 * Sends the current status and each newer one, a comment line every 15 s, and `event: end` when the
 * job ends. Resolves when the stream is over: then the sink may be closed. A reader that is slow gets
 * the newest status only; one that takes nothing for 30 s is cut.
 */
export async function runEventStream(options: EventStreamOptions): Promise<void> {
  const mailbox = new Mailbox();
  const stops = [
    options.onJobEnd((reason) => mailbox.put({ end: { kind: "job", reason } })),
    options.follow((next) => mailbox.put({ next })),
  ];
  try {
    await sendAll(mailbox, options);
  } catch (error) {
    if (!(error instanceof ReaderGoneError)) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}
