/**
 * Logs of a DBManager service: Katib's own, or `milepost observation-log`. Appends of a trial that wait
 * together go in one call; a few calls are under way at a time.
 */
import { status } from "@grpc/grpc-js";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";
import { backoffMs } from "../../kube/backoff.ts";
import { createWorkQueue } from "../../kube/work_queue.ts";
import { createSemaphore, type Semaphore } from "../../kube/semaphore.ts";
import { CallError, type DbManagerClient } from "./db_manager_client.ts";
import { knownRow } from "./known_row.ts";
import { LogWrites, type PendingAppend } from "./log_writes.ts";
import { BACKOFF, PeerTrouble } from "./peer_trouble.ts";
import { type ObservationSink, SinkError } from "./sink.ts";
import { type LogKey, type ObservationRow } from "../../trials/recording/observation_row.ts";
import { REFUSALS, rowsOf, Unsettled, wholeLog, writeOnce } from "./write_once.ts";

/** Options of {@link createGrpcSink}. */
export interface GrpcSinkOptions {
  readonly name: "katib" | "grpc";
  readonly keepsPlainJobs: boolean;
  readonly client: DbManagerClient;
  /** Of the peer, for log lines. */
  readonly address: string;
  readonly clock: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** How long after a write of unknown outcome it may still show, in milliseconds. */
  readonly settleMs: number;
  /** Calls that write and calls that read, each, that are under way at a time. Default 4. */
  readonly maxCalls?: number;
  /** Default 20000: rows that wait; more are refused as unavailable. */
  readonly maxWaitingRows?: number;
}

/** Rows of appends that are put together, in one call. */
const ROWS_PER_BATCH = 1000;
/** Logs that are remembered for rows of unknown outcome. */
const MAX_LOGS = 10_000;

/** Errors about one call: other trials go on. All others are the peer's. */
const OF_ONE_CALL: ReadonlySet<number> = new Set([
  status.UNKNOWN,
  status.INTERNAL,
  status.DATA_LOSS,
  status.ABORTED,
]);

/** Name of a log in the service: of a trial its name, as Katib's clients ask for it. */
export function trialNameOf({ kind, namespace, name, uid }: LogKey): string {
  return kind === "trial" ? name : `${namespace}/${name}/${uid}`;
}

const codeOf = (error: unknown) => error instanceof CallError ? error.code : status.UNKNOWN;

class GrpcSink implements ObservationSink {
  readonly name: "katib" | "grpc";
  readonly keepsPlainJobs: boolean;
  readonly isShared = true;
  readonly knowsTrialsByNameAlone = true;
  readonly #options: GrpcSinkOptions;
  readonly #logs = new Map<string, LogWrites>();
  readonly #queue;
  readonly #stop = new AbortController();
  readonly #workers: readonly Promise<void>[];
  #forgotLogs = false;
  #waitingRows = 0;
  readonly #peer: PeerTrouble;
  readonly #reads: Semaphore;

  constructor(options: GrpcSinkOptions) {
    const { name, keepsPlainJobs, clock, maxCalls = 4 } = options;
    this.#options = options;
    this.name = name;
    this.keepsPlainJobs = keepsPlainJobs;
    const random = () => this.#random();
    this.#queue = createWorkQueue({ clock, random, backoff: BACKOFF });
    this.#peer = new PeerTrouble({
      clock,
      random,
      about: () => ({ sink: name, address: options.address, waitingRows: this.#waitingRows }),
    });
    this.#reads = createSemaphore(maxCalls);
    this.#workers = Array.from({ length: maxCalls }, () => this.#work());
  }

