/** Source of pod logs: the interface by which the server reaches the kubelet. */
import type { ApiObject } from "../objects/api_object.ts";

/** A pod whose log is read. */
export type LoggedPod = {
  readonly spec?: unknown;
  readonly metadata: Pick<ApiObject["metadata"], "name" | "namespace" | "uid" | "annotations">;
};

/** Returns a pod that is gone and whose log can still be read. */
export type FindGonePod = (namespace: string, name: string) => LoggedPod | undefined;

/** Request for a pod's log. */
export interface PodLogRequest {
  readonly pod: LoggedPod;
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly sinceSeconds?: number;
  /** RFC 3339. */
  readonly sinceTime?: string;
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
}

/** Returns the log as a stream of text. May throw a `StatusError`. */
export type PodLogs = (request: PodLogRequest) => Promise<Response>;
