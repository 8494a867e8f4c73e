/** Observation sink over a DBManager service: Katib's own, or `milepost observation-log`. */
import { retry } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { createSemaphore, type Semaphore } from "../../platform/base/semaphore.ts";
import type { LogKey, ObservationRow } from "../../trials/recording/observation_row.ts";
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import type { DbManagerClient } from "./db_manager_client.ts";
import { GrpcWriter } from "./grpc_writer.ts";
import { BACKOFF, PeerHealth } from "./peer_health.ts";
import { afterSeen } from "../../owner/observations/log_parts.ts";
import { createLogMarks, ROWS_PER_MARK } from "./log_marks.ts";
import type { LogRange, ObservationSink } from "../../owner/observations/sink.ts";
import type { GetRequest } from "./wire.ts";
import { rowsOf } from "./write_once.ts";

/** Options of {@link createGrpcSink}. */
export interface GrpcSinkOptions {
  readonly name: "katib" | "grpc";
  readonly keepsPlainJobs: boolean;
  readonly client: DbManagerClient;
  /** The address of the peer, for lines of log. */
  readonly address: string;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** How long after a write of unknown outcome its rows may still appear, in milliseconds. */
  readonly settleMs: number;
  /** Calls that write, and calls that read, that are under way at a time. Default 4. */
  readonly maxCalls?: number;
  /** Most rows that wait; more are refused as unavailable. Default 20000. */
  readonly maxWaitingRows?: number;
}

/** Returns the name of a log in the service: for a trial its name, by which Katib's clients ask for it. */
function trialNameOf({ kind, namespace, name, uid }: LogKey): string {
  return kind === "trial" ? name : `${namespace}/${name}/${uid}`;
}

class GrpcSink implements ObservationSink {
  readonly name: "katib" | "grpc";
  readonly keepsPlainJobs: boolean;
  readonly isShared = true;
  readonly knowsTrialsByNameAlone = true;
  readonly keepsRuns = false;
  readonly #client: DbManagerClient;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #stop = new AbortController();
  readonly #peer: PeerHealth;
  readonly #writer: GrpcWriter;
  readonly #reads: Semaphore;
  readonly #marks = createLogMarks();

  constructor(options: GrpcSinkOptions) {
    const { name, keepsPlainJobs, client, address, clock, settleMs } = options;
    const { random = Math.random, maxCalls = 4, maxWaitingRows = 20_000 } = options;
    this.name = name;
    this.keepsPlainJobs = keepsPlainJobs;
    this.#client = client;
    this.#clock = clock;
    this.#random = random;
    this.#peer = new PeerHealth({
      address,
      clock,
      random,
      properties: () => ({ sink: name, waitingRows: this.#writer.waitingRows }),
    });
    const peer = this.#peer;
    this.#writer = new GrpcWriter({
      client,
      clock,
      random,
      settleMs,
      maxCalls,
      maxWaitingRows,
      peer,
    });
    this.#reads = createSemaphore(maxCalls);
  }

  append(key: LogKey, rows: readonly ObservationRow[], signal: AbortSignal): Promise<void> {
    return this.#writer.append(trialNameOf(key), rows, signal);
  }

  async read(
    key: LogKey,
    signal: AbortSignal,
    range: LogRange = {},
  ): Promise<readonly ObservationRow[]> {
    const trialName = trialNameOf(key);
    await this.#writer.untilSettled(trialName, signal);
    const { since = "", seen = 0, until = "", metric = "", limit = Infinity } = range;
    const [from, to] = [sortableTime(since), sortableTime(until)];
    // The service knows no limit of rows: a part is asked for by the time up to which it went before.
    const log = `${trialName}\n${metric}`;
    const mark = this.#marks.untilOf(log, from, limit + seen);
    const isPart = mark !== undefined && (to === undefined || mark < to);
    const rows = await this.#get({
      trialName,
      metricName: metric,
      startTime: since,
      endTime: isPart ? shortTime(mark) : until,
    }, signal);
    if (!isPart || rows.length > 2 * (limit + seen + ROWS_PER_MARK)) this.#marks.learn(log, rows);
    const news = afterSeen(rows, ({ time }) => sortableTime(time) === from, seen);
    if (!isPart || news.length >= limit) return news.slice(0, limit);
    // Rows that stood there are gone.
    this.#marks.forget(log);
    return await this.read(key, signal, range);
  }

  async #get(request: GetRequest, signal: AbortSignal): Promise<readonly ObservationRow[]> {
    return rowsOf(
      await this.#retry(
        signal,
        (either) => this.#reads.run(() => this.#client.get(request, either), either),
      ),
    );
  }

  async delete(key: LogKey, signal: AbortSignal): Promise<void> {
    const trialName = trialNameOf(key);
    await this.#retry(signal, (either) => this.#client.delete(trialName, either));
    this.#writer.deleted(trialName);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#writer.close();
    this.#client.close();
  }

  /** Repeats a call until it succeeds or `signal` aborts. */
  async #retry<T>(signal: AbortSignal, call: (either: AbortSignal) => Promise<T>): Promise<T> {
    const either = AbortSignal.any([signal, this.#stop.signal]);
    try {
      const reply = await retry(call, {
        backoff: BACKOFF,
        clock: this.#clock,
        random: this.#random,
        signal: either,
        onFailure: (error) => this.#peer.failed(messageOf(error), false),
      });
      this.#peer.succeeded();
      return reply;
    } catch {
      throw this.#peer.unavailable("out of time");
    }
  }
}

/** Creates a sink over the client, which it closes when it is closed. */
export function createGrpcSink(options: GrpcSinkOptions): ObservationSink {
  return new GrpcSink(options);
}
