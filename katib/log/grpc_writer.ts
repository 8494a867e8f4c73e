/** Queue of appends to a DBManager service: those of one log one after another, of a few logs at a time. */
import { status } from "@grpc/grpc-js";
import { messageOf } from "../../platform/kube/errors.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { createWorkQueue } from "../../platform/base/work_queue.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { CallError } from "./db_manager_client.ts";
import { knownRow } from "./known_row.ts";
import { LogWrites, type PendingAppend } from "./log_writes.ts";
import { BACKOFF, type PeerHealth } from "./peer_health.ts";
import { SinkError } from "../../owner/observations/sink.ts";
import {
  REFUSALS,
  ROWS_PER_CALL,
  Unsettled,
  writeOnce,
  type WriteOnceParts,
} from "./write_once.ts";

/** Options of {@link GrpcWriter}. */
export interface GrpcWriterOptions extends WriteOnceParts {
  readonly peer: PeerHealth;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Calls that are under way at a time. */
  readonly maxCalls: number;
  /** Most rows that wait. */
  readonly maxWaitingRows: number;
}

/** Most logs that are remembered for rows of unknown outcome. */
const MAX_LOGS = 10_000;

/** Errors of one call, which do not concern other logs. All others are problems of the peer. */
const OF_ONE_CALL: ReadonlySet<number> = new Set([
  status.UNKNOWN,
  status.INTERNAL,
  status.DATA_LOSS,
  status.ABORTED,
]);

const codeOf = (error: unknown) => error instanceof CallError ? error.code : status.UNKNOWN;

/** Writes to all logs of a service. */
export class GrpcWriter {
  readonly #options: GrpcWriterOptions;
  readonly #logs = new Map<string, LogWrites>();
  readonly #queue;
  readonly #stop = new AbortController();
  readonly #workers: readonly Promise<void>[];
  #forgotLogs = false;
  #waitingRows = 0;

  constructor(options: GrpcWriterOptions) {
    const { clock, random, maxCalls } = options;
    this.#options = options;
    this.#queue = createWorkQueue({ clock, random, backoff: BACKOFF });
    this.#workers = Array.from({ length: maxCalls }, () => this.#work());
  }

  get waitingRows(): number {
    return this.#waitingRows;
  }

