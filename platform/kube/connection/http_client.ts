/** Kubernetes client over HTTP: deadlines, Retry-After, watches, and reports for metrics. */
import type {
  CallOptions,
  ClientOptions,
  KubeClient,
  ListOptions,
  PathRequest,
  StreamOptions,
} from "../client.ts";
import {
  decodeList,
  decodeOrThrow,
  discard,
  errorOf,
  jsonOf,
  readBody,
  type ResponseBounds,
} from "./response.ts";
import { systemClock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import { type KubeError, TransportError } from "../errors.ts";
import { openResponse } from "./open_response.ts";
import {
  createRequest,
  createSubresourceRequest,
  deleteRequest,
  getRequest,
  type KubeRequest,
  listRequest,
  patchRequest,
  replaceRequest,
} from "./request.ts";
import type { Kind } from "../resource.ts";
import type { HttpRequest, Transport } from "./transport.ts";
import { watchStream } from "../watching/watch_stream.ts";

/** A client that holds connections open until it is closed. */
export interface ClosableClient extends KubeClient {
  /** Closes the connections. Calls in flight may fail. */
  close(): void;
}

const DEADLINE_MS = 30_000;
/** How often, and how long at most, a call waits because the server asks for it. */
const WAITS = 3;
const LONGEST_WAIT_MS = 10_000;
/** Longest response to {@link KubeClient.read} if the caller sets no other limit, in bytes. */
const READ_BYTES = 16 * 1024 * 1024;
/** A watch says something each minute: the API server sends bookmarks. In milliseconds. */
const WATCH_IDLE_MS = 75_000;

function pathRequest(path: string, { method = "GET", headers = {}, body }: PathRequest) {
  return { verb: method.toLowerCase(), resource: "raw", method, path, headers, body };
}

function late(request: KubeRequest, deadlineMs: number): TransportError {
  const { method, path } = request;
  return new TransportError(`${method} ${path.split("?")[0]}: no response within ${deadlineMs} ms`);
}

/** Milliseconds to wait before trying again; undefined if the refusal is final. */
function waitFor(error: KubeError, random: () => number): number | undefined {
  const { code, retryAfterMs } = error;
  if ((code !== 429 && code !== 503) || retryAfterMs === undefined) return undefined;
  const wait = retryAfterMs * (1 + random() / 4);
  return wait <= LONGEST_WAIT_MS ? wait : undefined;
}

/** A client over a transport, which others may use, too. */
export function createClientOver(
  transport: Pick<Transport, "send" | "close">,
  options: Omit<ClientOptions, "connection"> = {},
): ClosableClient {
  const { clock = systemClock, onRequest, random = Math.random } = options;
  const defaultDeadlineMs = options.deadlineMs ?? DEADLINE_MS;

  async function send(request: KubeRequest & HttpRequest, signal: AbortSignal): Promise<Response> {
    const { verb, resource } = request;
    const started = clock.monotonic();
    const report = (code: number) =>
      onRequest?.({ verb, resource, code, seconds: (clock.monotonic() - started) / 1000 });
    try {
      const response = await transport.send(request, signal);
      report(response.status);
      return response;
    } catch (error) {
      report(0);
      throw error;
    }
  }

  /** Sends until a response is final, and reads it. */
  async function call<R>(
    request: KubeRequest,
    options: CallOptions,
    read: (response: Response) => Promise<R>,
  ): Promise<R> {
    const { deadlineMs = defaultDeadlineMs, signal, honorRetryAfter = true } = options;
    const { mayLeave, newConnection } = options;
    const sent = { ...request, mayLeave, newConnection };
    const onDeadline = () => late(request, deadlineMs);
    const end = clock.monotonic() + deadlineMs;
    return await withDeadline({ clock, deadlineMs, signal, onDeadline }, async (signal) => {
      for (let waits = 0;; waits++) {
        const response = await send(sent, signal);
        if (response.ok) return await read(response);
        const error = await errorOf(response, request);
        const wait = honorRetryAfter && waits < WAITS ? waitFor(error, random) : undefined;
        if (wait === undefined || clock.monotonic() + wait >= end) throw error;
        await clock.sleep(wait, signal);
        signal.throwIfAborted();
      }
    });
  }

  async function callFor<T>(
    kind: Kind<T>,
    request: KubeRequest,
    { maxBytes, onBytes, ...options }: ResponseBounds & CallOptions,
  ): Promise<T> {
    const read = (answer: Response) => jsonOf(answer, request, { maxBytes, onBytes });
    return decodeOrThrow(kind, await call(request, options, read));
  }

  async function open(request: KubeRequest, options: StreamOptions) {
    const { deadlineMs = defaultDeadlineMs, idleMs, signal } = options;
    const onDeadline = () => late(request, deadlineMs);
    return await openResponse(request, { clock, send, deadlineMs, onDeadline, idleMs, signal });
  }

  return {
    get: (kind, key, options = {}) => callFor(kind, getRequest(kind, key), options),
    async list(kind, options: ListOptions & CallOptions = {}) {
      const { namespace, labelSelector, fieldSelector, limit, resourceVersion } = options;
      const selection = { labelSelector, fieldSelector, limit, resourceVersion };
      const query = { ...selection, continue: options.continue };
      const request = listRequest(kind, namespace, query);
      const { maxBytes, onBytes } = options;
      const read = (answer: Response) => jsonOf(answer, request, { maxBytes, onBytes });
      return decodeList(kind, await call(request, options, read));
    },
    create: (kind, object, options = {}) => callFor(kind, createRequest(kind, object), options),
    replace: (kind, object, options = {}) =>
      callFor(kind, replaceRequest(kind, object, options.subresource), options),
    patch: (kind, key, patch, options = {}) =>
      callFor(kind, patchRequest(kind, key, patch, options.subresource), options),
    delete: (kind, key, options = {}) => call(deleteRequest(kind, key, options), options, discard),
    createSubresource(kind, key, subresource, body, options = {}) {
      const request = createSubresourceRequest(kind, key, subresource, body);
      return call(request, options, (answer) => jsonOf(answer, request));
    },
    watch: (kind, options) =>
      watchStream(
        kind,
        options,
        (request, { signal, idleMs = WATCH_IDLE_MS }) => open(request, { signal, idleMs }),
      ),
    read(path, options = {}) {
      const { maxBytes = READ_BYTES, onBytes } = options;
      return call(pathRequest(path, options), options, async (response) => {
        const { status, headers } = response;
        return { status, headers, text: await readBody(response, maxBytes, { onBytes }) };
      });
    },
    stream: (path, options) => open(pathRequest(path, options), options),
    close: () => transport.close(),
  };
}