  append(key: LogKey, rows: readonly ObservationRow[], signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const known = [...new Map(rows.map(knownRow).map((row) => [row.id, row])).values()];
      if (known.length === 0) return resolve();
      this.#assertRoom(known.length, signal);
      this.#waitingRows += known.length;
      const abort = () =>
        pending.settle(this.#unavailable("no room in time", { wroteNothing: !pending.mayBeSent }));
      const pending: PendingAppend = {
        rows: known,
        alone: false,
        mayBeSent: false,
        isOver: false,
        settle: (error) => {
          if (pending.isOver) return;
          pending.isOver = true;
          this.#waitingRows -= known.length;
          signal.removeEventListener("abort", abort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      signal.addEventListener("abort", abort, { once: true });
      const trialName = trialNameOf(key);
      this.#logOf(trialName).add(pending);
      this.#queue.add(trialName);
    });
  }

  async read(
    key: LogKey,
    signal: AbortSignal,
    since = "",
  ): Promise<readonly ObservationRow[]> {
    const { client } = this.#options;
    const asked = { ...wholeLog(trialNameOf(key)), startTime: since };
    await this.#readable(asked.trialName, signal);
    return rowsOf(
      await this.#again(
        signal,
        (either) => this.#reads.run(() => client.get(asked, either), either),
      ),
    );
  }

  async delete(key: LogKey, signal: AbortSignal): Promise<void> {
    const trialName = trialNameOf(key);
    await this.#again(signal, (either) => this.#options.client.delete(trialName, either));
    this.#logs.get(trialName)?.emptied();
    this.#forgetIdle(trialName);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#queue.shutDown();
    for (const writes of this.#logs.values()) writes.endAll(this.#unavailable("closing"));
    await Promise.all(this.#workers);
    this.#options.client.close();
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }

  #unavailable(why: string, { wroteNothing = false } = {}): SinkError {
    const problem = this.#peer.problem ?? why;
    return new SinkError("unavailable", `the DB manager at ${this.#options.address}: ${problem}`, {
      retryAfterMs: Math.max(1000, this.#peer.pauseMs),
      wroteNothing,
    });
  }

  #assertRoom(rows: number, signal: AbortSignal): void {
    const { maxWaitingRows = 20_000 } = this.#options;
    if (signal.aborted || this.#stop.signal.aborted) {
      throw this.#unavailable("out of time", { wroteNothing: true });
    }
    if (this.#waitingRows > 0 && this.#waitingRows + rows > maxWaitingRows) {
      throw this.#unavailable(`${this.#waitingRows} rows wait already`, { wroteNothing: true });
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

  /** Makes room; from now on each log begins with a look at what is in it. */
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
    const { clock } = this.#options;
    for (;;) {
      if (this.#peer.pauseMs > 0) await clock.sleep(this.#peer.pauseMs, this.#stop.signal);
      const trialName = await this.#queue.take();
      if (trialName === undefined) return;
      const writes = this.#logs.get(trialName);
      if (writes !== undefined) await this.#workOn(writes);
      this.#queue.done(trialName);
      this.#forgetIdle(trialName);
    }
  }

  /** One batch of one log. Never throws. */
  async #workOn(writes: LogWrites): Promise<void> {
    const now = this.#options.clock.monotonic();
    const wait = Math.max(writes.notBefore - now, this.#peer.pauseMs);
    if (wait > 0) return this.#queue.addAfter(writes.trialName, wait);
    const batch = writes.takeBatch(ROWS_PER_BATCH);
    if (batch.length === 0) return;
    const unsent = batch.filter(({ mayBeSent }) => !mayBeSent);
    for (const append of unsent) append.mayBeSent = true;
    const rows = new Map(batch.flatMap((it) => it.rows).map((row) => [row.id, row]));
    try {
      await writeOnce(this.#options, writes, [...rows.values()], this.#stop.signal);
      this.#succeeded(writes);
      writes.written(batch);
      if (writes.hasWork) this.#queue.add(writes.trialName);
    } catch (error) {
      const wasNotSent = error instanceof CallError && error.wasNotSent;
      if (wasNotSent && rows.size <= ROWS_PER_BATCH) {
        for (const append of unsent) append.mayBeSent = false;
      }
      this.#failed(writes, batch, error);
    }
  }

  #succeeded(writes: LogWrites): void {
    this.#queue.forget(writes.trialName);
    writes.notBefore = 0;
    this.#peer.worked();
  }

  #failed(writes: LogWrites, batch: readonly PendingAppend[], error: unknown): void {
    const { clock } = this.#options;
    const now = clock.monotonic();
    writes.giveBack(batch);
    if (this.#stop.signal.aborted) return writes.endAll(this.#unavailable("closing"));
    if (error instanceof Unsettled) {
      writes.notBefore = now + Math.min(250, writes.unsettledMs(now));
      return this.#queue.addAfter(writes.trialName, writes.notBefore - now);
    }
    const code = codeOf(error);
    const [first] = batch;
    if (REFUSALS.has(code) && batch.length === 1 && first !== undefined) {
      first.settle(new SinkError("refused", `the DB manager: ${messageOf(error)}`));
    } else if (OF_ONE_CALL.has(code) || REFUSALS.has(code)) {
      for (const append of batch) append.alone = true;
    }
    this.#peer.failed(messageOf(error), !REFUSALS.has(code) && !OF_ONE_CALL.has(code));
    const delay = this.#queue.addRateLimited(writes.trialName, this.#peer.pauseMs);
    writes.notBefore = now + delay;
  }

  /** Waits until no write that was given up can show itself any more. */
  async #readable(trialName: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      const waitMs = this.#logs.get(trialName)?.unreadableMs(clock.monotonic()) ?? 0;
      if (waitMs === 0) return;
      if (signal.aborted || this.#stop.signal.aborted) throw this.#unavailable("out of time");
      await clock.sleep(waitMs, signal);
    }
  }

  /** Tries a call that may be repeated until it works or `signal` aborts. */
  async #again<T>(signal: AbortSignal, work: (either: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const any = AbortSignal.any([signal, this.#stop.signal]);
    for (let failures = 1;; failures++) {
      if (any.aborted) throw this.#unavailable("out of time");
      try {
        const answer = await work(any);
        this.#peer.worked();
        return answer;
      } catch (error) {
        if (!any.aborted) this.#peer.failed(messageOf(error), false);
        await clock.sleep(backoffMs(failures, BACKOFF, () => this.#random()), any);
      }
    }
  }
}

/** Creates a sink over the client, which it closes with itself. */
export function createGrpcSink(options: GrpcSinkOptions): ObservationSink {
  return new GrpcSink(options);
}
