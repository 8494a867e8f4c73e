/** Request bodies that a server holds: within a budget of bytes, and at a least rate while they arrive. */
import type { IncomingMessage } from "node:http";
import type { FairShare } from "./limits/fair_share.ts";
import { bufferedBytes, READ_BYTES } from "./limits/runtime_buffers.ts";
import type { BodyRate } from "./limits/server_limits.ts";
import { ClientGoneError, OverloadedError } from "./message.ts";
import { declaredLength, readBounded } from "./request_body.ts";

/** Bytes that a body takes beside its content. */
const BODY_BYTES = 256;
/** Longest wait of a long body for room, in milliseconds: those that are slow are ended within it. */
const WAIT_MS = 5_000;

/** Returns whether a body may be longer than one read of the runtime: what comes of it is left to the kernel until it is wanted. */
export function isLong(message: Pick<IncomingMessage, "headers">): boolean {
  return (declaredLength(message) ?? Infinity) > READ_BYTES;
}

/** What bodies are held with. */
export interface BodyMeans {
  readonly budget: FairShare;
  readonly rate: BodyRate;
  /** Begins to read what was left to the kernel. */
  readonly read: (message: IncomingMessage) => void;
  /** Called with the bytes of a long body as they come. */
  readonly onReceive: (bytes: number) => void;
  /** Those that wait for room, the oldest first. */
  readonly waiting: Set<HeldBody>;
}

/** A body that is read, or was read and is still in use. */
export class HeldBody {
  #sinceMs: number;
  #received = 0;
  #checkedMs = 0;
  #receivedThen = 0;
  #taken = 0;
  #wasSlow = false;
  #isOver = false;
  /** Takes its place and ends its wait if there is room now, or ends it with an error. */
  #enter: ((end: number | Error) => void) | undefined;

  constructor(
    readonly message: IncomingMessage,
    private readonly peer: string,
    private readonly means: BodyMeans,
    nowMs: number,
  ) {
    this.#sinceMs = nowMs;
  }

  /**
   * Reads the body, all of which has a place in the budget before the first part is taken. A long one waits for it.
   * Throws an {@link OverloadedError} if there is no room.
   */
  async read(maxBytes: number): Promise<Uint8Array | undefined> {
    const { message } = this;
    const length = declaredLength(message) ?? maxBytes;
    if (length > maxBytes) return undefined;
    if (!this.#take(length)) await this.#room(length);
    this.means.read(message);
    return await readBounded(message, maxBytes, (bytes) => this.#receive(bytes));
  }

  #take(length: number): boolean {
    if (length === 0) return true;
    const amount = length + BODY_BYTES + bufferedBytes(length);
    if (this.#isOver || !this.means.budget.take(this.peer, amount)) return false;
    this.#taken = amount;
    return true;
  }

  #room(length: number): Promise<void> {
    if (!isLong(this.message)) throw new OverloadedError();
    const { message } = this;
    const { waiting } = this.means;
    return new Promise((resolve, reject) => {
      const leave = () => this.#enter?.(new ClientGoneError());
      this.#enter = (end) => {
        if (typeof end === "number" && !this.#take(length)) return;
        this.#enter = undefined;
        waiting.delete(this);
        message.off("close", leave);
        if (typeof end !== "number") return reject(end);
        this.#sinceMs = end;
        resolve();
      };
      waiting.add(this);
      message.once("close", leave);
    });
  }

  /** Takes its place if there is room now, or gives up a wait that is too long. */
  enter(nowMs: number): void {
    this.#enter?.(nowMs);
    if (nowMs - this.#sinceMs >= WAIT_MS) this.#enter?.(new OverloadedError());
  }

  #receive(bytes: number): void {
    if (this.#isOver) throw new OverloadedError();
    this.#received += bytes;
    if (isLong(this.message)) this.means.onReceive(bytes);
  }

  /**
   * Returns whether it came too slowly at two checks in a row: what came while the process was busy is
   * read between them. While others wait for its room, what counts is what came since the last check.
   */
  isSlow(nowMs: number, othersWait: boolean): boolean {
    if (this.message.complete || this.#enter !== undefined) return false;
    const { graceMs, bytesPerSecond } = this.means.rate;
    const leastOf = (ms: number) => bytesPerSecond * ms / 1000;
    const ageMs = nowMs - this.#sinceMs;
    const came = this.#received - this.#receivedThen;
    const isSlow = ageMs > graceMs &&
      (this.#received < leastOf(ageMs - graceMs) ||
        othersWait && came < leastOf(nowMs - this.#checkedMs));
    const wasSlow = this.#wasSlow;
    [this.#wasSlow, this.#checkedMs, this.#receivedThen] = [isSlow, nowMs, this.#received];
    return isSlow && wasSlow;
  }

  /** Gives back what it holds of the budget. Returns whether that is anything. */
  release(): boolean {
    this.#isOver = true;
    if (this.#taken === 0) return false;
    this.means.budget.give(this.peer, this.#taken);
    this.#taken = 0;
    return true;
  }
}

/** The bodies that a server holds. */
export type HeldBodies = ReturnType<typeof createHeldBodies>;

/** Creates {@link HeldBodies}. */
export function createHeldBodies(options: Omit<BodyMeans, "waiting">) {
  const bodies = new Set<HeldBody>();
  const waiting = new Set<HeldBody>();
  const means = { ...options, waiting };
  const letIn = (nowMs: number) => waiting.forEach((body) => body.enter(nowMs));

  return {
    /** Begins to hold the body of a request, until {@link HeldBodies.release}. */
    hold(message: IncomingMessage, peer: string, nowMs: number): HeldBody {
      const body = new HeldBody(message, peer, means, nowMs);
      bodies.add(body);
      return body;
    },
    release(body: HeldBody, nowMs: number): void {
      bodies.delete(body);
      if (body.release()) letIn(nowMs);
    },
    /** Lets those in that wait, and returns the requests whose bodies come too slowly. */
    check(nowMs: number): IncomingMessage[] {
      letIn(nowMs);
      return [...bodies].filter((body) => body.isSlow(nowMs, waiting.size > 0))
        .map(({ message }) => message);
    },
  };
}
