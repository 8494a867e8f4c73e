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
  /** Whether it is sent without others, since it failed with them. */
  alone: boolean;
  /** Whether its rows may have reached the peer. */
  mayBeSent: boolean;
  /** Whether its caller has been answered. */
  isOver: boolean;
  readonly settle: (error: SinkError | undefined) => void;
}

/** The writes of one log. */
export class LogWrites {
  readonly trialName: string;
  /** Monotonic time at which a retry may begin. */
  notBefore = 0;
  #waiting: PendingAppend[] = [];
  #underWay: readonly PendingAppend[] = [];
  readonly #uncertain = new Set<string>();
  #lostTrack: boolean;
  /** Monotonic time at which every abandoned write has appeared or never will. */
  #settledAt = 0;

  /** @param lostTrack Whether the log may have rows of which nothing is known. */
  constructor(trialName: string, lostTrack: boolean) {
    this.trialName = trialName;
    this.#lostTrack = lostTrack;
  }

  /** Whether there is nothing to write, and nothing to remember. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#uncertain.size === 0 && !this.#lostTrack;
  }

  get hasWork(): boolean {
    return this.#waiting.some(({ isOver }) => !isOver);
  }

  /** Whether a batch was taken and neither written nor given back. */
  get isUnderWay(): boolean {
    return this.#underWay.length > 0;
  }

  add(append: PendingAppend): void {
    this.#waiting.push(append);
  }

  /** Forgets appends whose callers have been answered. */
  #dropOver(): void {
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver);
  }

  /** Takes the oldest appends, up to `maxRows` rows but at least one append. See {@link giveBack}. */
  takeBatch(maxRows: number): PendingAppend[] {
    this.#dropOver();
    let rows = 0;
    let count = 0;
    for (const { alone, rows: { length } } of this.#waiting) {
      if (count > 0 && (alone || rows + length > maxRows)) break;
      rows += length;
      count++;
      if (alone) break;
    }
    return this.#underWay = this.#waiting.splice(0, count);
  }

  /** Puts a failed batch back to the front. */
  giveBack(batch: readonly PendingAppend[]): void {
    this.#underWay = [];
    this.#waiting.unshift(...batch.filter(({ isOver }) => !isOver));
  }

  /** Rejects all appends that wait. */
  endAll(error: SinkError): void {
    for (const append of this.#waiting.splice(0)) append.settle(error);
  }

  /** Returns those rows that may be in the log, and must be looked for before they are sent. */
  doubtful(rows: readonly KnownRow[]): readonly KnownRow[] {
    return this.#lostTrack ? rows : rows.filter(({ id }) => this.#uncertain.has(id));
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
    const isGivenUp = this.#underWay.some(({ isOver }) => isOver);
    return isGivenUp ? CHECK_EVERY_MS : this.unsettledMs(now);
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

  /** Notes that a batch is in the log. Rows that wait again, or whose caller gave up, stay uncertain. */
  written(batch: readonly PendingAppend[]): void {
    this.#underWay = [];
    const again = new Set(this.#waiting.flatMap(({ rows }) => rows.map(({ id }) => id)));
    const certain = batch.filter(({ isOver }) => !isOver);
    for (const { id } of certain.flatMap(({ rows }) => rows)) {
      if (!again.has(id)) this.#uncertain.delete(id);
    }
    for (const { settle } of certain) settle(undefined);
    this.#bound();
  }

  /** Notes that the log was deleted. */
  deleted(): void {
    this.#uncertain.clear();
    this.#lostTrack = false;
  }

  #bound(): void {
    if (this.#uncertain.size <= MAX_UNCERTAIN) return;
    this.#uncertain.clear();
    this.#lostTrack = true;
  }
}
