/** Responses of servers behind the page's, passed on: whole if they are JSON, else as they come. */
import { asObject } from "../../crds/json.ts";
import type { HttpRequest, HttpResponse, ResponseSink } from "../../http/message.ts";
import { failureResponse, unavailable } from "../../http/refusals.ts";
import type { KubeClient, RawInit } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { TransportError } from "../../kube/errors.ts";
import { errorOf, readBody } from "../../kube/response.ts";

/** Bounds of a call. */
export const CALL_LIMITS = {
  /** Until the headers, and of a response that is not streamed until its end, in milliseconds. */
  deadlineMs: 15_000,
  /** Longest response that is not streamed, in bytes. */
  bodyBytes: 16 << 20,
} as const;

/** A call to a server behind this one. */
export interface PassedCall extends Pick<RawInit, "method" | "headers" | "body"> {
  readonly path: string;
  /** Media type of a response that is passed on as it comes. */
  readonly streamed?: string;
  /** The server is the manager: that it takes no tokens of the API server says nothing about who looks. */
  readonly isManager?: boolean;
}

/** Says that the manager does not take the tokens by which users call the API server. */
export const TOKEN_NOT_TAKEN = "the manager does not accept this user's token: " +
  "it takes tokens of the API server with --read-with-api-tokens alone";

/** What a call needs. */
export interface PassParts {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Clock;
}

/** Writes a body as fast as its reader takes it; it is given up when the reader goes. */
async function pump(
  body: ReadableStream<Uint8Array> | null,
  { sink, end }: { readonly sink: ResponseSink; readonly end: () => void },
): Promise<void> {
  sink.signal.addEventListener("abort", end, { once: true });
  if (sink.signal.aborted) end();
  try {
    for await (const part of body ?? []) {
      await sink.write(part);
      if (sink.signal.aborted) return;
    }
  } catch (error) {
    // The reader went first, and the body broke off because of that.
    if (!sink.signal.aborted) throw error;
  } finally {
    sink.signal.removeEventListener("abort", end);
    end();
  }
}

const isJson = (type: string) => type.startsWith("application/json");

/** A refusal that is no Status, such as that of a proxy in between, in the form of one. */
function foreignFailure(code: number): HttpResponse {
  const message = `the server behind this one answered with HTTP ${code}`;
  return failureResponse({ code, reason: "Unknown", message });
}

/**
 * Makes a call and passes the response on. Throws a {@link TransportError} if there is none in time, and the
 * refusal if the API server does not accept the credentials. Only headers that are named here are passed, in
 * either direction.
 */
export async function passOn(
  { client, clock }: PassParts,
  request: Pick<HttpRequest, "signal">,
  { path, streamed, isManager = false, ...init }: PassedCall,
): Promise<HttpResponse> {
  const over = new AbortController();
  const answered = new AbortController();
  const end = () => over.abort();
  const gone = request.signal?.();
  gone?.addEventListener("abort", end, { once: true });
  if (gone?.aborted) end();
  const { deadlineMs, bodyBytes } = CALL_LIMITS;
  void clock.sleep(deadlineMs, answered.signal).then(() => {
    const late = new TransportError(`no whole response within ${deadlineMs} ms`);
    if (!answered.signal.aborted) over.abort(late);
  });
  try {
    const response = await client.raw(path, { ...init, signal: over.signal, deadlineMs });
    if (response.status === 401) {
      const error = await errorOf(response, { method: init.method ?? "GET", path });
      // A browser that is told 401 throws its session away.
      if (isManager) return failureResponse(unavailable(TOKEN_NOT_TAKEN));
      throw error;
    }
    const type = response.headers.get("content-type") ?? "";
    if (response.ok && streamed !== undefined && type.startsWith(streamed)) {
      const { body } = response;
      return {
        status: response.status,
        headers: { "Content-Type": streamed === "text/plain" ? "text/plain; charset=utf-8" : type },
        body: "",
        stream: (sink) => pump(body, { sink, end }),
      };
    }
    const body = await readBody(response, bodyBytes);
    if (!isJson(type)) return foreignFailure(response.ok ? 502 : response.status);
    const retry = response.headers.get("retry-after");
    return {
      status: response.status,
      headers: { "Content-Type": "application/json", ...(retry && { "Retry-After": retry }) },
      body,
    };
  } catch (error) {
    throw over.signal.aborted ? asError(over.signal.reason) : error;
  } finally {
    answered.abort();
  }
}

function asError(reason: unknown): unknown {
  return reason instanceof TransportError
    ? reason
    : new TransportError("the client went away", { cause: asObject(reason) });
}
