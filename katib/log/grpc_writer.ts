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

/** Creates a writer to all logs of a service, which works until it is closed. */
export function createGrpcWriter(
  options: WriteOnceParts & {
    readonly peer: PeerHealth;
    /** Returns a number from 0 up to 1. */
    readonly random: () => number;
    /** Calls that are under way at a time. */
    readonly maxCalls: number;
    /** Most rows that wait. */
    readonly maxWaitingRows: number;
  },
) {
  const { clock, random, peer, maxCalls, maxWaitingRows } = options;
  const logs = new Map<string, LogWrites>();
  const queue = createWorkQueue({ clock, random, backoff: BACKOFF });
  const stop = new AbortController();
  let forgotLogs = false;
  let waitingRows = 0;

  function closing(): SinkError {
    return peer.unavailable("the sink is closing");
  }

  function assertRoom(rows: number, signal: AbortSignal): void {
    if (signal.aborted || stop.signal.aborted) {
      throw peer.unavailable("out of time", { wroteNothing: true });
    }
    if (waitingRows > 0 && waitingRows + rows > maxWaitingRows) {
      throw peer.unavailable(`${waitingRows} rows wait already`, { wroteNothing: true });
    }
  }

  function logOf(trialName: string): LogWrites {
    const known = logs.get(trialName);
    if (known !== undefined) return known;
    if (logs.size >= MAX_LOGS) forgetOldest();
    const made = new LogWrites(trialName, forgotLogs);
    logs.set(trialName, made);
    return made;
  }

  /** Makes room. After this every new log is read before its first write. */
  function forgetOldest(): void {
    for (const [trialName, writes] of logs) {
      if (writes.hasWork || writes.isUnderWay) continue;
      logs.delete(trialName);
      forgotLogs = true;
      return;
    }
  }

  function forgetIdle(trialName: string): void {
    if (!logs.get(trialName)?.isIdle) return;
    logs.delete(trialName);
    queue.forget(trialName);
  }

  async function work(): Promise<void> {
    for (;;) {
      if (peer.pauseMs > 0) await clock.sleep(peer.pauseMs, stop.signal);
      const trialName = await queue.take();
      if (trialName === undefined) return;
      const writes = logs.get(trialName);
      if (writes !== undefined) await writeNext(writes);
      queue.done(trialName);
      forgetIdle(trialName);
    }
  }

  /** Writes one append of one log. Never throws. */
  async function writeNext(writes: LogWrites): Promise<void> {
    const wait = Math.max(writes.notBefore - clock.monotonic(), peer.pauseMs);
    if (wait > 0) return queue.addAfter(writes.trialName, wait);
    const append = writes.take();
    if (append === undefined) return;
    const { rows, mayBeSent } = append;
    append.mayBeSent = true;
    try {
      await writeOnce(options, writes, rows, stop.signal);
      succeeded(writes);
      writes.written(append);
      if (writes.hasWork) queue.add(writes.trialName);
    } catch (error) {
      const wasNotSent = error instanceof CallError && error.wasNotSent;
      if (wasNotSent && rows.length <= ROWS_PER_CALL) append.mayBeSent = mayBeSent;
      failed(writes, append, error);
    }
  }

  function succeeded(writes: LogWrites): void {
    queue.forget(writes.trialName);
    writes.notBefore = 0;
    peer.succeeded();
  }

  function failed(writes: LogWrites, append: PendingAppend, error: unknown): void {
    const now = clock.monotonic();
    writes.giveBack(append);
    if (stop.signal.aborted) return writes.endAll(closing());
    if (error instanceof Unsettled) {
      writes.notBefore = now + Math.min(250, writes.unsettledMs(now));
      return queue.addAfter(writes.trialName, writes.notBefore - now);
    }
    const code = codeOf(error);
    const isRefused = REFUSALS.has(code);
    if (isRefused) append.settle(new SinkError("refused", `the DB manager: ${messageOf(error)}`));
    peer.failed(messageOf(error), !isRefused && !OF_ONE_CALL.has(code));
    const delay = queue.addRateLimited(writes.trialName, peer.pauseMs);
    writes.notBefore = now + delay;
  }

  const workers = Array.from({ length: maxCalls }, work);
  return {
    get waitingRows() {
      return waitingRows;
    },
    /** Resolves when the rows are in the log; see `ObservationSink.append()`. */
    append(
      trialName: string,
      rows: readonly ObservationRow[],
      signal: AbortSignal,
    ): Promise<void> {
      return new Promise((resolve, reject) => {
        const known = [...new Map(rows.map(knownRow).map((row) => [row.id, row])).values()];
        if (known.length === 0) return resolve();
        assertRoom(known.length, signal);
        waitingRows += known.length;
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
            waitingRows -= known.length;
            forget();
            if (error === undefined) resolve();
            else reject(error);
          },
        };
        const forget = onAbort(signal, abort);
        logOf(trialName).add(pending);
        queue.add(trialName);
      });
    },
    /** Resolves when no abandoned write can still come into the log. Rejects with a SinkError in time. */
    async untilSettled(trialName: string, signal: AbortSignal): Promise<void> {
      for (;;) {
        const waitMs = logs.get(trialName)?.unreadableMs(clock.monotonic()) ?? 0;
        if (waitMs === 0) return;
        if (signal.aborted || stop.signal.aborted) throw peer.unavailable("out of time");
        await clock.sleep(waitMs, signal);
      }
    },
    /** Forgets the rows of a log that was deleted. */
    deleted(trialName: string): void {
      logs.get(trialName)?.deleted();
      forgetIdle(trialName);
    },
    /** Rejects all appends that wait, and resolves when no call is under way. */
    async close(): Promise<void> {
      stop.abort();
      queue.shutDown();
      for (const writes of logs.values()) writes.endAll(closing());
      await Promise.all(workers);
    },
  };
}
