/** Where observations are kept: what every sink promises, and how it says that it cannot. */
import type { LogKey, ObservationRow } from "../../trials/recording/observation_row.ts";

/** Keeps observation logs. Safe for calls at the same time, also for one log. */
export interface ObservationSink {
  /** As metrics name it. */
  readonly name: "katib" | "grpc" | "sqlite" | "memory";
  /** Whether it keeps logs of TrainJobs that ask for nothing, too. */
  readonly keepsPlainJobs: boolean;
  /** Whether another owner, or the next start, reads what this one wrote. */
  readonly isShared: boolean;
  /**
   * Resolves when the rows are in the log, each exactly once and in their order; a write whose outcome
   * is not known is looked after before it is tried again. Rejects with a {@link SinkError}, at the
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
  /** Forgets a log. One that is not there is no error. Rejects with a {@link SinkError}. */
  delete(key: LogKey, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Why a sink could not do what it was asked, in words for a log line. */
export class SinkError extends Error {
  /** `unavailable`: down, slow or saturated, try again. `refused`: these rows will never be taken. */
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
