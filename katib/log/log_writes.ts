/**
 * Pending writes of one log, and its rows of unknown outcome. Such a row is looked for before it is sent
 * again, once an abandoned write of it must have appeared.
 */
import type { KnownRow } from "./known_row.ts";
import type { SinkError } from "../../owner/observations/sink.ts";

/** Most rows of unknown outcome that are remembered; with more, every row is looked for. */
const MAX_UNCERTAIN = 500;
/** Interval between checks whether an abandoned call has ended, in milliseconds. */
const CHECK_EVERY_MS = 20;

/** An append that waits, is under way, or is over. */
export interface PendingAppend {
  readonly rows: readonly KnownRow[];
  /** Whether its rows may have reached the peer. */
  mayBeSent: boolean;
  /** Whether its caller has been answered. */
  isOver: boolean;
  readonly settle: (error: SinkError | undefined) => void;
}

/** The writes of one log. */
export class LogWrites {
  /** Monotonic time at which a retry may begin. */
  notBefore = 0;
  #waiting: PendingAppend[] = [];
  #underWay: PendingAppend | undefined;
  readonly #uncertain = new Set<string>();
  /** Monotonic time at which every abandoned write has appeared or never will. */
  #settledAt = 0;

  /** @param lostTrack Whether the log may have rows of which nothing is known. */
  constructor(readonly trialName: string, private lostTrack: boolean) {}

  /** Whether there is nothing to write, and nothing to remember. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#uncertain.size === 0 && !this.lostTrack;
  }

  get hasWork(): boolean {
    return this.#waiting.some(({ isOver }) => !isOver);
  }

  /** Whether an append was taken and neither written nor given back. */
  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  add(append: PendingAppend): void {
    this.#waiting.push(append);
  }

  /** Takes the oldest append whose caller still waits. See {@link giveBack}. */
  take(): PendingAppend | undefined {
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver);
    return this.#underWay = this.#waiting.shift();
  }

  /** Puts a failed append back to the front. */
  giveBack(append: PendingAppend): void {
    this.#underWay = undefined;
    this.#waiting.unshift(append);
  }

  /** Rejects all appends that wait. */
  endAll(error: SinkError): void {
    for (const append of this.#waiting.splice(0)) append.settle(error);
  }

  /** Returns those rows that may be in the log, and must be looked for before they are sent. */
  doubtful(rows: readonly KnownRow[]): readonly KnownRow[] {
    return this.lostTrack ? rows : rows.filter(({ id }) => this.#uncertain.has(id));
  }

  /** Whether rows that are not in the log now will not come into it any more. */
  isSettled(now: number): boolean {
    return now >= this.#settledAt;
  }

  /** Returns the milliseconds until {@link isSettled}. */
  unsettledMs(now: number): number {
    return Math.max(0, this.#settledAt - now);
  }

  /**
   * Returns the milliseconds to wait before this is asked again; the log can be read if 0. An abandoned write
   * may still come into the log, and a read before that would miss it.
   */
  unreadableMs(now: number): number {
    return this.#underWay?.isOver ? CHECK_EVERY_MS : this.unsettledMs(now);
  }

  /** Marks rows that are about to be sent. Returns a function that undoes this if they were not sent. */
  sending(rows: readonly KnownRow[]): () => void {
    const fresh = rows.filter(({ id }) => !this.#uncertain.has(id));
    for (const { id } of fresh) this.#uncertain.add(id);
    return () => {
      for (const { id } of fresh) this.#uncertain.delete(id);
    };
  }

  /** Notes a write of unknown outcome, whose rows may appear until `settledAt`. */
  unknownUntil(settledAt: number): void {
    this.#settledAt = Math.max(this.#settledAt, settledAt);
    this.#bound();
  }

  /** Notes that an append is in the log. Rows that wait again, or whose caller gave up, stay uncertain. */
  written({ rows, isOver, settle }: PendingAppend): void {
    this.#underWay = undefined;
    if (!isOver) {
      const again = new Set(this.#waiting.flatMap(({ rows }) => rows.map(({ id }) => id)));
      for (const { id } of rows) if (!again.has(id)) this.#uncertain.delete(id);
      settle(undefined);
    }
    this.#bound();
  }

  /** Notes that the log was deleted. */
  deleted(): void {
    this.#uncertain.clear();
    this.lostTrack = false;
  }

  #bound(): void {
    if (this.#uncertain.size <= MAX_UNCERTAIN) return;
    this.#uncertain.clear();
    this.lostTrack = true;
  }
}
