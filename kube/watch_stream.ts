/** Reader of one watch: opens it, notices when it is dead, and closes it. */
import type { WatchOptions } from "./client.ts";
import type { Clock } from "./clock.ts";
import { KubeError, messageOf, TransportError } from "./errors.ts";
import { type KubeRequest, watchRequest } from "./request.ts";
import type { ResourceKind } from "./resource.ts";
import { errorOf } from "./response.ts";
import { CorruptStreamError, decodeEvent, lines, type WatchEvent } from "./watch.ts";

/** How a watch is opened, and the clock by which it is found dead. */
export interface Opening {
  readonly clock: Clock;
  /** Resolves when the headers are there, in bounded time; the signal ends the body too. */
  readonly open: (request: KubeRequest, signal: AbortSignal) => Promise<Response>;
}

/** The watch brought nothing for too long. */
export class IdleError extends Error {}

/** Aborts `live` when {@link IdleWatchdog.touch} was not called for `idleMs`. */
export class IdleWatchdog {
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
      if (left <= 0) return this.live.abort(new IdleError(`no data for ${this.idleMs} ms`));
      await this.clock.sleep(left, this.#over.signal);
    }
  }
}

/** The chunks of a stream, each of which the watchdog notices. */
export async function* touching(
  stream: AsyncIterable<Uint8Array>,
  watchdog: IdleWatchdog,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    watchdog.touch();
    yield chunk;
  }
}

/** Returns the error for a reader of a watch stream from a caught one. */
function watchError(error: unknown): unknown {
  const known = error instanceof KubeError || error instanceof CorruptStreamError ||
    error instanceof TransportError;
  if (known) return error;
  return new TransportError(`the watch was interrupted: ${messageOf(error)}`, { cause: error });
}

/** The events of one watch. Ends and throws as `KubeClient.watch` says. */
export async function* watchStream<T>(
  kind: ResourceKind<T>,
  options: WatchOptions,
  { clock, open }: Opening,
): AsyncGenerator<WatchEvent<T>> {
  const { signal, idleMs, namespace, ...query } = options;
  signal.throwIfAborted();
  const live = new AbortController();
  const forward = () => live.abort(signal.reason);
  signal.addEventListener("abort", forward, { once: true });
  const watchdog = new IdleWatchdog(clock, idleMs, live);
  try {
    const request = watchRequest(kind, namespace, query);
    const response = await open(request, live.signal);
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
