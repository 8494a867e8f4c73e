/** Source of pod logs: the interface by which the server reaches the kubelet. */
import type { ApiObject } from "../objects/api_object.ts";

/** What a client wants of a pod's log. */
export interface PodLogRequest {
  readonly pod: ApiObject;
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
  /** Aborted when the client goes away or the server closes. */
  readonly signal: AbortSignal;
}

/** Answers with the log as a stream of text. May throw `StatusError`-like errors. */
export type PodLogs = (request: PodLogRequest) => Promise<Response>;
