/** Observation sink over a DBManager service: Katib's own, or `milepost observation-log`. */
import { retry } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import type { LogKey, ObservationRow } from "../../trials/recording/observation_row.ts";
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import type { DbManagerClient } from "./db_manager_client.ts";
import { createGrpcHistory } from "./grpc_history.ts";
import { createGrpcWriter } from "./grpc_writer.ts";
import { BACKOFF, PeerHealth } from "./peer_health.ts";
import { afterSeen } from "../../owner/observations/log_parts.ts";
import { createLogMarks, ROWS_PER_MARK } from "./log_marks.ts";
import type { LogRange, ObservationSink } from "../../owner/observations/sink.ts";
import type { GetRequest } from "./wire.ts";
import { rowsOf } from "./write_once.ts";

/** What such a service is beside its name, whoever runs it. */
const TRAITS = { isShared: true, knowsTrialsByNameAlone: true, keepsRuns: false } as const;

/** Returns the name of a log in the service: for a trial its name, by which Katib's clients ask for it. */
function trialNameOf({ kind, namespace, name, uid }: LogKey): string {
  return kind === "trial" ? name : `${namespace}/${name}/${uid}`;
}

/** Creates a sink over the client, which it closes when it is closed. */
export function createGrpcSink(options: {
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
}): ObservationSink {
  const { name, keepsPlainJobs, client, address, clock, settleMs } = options;
  const { random = Math.random, maxCalls = 4, maxWaitingRows = 20_000 } = options;
  const closed = new AbortController();
  const peer: PeerHealth = new PeerHealth({
    address,
    clock,
    random,
    properties: () => ({ sink: name, waitingRows: writer.waitingRows }),
  });
  const writer = createGrpcWriter({
    client,
    clock,
    random,
    settleMs,
    maxCalls,
    maxWaitingRows,
    peer,
  });
  const reads = createSemaphore(maxCalls);
  const marks = createLogMarks();

  /** Repeats a call until it succeeds or `signal` aborts. */
  async function call<T>(
    signal: AbortSignal,
    work: (either: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const either = AbortSignal.any([signal, closed.signal]);
    try {
      const reply = await retry(work, {
        backoff: BACKOFF,
        clock,
        random,
        signal: either,
        onFailure: (error) => peer.failed(messageOf(error), false),
      });
      peer.succeeded();
      return reply;
    } catch {
      throw peer.unavailable("out of time");
    }
  }

  async function get(request: GetRequest, signal: AbortSignal): Promise<readonly ObservationRow[]> {
    const once = (either: AbortSignal) => reads.run(() => client.get(request, either), either);
    return rowsOf(await call(signal, once));
  }

  async function read(
    key: LogKey,
    signal: AbortSignal,
    range: LogRange = {},
  ): Promise<readonly ObservationRow[]> {
    const trialName = trialNameOf(key);
    await writer.untilSettled(trialName, signal);
    const { since = "", seen = 0, until = "", metric = "", limit = Infinity } = range;
    const [from, to] = [sortableTime(since), sortableTime(until)];
    // The service knows no limit of rows: a part is asked for by the time up to which it went before.
    const log = `${trialName}\n${metric}`;
    const mark = marks.untilOf(log, from, limit + seen);
    const isPart = mark !== undefined && (to === undefined || mark < to);
    const rows = await get({
      trialName,
      metricName: metric,
      startTime: since,
      endTime: isPart ? shortTime(mark) : until,
    }, signal);
    if (!isPart || rows.length > 2 * (limit + seen + ROWS_PER_MARK)) marks.learn(log, rows);
    const news = afterSeen(rows, ({ time }) => sortableTime(time) === from, seen);
    if (!isPart || news.length >= limit) return news.slice(0, limit);
    // Rows that stood there are gone.
    marks.forget(log);
    return await read(key, signal, range);
  }

  return {
    traits: { ...TRAITS, name, keepsPlainJobs },
    append: (key, rows, signal) => writer.append(trialNameOf(key), rows, signal),
    read,
    history: createGrpcHistory(client, clock, trialNameOf),
    async delete(key, signal) {
      const trialName = trialNameOf(key);
      await call(signal, (either) => client.delete(trialName, either));
      writer.deleted(trialName);
    },
    async close() {
      closed.abort();
      await writer.close();
      client.close();
    },
  };
}
