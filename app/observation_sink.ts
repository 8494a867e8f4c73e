/** Which observation log the manager writes, by its settings. */
import type { ObservationSink } from "../katib/log/sink.ts";
import { createMemorySink } from "../katib/log/memory_sink.ts";
import type { Clock } from "../kube/clock.ts";
import { ConfigurationError } from "../kube/errors.ts";
import type { Metrics } from "./metrics.ts";
import type { SinkChoice } from "./observation_settings.ts";

/** What a sink is made by. */
export interface SinkOptions {
  /** `--observation-sink`; undefined where nobody chose. */
  readonly setting: SinkChoice | undefined;
  /** `--katib-db-manager`, `host:port`. */
  readonly katibDbManager: string;
  /** Whether the cluster has Katib's Trials now: which sink an unset setting means. */
  readonly trialsExist: () => boolean;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Longest that one attempt of a call may take (decision 7), in milliseconds. */
  readonly deadlineMs: number;
}

/**
 * The sink of the settings. What it needs (SQLite, gRPC) is loaded only here. Throws a
 * ConfigurationError where the setting is wrong.
 */
export function createSink({ setting }: SinkOptions): Promise<ObservationSink> {
  if (setting === undefined || setting.kind === "memory") {
    return Promise.resolve(createMemorySink());
  }
  return Promise.reject(
    new ConfigurationError(`--observation-sink: ${setting.kind} is not built yet; use memory`),
  );
}
