/** Request bodies that a server holds: within a budget of bytes, and at a least rate while they arrive. */
import type { IncomingMessage } from "node:http";
import type { FairShare } from "./limits/fair_share.ts";
import { bufferedBytes } from "./limits/runtime_buffers.ts";
import type { BodyRate } from "./limits/server_limits.ts";
import { OverloadedError } from "./message.ts";
import { readBounded } from "./request_body.ts";

/** Bytes that a part of a body takes beside its content. */
const PART_BYTES = 256;

/** A body that is read, or was read and is still in use. */
export class HeldBody {
  readonly #message: IncomingMessage;
  readonly #peer: string;
  readonly #budget: FairShare;
  readonly #sinceMs: number;
  #received = 0;
  #taken = 0;
  #wasSlow = false;
  #isOver = false;

  constructor(message: IncomingMessage, peer: string, budget: FairShare, nowMs: number) {
    this.#message = message;
    this.#peer = peer;
    this.#budget = budget;
    this.#sinceMs = nowMs;
  }

  get message(): IncomingMessage {
    return this.#message;
  }

  /** Reads the body. Throws an {@link OverloadedError} if the budget has no room for it. */
  read(maxBytes: number): Promise<Uint8Array | undefined> {
    return readBounded(this.#message, maxBytes, (bytes) => this.#take(bytes));
  }

  #take(bytes: number): void {
    const received = this.#received + bytes;
    const amount = bytes + PART_BYTES + bufferedBytes(received) - bufferedBytes(this.#received);
    if (this.#isOver || !this.#budget.take(this.#peer, amount)) throw new OverloadedError();
    this.#received = received;
    this.#taken += amount;
  }

  /**
   * Returns whether it came too slowly at two checks in a row: what came while the process was busy is
   * read between them.
   */
  isSlow(nowMs: number, { graceMs, bytesPerSecond }: BodyRate): boolean {
    if (this.#message.complete) return false;
    const isSlow = nowMs - this.#sinceMs > graceMs + 1000 * this.#received / bytesPerSecond;
    const wasSlow = this.#wasSlow;
    this.#wasSlow = isSlow;
    return isSlow && wasSlow;
  }

  /** Gives back what it holds of the budget. */
  release(): void {
    this.#isOver = true;
    if (this.#taken > 0) this.#budget.give(this.#peer, this.#taken);
    this.#taken = 0;
  }
}

/** The bodies that a server holds. */
export interface HeldBodies {
  /** Begins to hold the body of a request, until {@link HeldBodies.release}. */
  hold(message: IncomingMessage, peer: string, nowMs: number): HeldBody;
  release(body: HeldBody): void;
  /** Returns the requests whose bodies come too slowly. */
  slow(nowMs: number): IncomingMessage[];
}

/** Creates {@link HeldBodies}. */
export function createHeldBodies(budget: FairShare, rate: BodyRate): HeldBodies {
  const bodies = new Set<HeldBody>();
  return {
    hold(message, peer, nowMs) {
      const body = new HeldBody(message, peer, budget, nowMs);
      bodies.add(body);
      return body;
    },
    release(body) {
      bodies.delete(body);
      body.release();
    },
    slow: (nowMs) =>
      [...bodies].filter((body) => body.isSlow(nowMs, rate)).map(({ message }) => message),
  };
}
