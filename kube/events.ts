/** Records core/v1 Events: aggregated, bounded, and never a reason to fail. */
import type { Clock } from "./clock.ts";
import type { KubeClient } from "./client.ts";

/** The object that an event is about. */
export interface EventSubject {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
}

/** What happened. The message is cut to 1024 characters. */
export interface EventText {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** Writes events in the background. */
export interface EventRecorder {
  /** Queues an event; never waits, never throws. */
  record(about: EventSubject, event: EventText): void;
  /** Resolves when all that was recorded before is written or given up. */
  flush(): Promise<void>;
  /** Writes until `signal` aborts; what is queued then is tried once more, for two seconds at most. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createEventRecorder}. */
export interface EventRecorderOptions {
  client: KubeClient;
  /** `source.component` and `reportingComponent` of the events. */
  component: string;
  clock?: Clock;
  /** Told for each event that was not written, with the cause. */
  onDropped?: (cause: "queue_full" | "rate_limited" | "refused") => void;
}

/** A recorder; it writes while {@link EventRecorder.run} runs, or at {@link EventRecorder.flush}. */
export function createEventRecorder(_options: EventRecorderOptions): EventRecorder {
  throw new Error("the event recorder is being built");
}
