/** Streamed responses with back-pressure, until they or their readers end. */
import type { ServerResponse } from "node:http";
import { onAbort } from "../base/aborted.ts";
import type { Clock } from "../base/clock.ts";
import type { HttpResponse, ResponseSink } from "./message.ts";

/** Time for a reader to take the end of a response, in milliseconds. */
const FLUSH_MS = 1000;

/** A response whose body is written part by part. */
export interface StreamedResponse extends Pick<HttpResponse, "status" | "headers" | "lastWords"> {
  readonly write: (sink: ResponseSink) => Promise<void>;
}

/** A sink, and how it is taken off its response. */
interface Channel {
  readonly sink: ResponseSink;
  /** Ends writing; a write that still waits resolves. */
  detach(): void;
}

/** Resolves when the response can take more, or when `signal` aborts. */
function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off("drain", go);
      forget();
      resolve();
    };
    response.on("drain", go);
    const forget = onAbort(signal, go);
  });
}

function open(response: ServerResponse, closing: AbortSignal): Channel {
  const over = new AbortController();
  const end = () => over.abort();
  response.once("close", end).once("error", end);
  const forget = onAbort(closing, end);
  if (response.destroyed) end();
  return {
    sink: {
      signal: over.signal,
      async write(part) {
        if (over.signal.aborted || response.write(part)) return;
        await drained(response, over.signal);
      },
    },
    detach() {
      response.off("close", end);
      forget();
      end();
    },
  };
}

/** Ends the response; a reader that does not take its end in time is cut. */
async function finish(response: ServerResponse, clock: Clock, lastWords: string): Promise<void> {
  if (response.destroyed) return;
  const { socket } = response;
  const ended = new AbortController();
  response.once("close", () => ended.abort());
  response.end(lastWords);
  await clock.sleep(FLUSH_MS, ended.signal);
  if (!ended.signal.aborted) socket?.destroy();
}

/**
 * Streams `write` to the client until it resolves, the client leaves, or `closing` aborts. `write` is
 * called once in any case, so that it can release what it holds. The connection ends with the
 * response. If `write` throws, the connection is cut, so that the reader does not take a part for the whole; the error
 * is thrown on if there was a reader.
 */
export async function streamResponse(
  response: ServerResponse,
  { status, headers, write, lastWords = "" }: StreamedResponse,
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
): Promise<void> {
  const { sink, detach } = open(response, closing);
  if (!response.destroyed) {
    response.writeHead(status, { ...headers, "Connection": "close" });
    response.flushHeaders();
  }
  try {
    await write(sink);
  } catch (error) {
    const isAwaited = !sink.signal.aborted;
    response.destroy();
    if (isAwaited) throw error;
  } finally {
    detach();
    await finish(response, clock, closing.aborted ? lastWords : "");
  }
}
