/** Calls of the server: requests with the session's key, and their refusals. */
import { statusMessage } from "./answer_fields.ts";

/** A refusal, or no answer (`status` 0). */
export class CallError extends Error {
  override name = "CallError";
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** Returns what an error says is wrong, with the status of a refusal, else 0. */
export const problemOf = (error: unknown) => ({
  status: error instanceof CallError ? error.status : 0,
  message: error instanceof Error ? error.message : String(error),
});
/** What is wrong. */
export type Problem = ReturnType<typeof problemOf>;

/** Marks a request as one of this page: other sites cannot set it. */
const OURS = { "X-Milepost": "1" };
/** Time within which an answer has to be there, and one that is streamed has to begin, in milliseconds. */
const DEADLINE_MS = 30_000;
/** Most characters of a refusal that are read. */
const MOST_MESSAGE = 2_000;

/** A request. */
export interface Call {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  /** Empty: a proxy adds one. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal;
  /** The tag of an answer that is there already: then a response of 304 may come. */
  readonly tag?: string | undefined;
  /** Whether the body is read as it comes. */
  readonly streamed?: boolean;
}

/** Sends a request and returns its response. Throws a {@link CallError} if it was refused. */
export async function send(
  { method = "GET", path, body, key, signal, tag, streamed = false }: Call,
  deadlineMs = DEADLINE_MS,
): Promise<Response> {
  const stop = new AbortController();
  const timer = setTimeout(
    () => stop.abort(new CallError(0, "no answer came in time")),
    deadlineMs,
  );
  const signals = signal === undefined ? [stop.signal] : [stop.signal, signal];
  let response: Response;
  try {
    const begun = await fetch(path, {
      method,
      signal: AbortSignal.any(signals),
      cache: "no-store",
      redirect: "error",
      headers: {
        ...(key && { Authorization: `Bearer ${key}` }),
        ...(tag !== undefined && { "If-None-Match": tag }),
        ...(method === "POST" && { ...OURS, "Content-Type": "application/json" }),
      },
      ...(method === "POST" && { body: JSON.stringify(body ?? {}) }),
    });
    // A body that stalls would be waited for without an end. A 304 has none, whatever a browser says.
    const isLeft = begun.body === null || begun.status === 304 || (streamed && begun.ok);
    response = isLeft ? begun : new Response(await begun.arrayBuffer(), begun);
  } catch (error) {
    if (signal?.aborted || error instanceof CallError) throw error;
    throw new CallError(0, "the server does not answer");
  } finally {
    clearTimeout(timer);
  }
  if (response.ok || (response.status === 304 && tag !== undefined)) return response;
  const text = (await response.text().catch(() => "")).slice(0, 65_536);
  const message = statusMessage(text, `the server answered ${response.status}`);
  throw new CallError(response.status, message.slice(0, MOST_MESSAGE));
}

/** Sends a request and returns the JSON of its response. */
export async function ask(call: Call): Promise<unknown> {
  const response = await send(call);
  try {
    return await response.json();
  } catch {
    throw new CallError(0, "the answer was cut off");
  }
}
