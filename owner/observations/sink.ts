/** Interface of observation sinks, and their errors. */
import type { LogKey, ObservationRow } from "../../trials/recording/observation_row.ts";

/** Names of the kinds of sinks. */
export type SinkName = "katib" | "grpc" | "sqlite" | "memory";

/** A part of a log; what is absent sets no bound. Times are as in RFC 3339, and included. */
export interface LogRange {
  readonly since?: string | undefined;
  /** Rows of the very time `since` that are left out, from the first on: the reader has them. */
  readonly seen?: number | undefined;
  readonly until?: string | undefined;
  readonly metric?: string | undefined;
  /** Most rows, from the first on. */
  readonly limit?: number | undefined;
}

/** What a sink is and can do. */
export interface SinkTraits {
  /** Its name in metrics and logs. */
  readonly name: SinkName;
  /** Whether it keeps logs of jobs with neither trial nor annotation, too. */
  readonly keepsPlainJobs: boolean;
  /** Whether other owners, or this one after a restart, can read what this one wrote. */
  readonly isShared: boolean;
  /**
   * Whether it knows trials only by their names, as Katib does: Trials of one name in two namespaces share a
   * log, and Katib deletes the log of a Trial that is deleted.
   */
  readonly knowsTrialsByNameAlone: boolean;
  /**
   * Whether it keeps run and step of each row, and no one else writes to it. Katib's table has a time, a name
   * and a value of each row, and any client of Katib may add some.
   */
  readonly keepsRuns: boolean;
}

/** What is new beside a log. */
export interface HistoryNews {
  readonly key: LogKey;
  /** What is to be shown of the job besides its rows, in place of what was kept; absent: that stays. */
  readonly text?: string | undefined;
  /** When the job ended, in milliseconds since the epoch: from then on its log may give way to others. Absent: it runs. */
  readonly endedMs?: number | undefined;
}

/** Keeps a text beside each log. Calls reject with a SinkError. */
export interface HistoryStore {
  /** Keeps what is new, if the sink keeps anything. */
  keep(news: readonly HistoryNews[], signal: AbortSignal): Promise<void>;
  /** Resolves with an empty text if none was kept; with undefined where none are, as by Katib's DB manager. */
  read(key: LogKey, signal: AbortSignal): Promise<string | undefined>;
}

/** Stores observation logs. Calls may overlap, also for one log. */
export interface ObservationSink {
  /** They may change with what the cluster has. */
  readonly traits: SinkTraits;
  /**
   * Resolves when the rows are in the log, each exactly once and in their order; after a write of unknown
   * outcome the log is checked before a retry. Rejects with a {@link SinkError}, at the latest when `signal`
   * aborts: rows may then be in the log or not, and the same rows appended again are not doubled.
   */
  append(key: LogKey, rows: readonly ObservationRow[], signal: AbortSignal): Promise<void>;
  /**
   * Resolves with the rows of a part of the log, or with all of them; sorted by time, ties in the order of
   * writing. Readers that take a log in parts of `limit` rows make the sink read about as many rows as it has. No
   * append that was rejected before comes into the log after the read. Rejects with a {@link SinkError}.
   */
  read(key: LogKey, signal: AbortSignal, range?: LogRange): Promise<readonly ObservationRow[]>;
  /**
   * Returns keys of logs, those of Trials among them, in an order of the sink's, after one of them. Absent if
   * the sink cannot list them, as Katib's table, which Katib itself cleans up. Rejects with a {@link SinkError}.
   */
  readonly list?:
    | ((
      after: LogKey | undefined,
      limit: number,
      signal: AbortSignal,
    ) => Promise<readonly LogKey[]>)
    | undefined;
  /** Absent if the sink keeps nothing beside its logs. */
  readonly history?: HistoryStore | undefined;
  /** Deletes a log and what is beside it, if there is one. Rejects with a {@link SinkError}. */
  delete(key: LogKey, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A failure of a sink, with a message for a line of log. */
export class SinkError extends Error {
  /** Time after which clients should retry, in milliseconds. */
  readonly retryAfterMs: number;
  /** Whether an append has sent nothing, so that the log stays as it was. */
  readonly wroteNothing: boolean;

  constructor(
    /** `unavailable`: down, slow or saturated, to be retried. `refused`: these rows will never be accepted. */
    readonly kind: "unavailable" | "refused",
    message: string,
    options: { cause?: unknown; retryAfterMs?: number; wroteNothing?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "SinkError";
    this.retryAfterMs = options.retryAfterMs ?? 1000;
    this.wroteNothing = options.wroteNothing ?? false;
  }
}
