/** Responses of servers behind the page's, passed on: whole if they are JSON, else as they come. */
import { onAbort } from "../../platform/base/aborted.ts";
import { asObject } from "../../platform/base/json.ts";
import type { HttpRequest, HttpResponse, ResponseSink } from "../../platform/http/message.ts";
import { failureResponse, unavailable } from "../../platform/http/refusals.ts";
import type { KubeClient, PathRequest, WholeResponse } from "../../platform/kube/client.ts";
import { KubeError, TransportError } from "../../platform/kube/errors.ts";
import { type OpenResponse, SilentError } from "../../platform/kube/connection/open_response.ts";

/** Bounds of a call. */
const CALL_LIMITS = {
  /** Until the headers, and of a response that is not streamed until its end, in milliseconds. */
  deadlineMs: 15_000,
  /** Longest response that is not streamed, in bytes. */
  bodyBytes: 16 << 20,
} as const;

/** Says that the manager does not take the tokens by which users call the API server. */
export const TOKEN_NOT_TAKEN = "the manager does not accept this user's token: " +
  "it takes tokens of the API server with --read-with-api-tokens alone";

/** Writes a body as fast as its reader takes it; it is given up when the reader goes. */
async function pump(
  body: AsyncIterable<Uint8Array>,
  { sink, end }: { readonly sink: ResponseSink; readonly end: () => void },
): Promise<void> {
  const forget = onAbort(sink.signal, end);
  try {
    for await (const part of body) {
      await sink.write(part);
      if (sink.signal.aborted) return;
    }
  } catch (error) {
    // The reader went first, and the body broke off because of that; or it asks again after a long silence.
    if (!sink.signal.aborted && !(error instanceof SilentError)) throw error;
  } finally {
    forget();
    end();
  }
}

const typeOf = ({ headers }: { readonly headers: Headers }) => headers.get("content-type") ?? "";

/** A response in a form that nobody here expects, such as the page of a proxy in between. */
function foreign(): HttpResponse {
  const message = "the server behind this one answered in a form that is not known";
  return failureResponse({ code: 502, reason: "Unknown", message });
}

function wholeResponse(response: WholeResponse): HttpResponse {
  if (!typeOf(response).startsWith("application/json")) return foreign();
  const { status, text: body } = response;
  return { status, headers: { "Content-Type": "application/json" }, body };
}

function streamedResponse(response: OpenResponse, wanted: string, end: () => void): HttpResponse {
  const type = typeOf(response);
  if (!type.startsWith(wanted)) {
    end();
    return foreign();
  }
  return {
    status: 200,
    headers: { "Content-Type": wanted === "text/plain" ? "text/plain; charset=utf-8" : type },
    body: "",
    stream: (sink) => pump(response.body, { sink, end }),
  };
}

/**
 * Makes a call and passes the response on. Throws a {@link TransportError} if there is none in time, and the
 * refusal if there is one. Only headers that are named here are passed, in either direction.
 */
export async function proxy(
  client: Pick<KubeClient, "read" | "stream">,
  request: Pick<HttpRequest, "signal">,
  { path, streamed, isManager = false, ...init }: PathRequest & {
    readonly path: string;
    /** A response that is passed on as it comes: its media type, and how long it may be silent. */
    readonly streamed?: { readonly type: string; readonly idleMs: number };
    /** The server is the manager: that it takes no tokens of the API server says nothing about the viewer. */
    readonly isManager?: boolean;
  },
): Promise<HttpResponse> {
  const over = new AbortController();
  const end = () => over.abort();
  onAbort(request.signal?.(), end);
  const { deadlineMs, bodyBytes: maxBytes } = CALL_LIMITS;
  const call = { ...init, signal: over.signal, deadlineMs };
  try {
    if (streamed !== undefined) {
      const { type, idleMs } = streamed;
      return streamedResponse(await client.stream(path, { ...call, idleMs }), type, end);
    }
    // Who asks is told when to ask again.
    return wholeResponse(await client.read(path, { ...call, maxBytes, honorRetryAfter: false }));
  } catch (error) {
    if (over.signal.aborted) {
      const cause = asObject(over.signal.reason);
      throw new TransportError("the client went away", { cause });
    }
    const isNotTaken = error instanceof KubeError && error.code === 401;
    // A browser that is told 401 throws its session away.
    if (isManager && isNotTaken) return failureResponse(unavailable(TOKEN_NOT_TAKEN));
    throw error;
  }
}
