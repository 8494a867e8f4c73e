/** Open response: a body that is read as it comes, and ended by silence, by its signal or by its reader. */
import { onAbort } from "../../base/aborted.ts";
import type { Clock } from "../../base/clock.ts";
import { type Bounds, withDeadline } from "../../base/deadline.ts";
import { TransportError } from "../errors.ts";
import type { KubeRequest } from "./request.ts";
import { errorOf, unbroken } from "./response.ts";

/** A response whose body is still to come. */
export interface OpenResponse {
  readonly headers: Headers;
  /**
   * The parts of the body. Throws {@link SilentError} when none came for too long, `TransportError` when the
   * body breaks off, and the reason of the call's signal. Whoever stops reading closes the connection.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Nothing more came, though the body has not ended. */
export class SilentError extends TransportError {
  constructor(where: string, idleMs: number) {
    super(`${where}: nothing came for ${idleMs} ms`);
    this.name = "SilentError";
  }
}

/** How a request is sent; until when its headers, or a refusal, are there; and how long it may be silent. The signal also ends the body. */
export interface OpenOptions extends Bounds {
  readonly send: (request: KubeRequest, signal: AbortSignal) => Promise<Response>;
  /** Longest wait for the next part of the body, in milliseconds. The time that its reader takes does not count. */
  readonly idleMs: number;
}

const LEFT = new TransportError("nobody reads the response any more");

/** Calls `onSilence` once somebody has listened for `idleMs` and heard nothing. */
class Silence {
  #since: number | undefined;
  readonly #over = new AbortController();

  constructor(
    private readonly clock: Clock,
    private readonly idleMs: number,
    private readonly onSilence: () => void,
  ) {
    this.listen();
    void this.#run();
  }

  listen(): void {
    this.#since = this.clock.monotonic();
  }

  heard(): void {
    this.#since = undefined;
  }

  stop(): void {
    this.#over.abort();
  }

  async #run(): Promise<void> {
    const { clock, idleMs } = this;
    while (!this.#over.signal.aborted) {
      const now = clock.monotonic();
      const left = (this.#since ?? now) + idleMs - now;
      if (left <= 0) return this.onSilence();
      await clock.sleep(left, this.#over.signal);
    }
  }
}

/** Sends the request. Throws a refusal, whose body has the deadline too. */
export async function openResponse(
  request: KubeRequest,
  options: OpenOptions,
): Promise<OpenResponse> {
  const { clock, send, idleMs, signal } = options;
  const live = new AbortController();
  const forget = onAbort(signal, () => live.abort(signal?.reason));
  const end = (reason: unknown) => {
    forget();
    live.abort(reason);
  };

  async function* parts(response: Response, silence: Silence): AsyncGenerator<Uint8Array> {
    try {
      for await (const part of unbroken(response.body ?? [])) {
        silence.heard();
        yield part;
        silence.listen();
      }
      live.signal.throwIfAborted();
    } catch (error) {
      throw live.signal.aborted ? live.signal.reason : error;
    } finally {
      silence.stop();
      end(LEFT);
    }
  }

  try {
    const response = await withDeadline(options, async (bounded) => {
      onAbort(bounded, () => live.abort(bounded.reason));
      const response = await send(request, live.signal);
      if (response.ok) return response;
      throw await errorOf(response, request);
    });
    const where = `${request.method} ${request.path.split("?")[0]}`;
    // A response that nobody begins to read ends with the first silence.
    const silence = new Silence(clock, idleMs, () => end(new SilentError(where, idleMs)));
    return { headers: response.headers, body: parts(response, silence) };
  } catch (error) {
    end(error);
    throw error;
  }
}
