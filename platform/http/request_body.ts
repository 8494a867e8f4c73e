/** Bounded reading of bodies, and the discard of their rest. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import { Bucket, type BucketLimits } from "../base/token_bucket.ts";
import { ClientGoneError } from "./message.ts";

/** Time for which the rest of a body is discarded before the connection is closed, in milliseconds. */
const DISCARD_MS = 1000;
/** Bytes that a server discards a second: to decrypt what was refused must not cost more than the rest. */
const DISCARD_RATE: BucketLimits = { ratePerSecond: 8_388_608, burst: 8_388_608 };
/** Room for the first parts of a body that does not say its length. */
const FIRST_BYTES = 16_384;

/** Returns the length that a body says it has; undefined if it says none. */
export function declaredLength({ headers }: Pick<IncomingMessage, "headers">): number | undefined {
  if (headers["transfer-encoding"] !== undefined) return undefined;
  return Number(headers["content-length"] ?? 0);
}

/** Returns a part of a body for keeping: a copy if it would keep a much larger buffer from being freed. */
function kept(part: Uint8Array): Uint8Array {
  return part.buffer.byteLength > 2 * part.length + 1024 ? new Uint8Array(part) : part;
}

/** Bytes in one buffer, so that the buffers of parts, which may be larger than these, are soon free. */
class JoinedParts {
  #all: Uint8Array = new Uint8Array(0);
  /** The buffer, if it was made here. */
  #made: ArrayBuffer | undefined;
  #length = 0;

  /** `declared`: the length of the whole, if it is known; it is `maxBytes` at most. */
  constructor(private readonly declared: number | undefined, private readonly maxBytes: number) {}

  add(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (this.#length === 0 && length === this.declared) this.#all = kept(part);
    else {
      if (length > this.#all.length) this.#grow(length);
      this.#all.set(part, this.#length);
    }
    this.#length = length;
  }

  #grow(least: number): void {
    const wanted = Math.max(this.declared ?? FIRST_BYTES, least, 2 * this.#all.length);
    const length = Math.min(wanted, this.maxBytes);
    // The smaller buffer is free at once.
    const moved = this.#made?.transfer(length);
    this.#made = moved ?? new ArrayBuffer(length);
    const grown = new Uint8Array(this.#made);
    if (moved === undefined) grown.set(this.#all);
    this.#all = grown;
  }

  /** Frees what nobody will read at once. */
  drop(): void {
    this.#made?.transfer(0);
  }

  end(): Uint8Array {
    return this.#all.subarray(0, this.#length);
  }
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
    const declared = declaredLength(message);
    const isTooLong = declared !== undefined && declared > maxBytes;
    let parts: JoinedParts | undefined = new JoinedParts(
      isTooLong ? undefined : declared,
      maxBytes,
    );
    let length = 0;
    const fail = (error: unknown) => {
      parts?.drop();
      parts = undefined;
      reject(error);
    };
    message.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (parts === undefined) return;
      if (length > maxBytes) {
        parts.drop();
        parts = undefined;
        return resolve(undefined);
      }
      try {
        onPart(chunk.length);
        parts.add(chunk);
      } catch (error) {
        fail(error);
      }
    });
    // The listeners stay: to take four of them off costs more than they do. What comes first counts.
    message.on("end", () => {
      resolve(parts?.end());
      parts = undefined;
    });
    // Each request closes: an error that nobody is told of would cost a twentieth of a push.
    const leave = (cause?: unknown) => {
      if (parts !== undefined) fail(new ClientGoneError(cause === undefined ? {} : { cause }));
    };
    message.on("close", () => leave());
    message.on("error", leave);
  });
}

/**
 * Gives a client a moment to send the rest of an unread body, so that it can read the response. `read` begins to read
 * what was left to the kernel.
 */
export type DiscardRest = (message: IncomingMessage, read: () => void) => Promise<void>;

/** Creates a {@link DiscardRest} of a server. Beyond its rate connections are closed at once. */
export function createDiscardRest(clock: Clock, onReceive: (bytes: number) => void): DiscardRest {
  const discarded = new Bucket(DISCARD_RATE);
  const hasRoom = (bytes: number) => discarded.take(clock.monotonic(), bytes) === 0;

  return async (message, read) => {
    const { socket } = message;
    if (message.complete || socket.destroyed) return;
    const declared = declaredLength(message);
    // Much may come before a connection is closed, so what was announced counts before anything is read.
    if (declared !== undefined && !hasRoom(declared)) return socket.destroySoon();
    const ended = new AbortController();
    const end = () => ended.abort();
    message.once("close", end).once("end", end);
    message.on("data", ({ length }: Uint8Array) => {
      onReceive(length);
      if (declared === undefined && !hasRoom(length)) socket.destroy();
    });
    socket.once("close", end);
    message.resume();
    read();
    await clock.sleep(DISCARD_MS, ended.signal);
    socket.off("close", end);
    if (!message.complete) socket.destroy();
  };
}
