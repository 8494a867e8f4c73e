/** POST of a notification to its sink, and what its answer means. */
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { type Sink, urlProblem } from "./notified_sink.ts";

/** Time for a request, in milliseconds. */
const DEADLINE_MS = 5_000;
/** Longest `Retry-After` that is kept to, in milliseconds. */
const LONGEST_WAIT_MS = 600_000;
/** Refusals that say nothing of the next try. */
const PASSING: readonly number[] = [408, 425, 429];

/** A notification as it is sent. */
export interface Message {
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** What became of a try; `why` never has the address. */
export type Answer =
  | { readonly kind: "sent" }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "again"; readonly why: string; readonly afterMs?: number };

/** Returns the address of the sink. Throws what is wrong with it, without it. */
export async function addressOf({ url }: Sink): Promise<string> {
  const address = (await url()).trim();
  const problem = urlProblem(address);
  if (problem !== undefined) throw new Error(`its URL ${problem}`);
  return address;
}

/** What the answer to a request means. */
function answerOf({ status, headers }: Response): Answer {
  if (status >= 200 && status < 300) return { kind: "sent" };
  if (status >= 300 && status < 400) {
    return { kind: "refused", why: `it answers ${status}, and no redirect is followed` };
  }
  const why = `it answers ${status}`;
  if (status < 500 && !PASSING.includes(status)) return { kind: "refused", why };
  const seconds = Number(headers.get("retry-after") ?? "");
  const afterMs = Number.isFinite(seconds) ? seconds * 1000 : 0;
  return { kind: "again", why, afterMs: Math.min(Math.max(0, afterMs), LONGEST_WAIT_MS) };
}

/** Sends one request, as `fetch` does. */
export type Request = (address: string, init: RequestInit) => Promise<Response>;

/** Tries once to send the message; reads nothing of the answer but its head. */
export async function post(
  sink: Sink,
  { id, body }: Message,
  { request, clock, signal, deadlineMs = DEADLINE_MS }: {
    readonly request: Request;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly deadlineMs?: number | undefined;
  },
): Promise<Answer> {
  const late = new Error(`no answer within ${deadlineMs / 1000} s`);
  let address = "";
  try {
    address = await addressOf(sink);
    const headers = { "Content-Type": "application/json", "Idempotency-Key": id };
    const init: RequestInit = { method: "POST", headers, body, redirect: "manual" };
    const bounds = { clock, deadlineMs, signal, onDeadline: () => late };
    return await withDeadline(bounds, async (signal) => {
      const answer = await request(address, { ...init, signal });
      await answer.body?.cancel();
      return answerOf(answer);
    });
  } catch (error) {
    if (address === "" || error === late) return { kind: "again", why: messageOf(error) };
    // What the runtime says of a failed request has the address in it.
    return { kind: "again", why: "it cannot be reached" };
  }
}
