/** Deletion of the logs of jobs that ended long ago, by whoever has their database. */
import { getLogger } from "@logtape/logtape";
import { type Clock, every } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { LogStore } from "./log_store.ts";

/** Time between two logs, in milliseconds: a long one takes a tenth of a second, and there are thousands a day. */
const EVERY_MS = 10_000;

/** Bounds of what is kept of jobs in a file. */
export interface HistoryBounds {
  /** Size of the file, in bytes; see `LogStoreOptions`. */
  readonly historyBytes?: number | undefined;
  /** Time after a job's end for which its log is kept, in milliseconds; 0 or undefined: as long as the job. */
  readonly historyAge?: number | undefined;
}

/** Deletes the logs of jobs that ended longer ago, one after the other, until the returned function is called. */
export function deleteOldLogs(
  store: Pick<LogStore, "expire">,
  clock: Clock,
  { historyAge = 0 }: HistoryBounds,
): () => void {
  if (historyAge === 0) return () => {};
  const log = getLogger(["milepost", "katib"]);
  return every(clock, EVERY_MS, () => {
    try {
      const name = store.expire(clock.now() - historyAge);
      if (name !== undefined) log.debug("deleted the log of a job that ended long ago", { name });
    } catch (error) {
      log.warn("cannot delete old logs; retrying", { problem: messageOf(error) });
    }
  });
}
