/** Source of pod logs: the interface by which the server reaches the kubelet. */
import type { LogOptions } from "../../../crds/log_options.ts";
import type { SentMetadata } from "../objects/api_object.ts";

/** A pod whose log is read. */
export interface LoggedPod {
  readonly spec?: unknown;
  readonly metadata?: Pick<SentMetadata, "name" | "namespace" | "uid" | "annotations">;
}

/** Returns a pod that is gone and whose log can still be read. */
export type FindGonePod = (namespace: string, name: string) => LoggedPod | undefined;

/** Request for a pod's log. */
export interface PodLogRequest {
  readonly pod: LoggedPod;
  readonly container: string;
  readonly options: LogOptions;
}

/** Returns the log, whose reading may end before it does. May throw a `StatusError`. */
export type PodLogs = (request: PodLogRequest) => ReadableStream<Uint8Array>;
