/** Feed of what is shown: one stream that comes back by itself. */
import { CallError, problemOf, send } from "./server_calls.ts";
import { createEventParser } from "../../../platform/base/event_parser.ts";
import { backoffMs } from "../../../platform/base/backoff.ts";
import { type Connection, connectionAfterFailure, type FeedOptions, RETRY } from "./view_state.ts";

/** The server says something at least every 15 s; after this time without a word the stream is dead. */
const SILENCE_MS = 40_000;
/** Refusals after which another try of the same would be refused too. */
const FINAL: readonly number[] = [400, 401, 403, 404, 422];

/** Time between two checks for how long nothing was heard, in milliseconds. */
const CHECK_MS = 5_000;

/** Most characters of an event that has no end yet. */
const MOST_CHARACTERS = 8_000_000;

/** When the server was last heard. */
interface Hearing {
  ms: number;
}

/** Reads a stream to its end. Returns why it ended. */
async function readStream(
  { path, key, onEvent }: FeedOptions,
  signal: AbortSignal,
  heard: Hearing,
  onOpen: () => void,
): Promise<string> {
  const silence = new AbortController();
  let timer = 0;
  let why = "the server ended the stream";
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const { body } = await send({ path, key, signal: either, streamed: true });
    if (body === null) return why;
    heard.ms = Date.now();
    onOpen();
    // By the time of day: of a computer that slept, the stream is found dead as soon as it wakes.
    timer = setInterval(() => Date.now() - heard.ms > SILENCE_MS && silence.abort(), CHECK_MS);
    const parse = createEventParser(MOST_CHARACTERS);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return why;
      heard.ms = Date.now();
      for (const part of parse(value)) {
        if (part.kind === "event") onEvent(part.event, JSON.parse(part.data));
        else if (part.text.startsWith("ended:")) why = part.text.slice("ended:".length).trim();
      }
    }
  } catch (error) {
    if (silence.signal.aborted) return "nothing was heard from the server";
    if (error instanceof CallError) throw error;
    return "the connection broke";
  } finally {
    clearInterval(timer);
  }
}

/** Waits, but not beyond the moment at which the network or the viewer comes back. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      globalThis.removeEventListener("online", done);
      page?.removeEventListener("visibilitychange", onVisible);
      signal.removeEventListener("abort", done);
      resolve();
    };
    // A worker has no document.
    const page = typeof document === "undefined" ? undefined : document;
    const onVisible = () => page?.visibilityState === "visible" && done();
    const timer = setTimeout(done, ms);
    globalThis.addEventListener("online", done);
    page?.addEventListener("visibilitychange", onVisible);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

/** Opens a feed. Returns a function that closes it. */
export function openFeed(options: FeedOptions): () => void {
  const stop = new AbortController();
  let connection: Connection = { phase: "connecting" };
  const become = (next: Connection) => {
    connection = next;
    if (!stop.signal.aborted) options.onConnection(next);
  };
  const heard: Hearing = { ms: Date.now() };
  const run = async () => {
    let failures = 0;
    while (!stop.signal.aborted) {
      let reason: string;
      try {
        reason = await readStream(options, stop.signal, heard, () => {
          failures = 0;
          become({ phase: "live" });
        });
      } catch (error) {
        const { status, message } = problemOf(error);
        if (FINAL.includes(status)) return become({ phase: "refused", status, reason: message });
        reason = message;
      }
      if (stop.signal.aborted) return;
      failures++;
      become(connectionAfterFailure(connection, heard.ms, reason));
      await pause(backoffMs(failures, RETRY, Math.random), stop.signal);
    }
  };
  options.onConnection(connection);
  run();
  return () => stop.abort();
}
