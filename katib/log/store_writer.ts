/** Group commits to a log store, with pauses between them. */
import { onAbort } from "../../platform/base/aborted.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { LogStore, StoreAppend } from "./log_store.ts";
import { SinkError } from "../../owner/observations/sink.ts";

interface Waiting {
  readonly append: StoreAppend;
  readonly settle: (error: SinkError | undefined) => void;
}

/** Writer to a store. */
export type StoreWriter = ReturnType<typeof createStoreWriter>;

/** Creates a writer. The caller closes the store. */
export function createStoreWriter(options: {
  readonly store: Pick<LogStore, "append">;
  readonly clock: Clock;
  /**
   * Pause after a commit, as a multiple of its duration: a commit that waits for the disk blocks everything
   * else in the process.
   */
  readonly pausePerCommit: number;
  /** Most rows that wait; more are refused as unavailable. Default 50000. */
  readonly maxWaitingRows?: number;
}) {
  const { store, clock, pausePerCommit, maxWaitingRows = 50_000 } = options;
  const waiting = new Set<Waiting>();
  const stop = new AbortController();
  let waitingRows = 0;
  let freeAt = 0;
  let isScheduled = false;

  function commit(): void {
    const batch = [...waiting];
    if (batch.length === 0) return;
    const began = clock.monotonic();
    let failure: SinkError | undefined;
    try {
      store.append(batch.map(({ append }) => append));
    } catch (error) {
      failure = new SinkError("unavailable", `the log's database: ${messageOf(error)}`, {
        cause: error,
      });
    }
    const ended = clock.monotonic();
    freeAt = ended + (ended - began) * pausePerCommit;
    for (const { settle } of batch) settle(failure);
  }

  function schedule(): void {
    if (isScheduled) return;
    const pause = freeAt - clock.monotonic();
    if (pause <= 0) return commit();
    isScheduled = true;
    clock.sleep(pause, stop.signal).then(() => {
      isScheduled = false;
      commit();
    });
  }

  return {
    /** Resolves when the rows are stored. Rejects with a SinkError, at the latest when `signal` aborts. */
    append: (append: StoreAppend, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const rows = append.rows.length;
        if (stop.signal.aborted) throw new SinkError("unavailable", "the log is closed");
        if (signal.aborted) {
          throw new SinkError("unavailable", "the deadline passed before the log was written");
        }
        if (waitingRows > 0 && waitingRows + rows > maxWaitingRows) {
          throw new SinkError(
            "unavailable",
            `the log is overloaded: ${waitingRows} rows are waiting to be written`,
          );
        }
        const late = () =>
          own.settle(new SinkError("unavailable", "the log was not written in time"));
        const own: Waiting = {
          append,
          settle: (error) => {
            if (!waiting.delete(own)) {
              return;
            }
            waitingRows -= rows;
            forget();
            if (error === undefined) resolve();
            else reject(error);
          },
        };
        waiting.add(own);
        waitingRows += rows;
        const forget = onAbort(signal, late);
        schedule();
      }),
    /** Writes all rows that wait, and refuses later appends. */
    close(): void {
      stop.abort();
      commit();
    },
  };
}