  /** Resolves when the rows are in the log; see `ObservationSink.append()`. */
  append(
    trialName: string,
    rows: readonly ObservationRow[],
    signal: AbortSignal,
  ): Promise<void> {
    const { peer } = this.#options;
    return new Promise((resolve, reject) => {
      const known = [...new Map(rows.map(knownRow).map((row) => [row.id, row])).values()];
      if (known.length === 0) return resolve();
      this.#assertRoom(known.length, signal);
      this.#waitingRows += known.length;
      const abort = () =>
        pending.settle(
          peer.unavailable("the rows were not written in time", {
            wroteNothing: !pending.mayBeSent,
          }),
        );
      const pending: PendingAppend = {
        rows: known,
        mayBeSent: false,
        isOver: false,
        settle: (error) => {
          if (pending.isOver) return;
          pending.isOver = true;
          this.#waitingRows -= known.length;
          forget();
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      const forget = onAbort(signal, abort);
      this.#logOf(trialName).add(pending);
      this.#queue.add(trialName);
    });
  }

  /** Resolves when no abandoned write can still come into the log. Rejects with a SinkError in time. */
  async untilSettled(trialName: string, signal: AbortSignal): Promise<void> {
    const { clock, peer } = this.#options;
    for (;;) {
      const waitMs = this.#logs.get(trialName)?.unreadableMs(clock.monotonic()) ?? 0;
      if (waitMs === 0) return;
      if (signal.aborted || this.#stop.signal.aborted) throw peer.unavailable("out of time");
      await clock.sleep(waitMs, signal);
    }
  }

  /** Forgets the rows of a log that was deleted. */
  deleted(trialName: string): void {
    this.#logs.get(trialName)?.deleted();
    this.#forgetIdle(trialName);
  }

  /** Rejects all appends that wait, and resolves when no call is under way. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#queue.shutDown();
    for (const writes of this.#logs.values()) writes.endAll(this.#closing());
    await Promise.all(this.#workers);
  }

  #closing(): SinkError {
    return this.#options.peer.unavailable("the sink is closing");
  }

  #assertRoom(rows: number, signal: AbortSignal): void {
    const { peer, maxWaitingRows } = this.#options;
    if (signal.aborted || this.#stop.signal.aborted) {
      throw peer.unavailable("out of time", { wroteNothing: true });
    }
    if (this.#waitingRows > 0 && this.#waitingRows + rows > maxWaitingRows) {
      throw peer.unavailable(`${this.#waitingRows} rows wait already`, { wroteNothing: true });
    }
  }

  #logOf(trialName: string): LogWrites {
    const known = this.#logs.get(trialName);
    if (known !== undefined) return known;
    if (this.#logs.size >= MAX_LOGS) this.#forgetOldest();
    const made = new LogWrites(trialName, this.#forgotLogs);
    this.#logs.set(trialName, made);
    return made;
  }

  /** Makes room. After this every new log is read before its first write. */
  #forgetOldest(): void {
    for (const [trialName, writes] of this.#logs) {
      if (writes.hasWork || writes.isUnderWay) continue;
      this.#logs.delete(trialName);
      this.#forgotLogs = true;
      return;
    }
  }

  #forgetIdle(trialName: string): void {
    if (!this.#logs.get(trialName)?.isIdle) return;
    this.#logs.delete(trialName);
    this.#queue.forget(trialName);
  }

  async #work(): Promise<void> {
    const { clock, peer } = this.#options;
    for (;;) {
      if (peer.pauseMs > 0) await clock.sleep(peer.pauseMs, this.#stop.signal);
      const trialName = await this.#queue.take();
      if (trialName === undefined) return;
      const writes = this.#logs.get(trialName);
      if (writes !== undefined) await this.#writeNext(writes);
      this.#queue.done(trialName);
      this.#forgetIdle(trialName);
    }
  }

  /** Writes one append of one log. Never throws. */
  async #writeNext(writes: LogWrites): Promise<void> {
    const { clock, peer } = this.#options;
    const wait = Math.max(writes.notBefore - clock.monotonic(), peer.pauseMs);
    if (wait > 0) return this.#queue.addAfter(writes.trialName, wait);
    const append = writes.take();
    if (append === undefined) return;
    const { rows, mayBeSent } = append;
    append.mayBeSent = true;
    try {
      await writeOnce(this.#options, writes, rows, this.#stop.signal);
      this.#succeeded(writes);
      writes.written(append);
      if (writes.hasWork) this.#queue.add(writes.trialName);
    } catch (error) {
      const wasNotSent = error instanceof CallError && error.wasNotSent;
      if (wasNotSent && rows.length <= ROWS_PER_CALL) append.mayBeSent = mayBeSent;
      this.#failed(writes, append, error);
    }
  }

  #succeeded(writes: LogWrites): void {
    this.#queue.forget(writes.trialName);
    writes.notBefore = 0;
    this.#options.peer.succeeded();
  }

  #failed(writes: LogWrites, append: PendingAppend, error: unknown): void {
    const { clock, peer } = this.#options;
    const now = clock.monotonic();
    writes.giveBack(append);
    if (this.#stop.signal.aborted) return writes.endAll(this.#closing());
    if (error instanceof Unsettled) {
      writes.notBefore = now + Math.min(250, writes.unsettledMs(now));
      return this.#queue.addAfter(writes.trialName, writes.notBefore - now);
    }
    const code = codeOf(error);
    const isRefused = REFUSALS.has(code);
    if (isRefused) append.settle(new SinkError("refused", `the DB manager: ${messageOf(error)}`));
    peer.failed(messageOf(error), !isRefused && !OF_ONE_CALL.has(code));
    const delay = this.#queue.addRateLimited(writes.trialName, peer.pauseMs);
    writes.notBefore = now + delay;
  }
}
