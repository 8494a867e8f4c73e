/** Kubernetes client: typed calls to one API server over one authenticated transport. */
import type { Clock } from "../base/clock.ts";
import type { Connection } from "./connection/connection.ts";
import type { OpenResponse } from "./connection/open_response.ts";
import type { Deletion, Patch } from "./connection/request.ts";
import type { ListResult, ResponseBounds } from "./connection/response.ts";
import type { Kind, KubeObject, ObjectKey } from "./resource.ts";
import type { WatchEvent } from "./watching/watch.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  signal?: AbortSignal;
  /** The call fails after this many milliseconds, including waits that the server asks for. Default 30000. */
  deadlineMs?: number;
  /** Whether the call waits and tries again after 429 and 503 with `Retry-After`. Default true. */
  honorRetryAfter?: boolean;
  /** Called right before each request of the call leaves. What it throws the call throws, and nothing is sent. */
  mayLeave?: () => void;
  /** Whether the call takes a connection of its own: those that are kept open may be dead. Default false. */
  newConnection?: boolean;
}

/** Which objects of a kind. Without a namespace: of all of them. */
export interface ListOptions extends ResponseBounds {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Objects per page. Without it the server returns all of them in one. */
  limit?: number;
  /** The token of the page before. */
  continue?: string;
  resourceVersion?: string;
}

/** Options of {@link KubeClient.watch}. */
export interface WatchOptions
  extends Omit<ListOptions, "limit" | "continue" | keyof ResponseBounds> {
  signal: AbortSignal;
  /** The server ends the watch after this many seconds. */
  timeoutSeconds?: number;
  /** Ends the watch when nothing has come for this long, in milliseconds. Default 75000. */
  idleMs?: number;
}

/** Options of a deletion. */
export interface DeleteOptions extends CallOptions, Deletion {}

/** A request of a path. */
export interface PathRequest {
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Options of {@link KubeClient.read}. */
export interface ReadOptions extends PathRequest, CallOptions, Pick<ResponseBounds, "onBytes"> {
  /** Longest response that is read, in bytes; a longer one is a `TooLargeError`. Default 16 MiB. */
  readonly maxBytes?: number;
}

/** Options of {@link KubeClient.stream}. */
export interface StreamOptions extends PathRequest {
  /** Ends the call, and the body; they then throw the signal's reason. */
  readonly signal?: AbortSignal;
  /** Until the headers are there; of a refusal, until its end. In milliseconds. Default 30000. */
  readonly deadlineMs?: number;
  /** Longest wait for the next part of the body, in milliseconds. */
  readonly idleMs: number;
}

/** A response that was read to its end. */
export interface WholeResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Report about a request, with which {@link ClientOptions.onRequest} is called. */
export interface RequestReport {
  readonly verb: string;
  /** Plural of the kind, with `/subresource` if there is one; `raw` for requests of a path. */
  readonly resource: string;
  /** HTTP status; 0 if there was no response. */
  readonly code: number;
  readonly seconds: number;
}

/**
 * Typed calls to one API server. Every call has a deadline. It throws `KubeError` if the server
 * refuses, `TransportError` if it does not respond, and the signal's reason if it is aborted. Writes are
 * repeated only after 429 and 503 with `Retry-After`.
 */
export interface KubeClient {
  get<T>(kind: Kind<T>, key: ObjectKey, options?: ResponseBounds & CallOptions): Promise<T>;
  list<T>(kind: Kind<T>, options?: ListOptions & CallOptions): Promise<ListResult<T>>;
  /** Creates in the namespace of the metadata; `apiVersion` and `kind` are filled in. */
  create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options?: CallOptions,
  ): Promise<T>;
  /** Replaces the object, or one subresource; fails with a conflict if its resourceVersion is old. */
  replace<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options?: CallOptions & { subresource?: string },
  ): Promise<T>;
  patch<T>(
    kind: Kind<T>,
    key: ObjectKey,
    patch: Patch,
    options?: CallOptions & { subresource?: string },
  ): Promise<T>;
  /** Deletes the object. A missing object is an error like any other (404). */
  delete(kind: Kind<unknown>, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  /** Posts to a subresource, such as `token` of a service account; returns what the server sends. */
  createSubresource(
    kind: Kind<unknown>,
    key: ObjectKey,
    subresource: string,
    body: unknown,
    options?: CallOptions,
  ): Promise<unknown>;
  /**
   * Changes from `resourceVersion` on, with bookmarks. Ends when the server ends it, when nothing
   * came for `idleMs`, or after an event of type `error`; throws like every call.
   */
  watch<T>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Requests any path of the server and reads the whole response, within one deadline and a bound of bytes. */
  read(path: string, options?: ReadOptions): Promise<WholeResponse>;
  /**
   * Requests any path of the server for what comes little by little, such as a followed log. The body has no end of
   * time, but is found dead by its silence.
   */
  stream(path: string, options: StreamOptions): Promise<OpenResponse>;
}

/** Options of {@link createClient}. */
export interface ClientOptions {
  connection: Connection;
  clock?: Clock;
  /** A number from 0 up to 1, for jitter. Default `Math.random`. */
  random?: () => number;
  /** Deadline of calls that name none, in milliseconds. Default 30000. */
  deadlineMs?: number;
  /** Called after every request that was sent, for metrics. Must not throw. */
  onRequest?: (report: RequestReport) => void;
}
