/** Sends an answer that goes on, with back-pressure, until it or its reader ends. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../kube/clock.ts";
import type { HttpResponse, ResponseSink } from "./message.ts";

/** What a reader that takes nothing any more has to take the rest, in milliseconds. */
const FLUSH_MS = 1000;

/** An answer whose body is written bit by bit. */
export interface StreamedAnswer extends Pick<HttpResponse, "status" | "headers"> {
  readonly write: (sink: ResponseSink) => Promise<void>;
}

/** What the sink writes to, and the end of it. */
interface Channel {
  readonly sink: ResponseSink;
  /** Nothing is written any more; a write that still waits resolves. */
  detach(): void;
}

/** Resolves when the response can take more, or when `signal` aborts. */
function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off("drain", go);
      signal.removeEventListener("abort", go);
      resolve();
    };
    response.on("drain", go);
    signal.addEventListener("abort", go);
    if (signal.aborted) go();
  });
}

function open(response: ServerResponse, closing: AbortSignal): Channel {
  const over = new AbortController();
  const end = () => over.abort();
  response.once("close", end).once("error", end);
  closing.addEventListener("abort", end);
  if (closing.aborted || response.destroyed) end();
  return {
    sink: {
      signal: over.signal,
      async write(text) {
        if (over.signal.aborted || response.write(text)) return;
        await drained(response, over.signal);
      },
    },
    detach() {
      response.off("close", end);
      closing.removeEventListener("abort", end);
      end();
    },
  };
}

/** Ends the answer; a reader that does not take its end in time is cut. */
async function finish(response: ServerResponse, clock: Clock): Promise<void> {
  if (response.destroyed) return;
  const { socket } = response;
  const ended = new AbortController();
  response.once("close", () => ended.abort());
  response.end();
  await clock.sleep(FLUSH_MS, ended.signal);
  if (!ended.signal.aborted) socket?.destroy();
}

/**
 * Streams `write` to the client until it resolves, the client goes, or `closing` aborts. It is called
 * once whatever happens, so that it can give back what it holds. The connection ends with the answer.
 */
export async function streamAnswer(
  response: ServerResponse,
  { status, headers, write }: StreamedAnswer,
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
): Promise<void> {
  const { sink, detach } = open(response, closing);
  if (!response.destroyed) {
    response.writeHead(status, { ...headers, "Connection": "close" });
    response.flushHeaders();
  }
  try {
    await write(sink);
  } finally {
    detach();
    await finish(response, clock);
  }
}
