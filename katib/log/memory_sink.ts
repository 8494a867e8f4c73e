/** Observation sink in the memory of this process. */
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import { openLogStore } from "./log_store.ts";
import type { ObservationSink } from "../../owner/observations/sink.ts";
import { createStoreSink } from "./sqlite_sink.ts";

/** Options of {@link createMemorySink}. */
export interface MemorySinkOptions {
  /** Size of all logs; beyond it plain logs are dropped, and then appends fail. Default 128 MiB. */
  readonly maxBytes?: number;
  /** Most rows of the log of a job without a trial, which loses its oldest ones. Default 100000. */
  readonly maxPlainRows?: number;
  readonly clock?: Clock;
}

/** Creates an empty sink. Its rows are not on JavaScript's heap, where garbage collection visits them. */
export function createMemorySink(options: MemorySinkOptions = {}): ObservationSink {
  const { clock = systemClock, ...limits } = options;
  return createStoreSink({ name: "memory", isDurable: false, store: openLogStore(limits), clock });
}
