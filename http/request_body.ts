/** Bounded reading of bodies, and the discard of their rest. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../kube/clock.ts";
import { type Bucket, type BucketLimits, take } from "./limits/token_bucket.ts";
import { ClientGoneError } from "./message.ts";

/** Time for which the rest of a body is discarded before the connection is closed, in milliseconds. */
const DISCARD_MS = 1000;
/** Bytes that a server discards a second: to decrypt what was refused must not cost more than the rest. */
const DISCARD_RATE: BucketLimits = { ratePerSecond: 8_388_608, burst: 33_554_432 };

/** Returns a part of a body for keeping: a copy if it would keep a much larger buffer from being freed. */
function kept(part: Uint8Array): Uint8Array {
  return part.buffer.byteLength > 2 * part.length + 1024 ? new Uint8Array(part) : part;
}

/**
 * Reads a body. Returns undefined, and keeps the connection, if it is longer than `maxBytes`. `onPart` is
 * called with the length of each part before that is kept; if it throws, the promise rejects.
 */
export function readBounded(
  message: IncomingMessage,
  maxBytes: number,
  onPart: (bytes: number) => void = () => {},
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    let chunks: Uint8Array[] = [];
    let length = 0;
    let done = false;
    // The listeners stay: to take four of them off costs more than they do.
    const finish = (settle: () => void) => {
      if (done) return;
      done = true;
      settle();
      chunks = [];
    };
    message.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (length > maxBytes) return finish(() => resolve(undefined));
      if (done) return;
      try {
        onPart(chunk.length);
        chunks.push(kept(chunk));
      } catch (error) {
        finish(() => reject(error));
      }
    });
    message.on("end", () => {
      finish(() => resolve(chunks.length === 1 ? chunks[0] : join(chunks, length)));
    });
    message.on("close", () => finish(() => reject(new ClientGoneError())));
    message.on("error", (cause: unknown) => finish(() => reject(new ClientGoneError({ cause }))));
  });
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}

/** Gives a client a moment to send the rest of an unread body, so that it can read the response. */
export type DiscardRest = (message: IncomingMessage) => Promise<void>;

/** Creates a {@link DiscardRest} of a server. Beyond its rate connections are closed at once. */
export function createDiscardRest(clock: Clock): DiscardRest {
  let discarded: Bucket | undefined;
  return async (message) => {
    const { socket } = message;
    if (message.complete || socket.destroyed) return;
    const ended = new AbortController();
    const end = () => ended.abort();
    message.once("close", end).once("end", end);
    message.on("data", ({ length }: Uint8Array) => {
      const taken = take(discarded, clock.monotonic(), DISCARD_RATE, length);
      discarded = taken.bucket;
      if (taken.waitMs > 0) socket.destroy();
    });
    socket.once("close", end);
    message.resume();
    await clock.sleep(DISCARD_MS, ended.signal);
    socket.off("close", end);
    if (!message.complete) socket.destroy();
  };
}
