/** Observation sink: the interface of every log of observations, and its errors. */
import type { LogKey, ObservationRow } from "../../trials/recording/observation_row.ts";

/** Names of the kinds of sinks. */
export type SinkName = "katib" | "grpc" | "sqlite" | "memory";

/** Keeps observation logs. Safe for calls at the same time, also for one log. */
export interface ObservationSink {
  /** Name in metrics and logs; what the sink can do is said by its other fields. */
  readonly name: SinkName;
  /** Whether it also keeps logs of jobs that ask for nothing. */
  readonly keepsPlainJobs: boolean;
  /** Whether another owner, or the next start, reads what this one wrote. */
  readonly isShared: boolean;
  /**
   * Whether it knows trials by their names alone, as Katib's clients do: Trials of one name in two
   * namespaces share a log, and Katib deletes the log of a Trial that is gone.
   */
  readonly knowsTrialsByNameAlone: boolean;
  /**
   * Resolves when the rows are in the log, each exactly once and in their order; a write whose outcome
   * is not known is checked before it is tried again. Rejects with a {@link SinkError}, at the
   * latest when `signal` aborts: then rows may be in the log or not, and the same rows given again are
   * not doubled.
   */
  append(key: LogKey, rows: readonly ObservationRow[], signal: AbortSignal): Promise<void>;
  /**
   * The rows of the log from `since` on, an RFC 3339 time (absent: every row), by time, ties in the order
   * of writing. No append that was rejected before comes into the log after it was read. Rejects with a
   * {@link SinkError}.
   */
  read(key: LogKey, signal: AbortSignal, since?: string): Promise<readonly ObservationRow[]>;
  /** Deletes a log. One that does not exist is no error. Rejects with a {@link SinkError}. */
  delete(key: LogKey, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The reason why a call to a sink failed, in words for a log line. */
export class SinkError extends Error {
  /** `unavailable`: down, slow or saturated; try again. `refused`: these rows will never be accepted. */
  readonly kind: "unavailable" | "refused";
  /** When a client may come again, in milliseconds. */
  readonly retryAfterMs: number;
  /** Whether an append has sent nothing: the log is, and will be, as it was before it. */
  readonly wroteNothing: boolean;

  constructor(
    kind: SinkError["kind"],
    message: string,
    options: { cause?: unknown; retryAfterMs?: number; wroteNothing?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "SinkError";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? 1000;
    this.wroteNothing = options.wroteNothing ?? false;
  }
}
