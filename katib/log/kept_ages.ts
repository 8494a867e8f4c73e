/** Deletion of the logs of jobs that ended long ago, by whoever has their database. */
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { LogStore } from "./log_store.ts";

/** Time between two looks, and between two logs: a long one takes a tenth of a second, in milliseconds. */
const [LOOK_MS, PAUSE_MS] = [3_600_000, 200];
/** Pauses after failures. */
const RETRY = { firstMs: 10_000, longestMs: LOOK_MS } as const;

/** Bounds of what is kept of jobs that ended. */
export interface KeptBounds {
  /** Size of the database; see `LogStoreOptions`. */
  readonly maxBytes?: number | undefined;
  /** Time after a job's end for which its log is kept, in milliseconds; 0 or undefined: as long as the job. */
  readonly maxAgeMs?: number | undefined;
}

/** Deletes the logs of jobs that ended longer ago, at once and from then on, until the returned function is called. */
export function deleteOldLogs(
  store: Pick<LogStore, "expire">,
  { clock, maxAgeMs = 0 }: Pick<KeptBounds, "maxAgeMs"> & { readonly clock: Clock },
): () => void {
  const over = new AbortController();
  const log = getLogger(["milepost", "katib"]);

  async function deleteAll(): Promise<void> {
    let logs = 0;
    for (; store.expire(clock.now() - maxAgeMs) !== undefined; logs++) {
      await clock.sleep(PAUSE_MS, over.signal);
      if (over.signal.aborted) return;
    }
    if (logs > 0) log.info("deleted logs of jobs that ended long ago", { logs });
  }

  async function run(): Promise<void> {
    for (let failures = 0; !over.signal.aborted;) {
      try {
        await deleteAll();
        failures = 0;
      } catch (error) {
        failures++;
        log.warn("cannot delete old logs; retrying", { problem: messageOf(error) });
      }
      const pauseMs = failures === 0 ? LOOK_MS : backoffMs(failures, RETRY, Math.random);
      await clock.sleep(pauseMs, over.signal);
    }
  }

  if (maxAgeMs > 0) void run();
  return () => over.abort("over");
}
