/** The client over HTTP: deadlines, Retry-After, watches, and reports for metrics. */
import type {
  CallOptions,
  ClientOptions,
  KubeClient,
  ListOptions,
  RawInit,
  WatchOptions,
} from "./client.ts";
import { type Clock, systemClock } from "./clock.ts";
import { withDeadline } from "./deadline.ts";
import { KubeError, messageOf, TransportError } from "./errors.ts";
import {
  createRequest,
  createSubresourceRequest,
  deleteRequest,
  getRequest,
  type KubeRequest,
  listRequest,
  patchRequest,
  replaceRequest,
  watchRequest,
} from "./request.ts";
import type { ResourceKind } from "./resource.ts";
import { decodeList, decodeOrThrow, discard, errorOf, jsonOf } from "./response.ts";
import { createTransport } from "./transport.ts";
import { CorruptStreamError, decodeEvent, lines, type WatchEvent } from "./watch.ts";

/** A client that holds connections open until it is closed. */
export interface ClosableClient extends KubeClient {
  /** Closes the connections. Calls in flight may fail. */
  close(): void;
}

const DEADLINE_MS = 30_000;
/** How often, and how long at most, a call waits because the server asks for it. */
const WAITS = 3;
const LONGEST_WAIT_MS = 10_000;

/** The watch brought nothing for too long. */
class IdleError extends Error {}

/** Aborts `live` when {@link IdleWatchdog.touch} was not called for `idleMs`. */
class IdleWatchdog {
  #last: number;
  readonly #over = new AbortController();

  constructor(
    private readonly clock: Clock,
    private readonly idleMs: number | undefined,
    private readonly live: AbortController,
  ) {
    this.#last = clock.monotonic();
    if (idleMs !== undefined) this.#run(idleMs);
  }

  touch(): void {
    this.#last = this.clock.monotonic();
  }

  stop(): void {
    this.#over.abort();
  }

  async #run(idleMs: number): Promise<void> {
    while (!this.#over.signal.aborted) {
      const left = this.#last + idleMs - this.clock.monotonic();
      if (left <= 0) return this.live.abort(new IdleError(`nothing came for ${this.idleMs} ms`));
      await this.clock.sleep(left, this.#over.signal);
    }
  }
}

async function* touching(
  stream: AsyncIterable<Uint8Array>,
  watchdog: IdleWatchdog,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    watchdog.touch();
    yield chunk;
  }
}

function late(request: KubeRequest, deadlineMs: number): TransportError {
  const { method, path } = request;
  return new TransportError(`${method} ${path.split("?")[0]}: no answer within ${deadlineMs} ms`);
}

/** Milliseconds to wait before trying again; undefined where the refusal is final. */
function waitFor(error: KubeError, random: () => number): number | undefined {
  const { code, retryAfterMs } = error;
  if ((code !== 429 && code !== 503) || retryAfterMs === undefined) return undefined;
  const wait = retryAfterMs * (1 + random() / 4);
  return wait <= LONGEST_WAIT_MS ? wait : undefined;
}

/** What a caught error of a watch stream means to its reader. */
function watchError(error: unknown): unknown {
  const known = error instanceof KubeError || error instanceof CorruptStreamError ||
    error instanceof TransportError;
  if (known) return error;
  return new TransportError(`the watch broke off: ${messageOf(error)}`, { cause: error });
}

/**
 * A client of the server that the connection names. Throws `ConfigurationError` where the
 * connection cannot work. Call `close` when it is no longer needed.
 */
export function createClient(options: ClientOptions): ClosableClient {
  const { clock = systemClock, onRequest, random = Math.random } = options;
  const transport = createTransport(options.connection);
  const defaultDeadlineMs = options.deadlineMs ?? DEADLINE_MS;

  async function send(request: KubeRequest, signal: AbortSignal): Promise<Response> {
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

  /** Sends until there is an answer that is final, and reads it. */
  async function call<R>(
    request: KubeRequest,
    options: CallOptions,
    read: (response: Response) => Promise<R>,
  ): Promise<R> {
    const { deadlineMs = defaultDeadlineMs, signal, heedRetryAfter = true } = options;
    const onDeadline = () => late(request, deadlineMs);
    const end = clock.monotonic() + deadlineMs;
    return await withDeadline({ clock, deadlineMs, signal, onDeadline }, async (signal) => {
      for (let waits = 0;; waits++) {
        const response = await send(request, signal);
        if (response.ok) return await read(response);
        const error = await errorOf(response, request);
        const wait = heedRetryAfter && waits < WAITS ? waitFor(error, random) : undefined;
        if (wait === undefined || clock.monotonic() + wait >= end) throw error;
        await clock.sleep(wait, signal);
        signal.throwIfAborted();
      }
    });
  }

  async function callFor<T>(
    kind: ResourceKind<T>,
    request: KubeRequest,
    options: CallOptions,
  ): Promise<T> {
    return decodeOrThrow(kind, await call(request, options, (answer) => jsonOf(answer, request)));
  }

  /** The deadline ends with the headers; the signal keeps ending the body. */
  async function open(request: KubeRequest, signal: AbortSignal | undefined, deadlineMs: number) {
    signal?.throwIfAborted();
    const tooLate = new AbortController();
    const answered = new AbortController();
    clock.sleep(deadlineMs, answered.signal).then(() => {
      if (!answered.signal.aborted) tooLate.abort(late(request, deadlineMs));
    });
    const either = signal ? AbortSignal.any([signal, tooLate.signal]) : tooLate.signal;
    try {
      return await send(request, either);
    } finally {
      answered.abort();
    }
  }

  async function* watch<T>(
    kind: ResourceKind<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const { signal, idleMs, namespace, ...query } = options;
    signal.throwIfAborted();
    const live = new AbortController();
    const forward = () => live.abort(signal.reason);
    signal.addEventListener("abort", forward, { once: true });
    const watchdog = new IdleWatchdog(clock, idleMs, live);
    try {
      const request = watchRequest(kind, namespace, query);
      const response = await open(request, live.signal, defaultDeadlineMs);
      if (!response.ok) throw await errorOf(response, request);
      if (response.body === null) return;
      for await (const line of lines(touching(response.body, watchdog))) {
        const event = decodeEvent(kind, line);
        if (event === undefined) continue;
        yield event;
        if (event.type === "error") return;
      }
    } catch (error) {
      if (!live.signal.aborted) throw watchError(error);
      if (!(live.signal.reason instanceof IdleError)) throw live.signal.reason;
    } finally {
      watchdog.stop();
      signal.removeEventListener("abort", forward);
      live.abort();
    }
  }

  return {
    get: (kind, key, options = {}) => callFor(kind, getRequest(kind, key), options),
    async list(kind, options: ListOptions & CallOptions = {}) {
      const { namespace, signal, deadlineMs, heedRetryAfter, ...query } = options;
      const request = listRequest(kind, namespace, { ...query });
      const bounds = { signal, deadlineMs, heedRetryAfter };
      return decodeList(kind, await call(request, bounds, (answer) => jsonOf(answer, request)));
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
    watch,
    raw(path: string, init: RawInit = {}) {
      const { method = "GET", headers = {}, body, signal, deadlineMs = defaultDeadlineMs } = init;
      const request = { verb: method.toLowerCase(), resource: "raw", method, path, headers, body };
      return open(request, signal, deadlineMs);
    },
    close: () => transport.close(),
  };
}
