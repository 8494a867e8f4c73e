/**
 * The writes of one log that wait, and which rows may be in it without our knowing. A row whose write
 * has an unknown outcome is looked for before it is sent again, and no sooner than a late write of it
 * must have shown.
 */
import type { KnownRow } from "./known_row.ts";
import type { SinkError } from "./sink.ts";

/** Rows of unknown outcome that are remembered of a log; with more, every row is looked for. */
const MAX_UNCERTAIN = 500;
/** How often it is looked whether a call has ended, in milliseconds. */
const LOOK_EVERY_MS = 20;

/** An append that waits, is under way, or is over. */
export interface PendingAppend {
  readonly rows: readonly KnownRow[];
  /** To be tried without others, since with them it failed. */
  alone: boolean;
  /** Rows of it may have reached the peer. */
  mayBeSent: boolean;
  /** Its caller has its answer. */
  isOver: boolean;
  readonly settle: (error: SinkError | undefined) => void;
}

/** What is known of one log. */
export class LogWrites {
  readonly trialName: string;
  /** When a retry may begin, by the monotonic clock. */
  notBefore = 0;
  #waiting: PendingAppend[] = [];
  #underWay: readonly PendingAppend[] = [];
  readonly #uncertain = new Set<string>();
  #lostTrack: boolean;
  /** When every write that was given up has shown itself or never will, by the monotonic clock. */
  #settledAt = 0;

  /** @param lostTrack Whether rows may be in it of which nothing is known. */
  constructor(trialName: string, lostTrack: boolean) {
    this.trialName = trialName;
    this.#lostTrack = lostTrack;
  }

  /** Whether there is nothing to do, and nothing to remember. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#uncertain.size === 0 && !this.#lostTrack;
  }

  get hasWork(): boolean {
    return this.#waiting.some(({ isOver }) => !isOver);
  }

  /** Whether a batch was taken, and neither written nor given back. */
  get isUnderWay(): boolean {
    return this.#underWay.length > 0;
  }

  add(append: PendingAppend): void {
    this.#waiting.push(append);
  }

  /** Forgets those whose callers have gone. */
  dropOver(): void {
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver);
  }

  /** Takes the oldest appends, `maxRows` rows or one append at least; puts them back with {@link giveBack}. */
  takeBatch(maxRows: number): PendingAppend[] {
    this.dropOver();
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

  /** Puts a batch that failed back to the front. */
  giveBack(batch: readonly PendingAppend[]): void {
    this.#underWay = [];
    this.#waiting.unshift(...batch.filter(({ isOver }) => !isOver));
  }

  /** Ends all that wait. */
  endAll(error: SinkError): void {
    for (const append of this.#waiting.splice(0)) append.settle(error);
  }

  /** Those that may be in the log: to be looked for before they are sent. */
  doubtful(rows: readonly KnownRow[]): readonly KnownRow[] {
    return this.#lostTrack ? rows : rows.filter(({ id }) => this.#uncertain.has(id));
  }

  /** Whether a row that is not in the log now will not come into it any more. */
  isSettled(now: number): boolean {
    return now >= this.#settledAt;
  }

  /** Milliseconds until {@link isSettled}. */
  unsettledMs(now: number): number {
    return Math.max(0, this.#settledAt - now);
  }

  /**
   * How long to wait before the log is read, in milliseconds, and then to ask again: what a caller gave up
   * may still come into it, and who reads now would not know of it.
   */
  unreadableMs(now: number): number {
    const isGivenUp = this.#underWay.some(({ isOver }) => isOver);
    return isGivenUp ? LOOK_EVERY_MS : this.unsettledMs(now);
  }

  /** The rows are about to be sent. Answers what takes that back where they were not. */
  sending(rows: readonly KnownRow[]): () => void {
    const fresh = rows.filter(({ id }) => !this.#uncertain.has(id));
    for (const { id } of fresh) this.#uncertain.add(id);
    return () => {
      for (const { id } of fresh) this.#uncertain.delete(id);
    };
  }

  /** Nobody knows what came of a write; it shows itself until `settledAt`. */
  unknownUntil(settledAt: number): void {
    this.#settledAt = Math.max(this.#settledAt, settledAt);
    this.#bound();
  }

  /** The batch is in the log. What waits, or went to a caller who is gone, may be the same rows again. */
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

  /** The log is empty again. */
  emptied(): void {
    this.#uncertain.clear();
    this.#lostTrack = false;
  }

  #bound(): void {
    if (this.#uncertain.size <= MAX_UNCERTAIN) return;
    this.#uncertain.clear();
    this.#lostTrack = true;
  }
}
