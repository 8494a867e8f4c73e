/** Logs in the memory of this process: they end with it. */
import { type Clock, systemClock } from "../../kube/clock.ts";
import { openLogStore } from "./log_store.ts";
import type { ObservationSink } from "./sink.ts";
import { createStoreSink } from "./sqlite_sink.ts";

/** How much is kept. */
export interface MemorySinkOptions {
  /** Of all logs; beyond it plain logs are given up, and then appends are unavailable. Default 128 MiB. */
  readonly maxBytes?: number;
  /** Rows of the log of a job without a trial; it loses its oldest. Default 100000. */
  readonly maxPlainRows?: number;
  readonly clock?: Clock;
}

/** Creates a sink without any log. Its rows are not on JavaScript's heap: nothing collects them. */
export function createMemorySink(options: MemorySinkOptions = {}): ObservationSink {
  const { clock = systemClock, ...limits } = options;
  return createStoreSink({ name: "memory", isDurable: false, store: openLogStore(limits), clock });
}
