/** Bounds of the work for visitors: what is read for them at a time, and logs that they follow. */
import { createFairTurns } from "../../platform/base/fair_turns.ts";
import {
  createStreamSlots,
  type StreamLimitReason,
  type StreamSlot,
} from "../../platform/http/limits/stream_limits.ts";
import type { HttpResponse } from "../../platform/http/message.ts";
import { failureResponse, retryAfter, tooMany, unavailable } from "../../platform/http/refusals.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { TransportError } from "../../platform/kube/errors.ts";
import { createHeldAnswers } from "./held_answers.ts";
import type { ReceivedBody } from "./page_routes.ts";

/** Default bounds. */
export const VISITOR_LIMITS = {
  /** Logs that are followed, in all and by one visitor. */
  logs: { total: 1_000, perSubject: 20 },
  /** Requests that arrive, are read for, or wait for it, in all and of one visitor. */
  readings: { total: 400, perSubject: 40 },
  /** Those that are read for at a time, in all and for one visitor. */
  atOnce: { total: 16, perKey: 4 },
  /** How long one may be read for, in milliseconds. */
  readMs: 20_000,
  answers: { bytes: 64 << 20, smallBytes: 65_536, writeMs: 30_000 },
};

const RETRY_MS = 1_000;

/** What is done for a request. */
export interface VisitorWork {
  /** Receives what the client has yet to send, before a place is taken for it. */
  readonly receive: () => Promise<ReceivedBody>;
  /** Answers; `signal` aborts when the client has gone, or the time for it is over. */
  readonly answer: (body: unknown, signal: AbortSignal) => Promise<HttpResponse>;
}

/** Does the work, or refuses it. */
export type BoundWork = (request: {
  /** Tells visitors apart: whose token it is, however that is written. */
  readonly visitor: string;
  readonly path: string;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}, work: VisitorWork) => Promise<HttpResponse>;

function refusal(limit: StreamLimitReason, what: string): HttpResponse {
  const shape = limit === "stream_limit"
    ? unavailable(`too many ${what} at once: try again soon`)
    : tooMany(`you have too many ${what} at once: try again soon`);
  return failureResponse(shape, { headers: retryAfter(RETRY_MS) });
}

/** Returns the response, whose slot is free when its stream has ended. */
function releasing(response: HttpResponse, slot: StreamSlot): HttpResponse {
  const { stream } = response;
  if (stream === undefined) {
    slot.release();
    return response;
  }
  return { ...response, stream: (sink) => stream(sink).finally(() => slot.release()) };
}

/** Creates the bounds of a site. Lists, curves and their streams have bounds of their own. */
export function createVisitorBounds(clock: Clock, limits = VISITOR_LIMITS): BoundWork {
  const logs = createStreamSlots(limits.logs);
  const readings = createStreamSlots(limits.readings);
  const inTurn = createFairTurns(limits.atOnce);
  const hold = createHeldAnswers(clock, limits.answers);
  const { readMs: deadlineMs } = limits;
  const onDeadline = () => new TransportError(`no answer within ${deadlineMs} ms`);

  const followed: BoundWork = async ({ visitor, signal }, { answer }) => {
    const slot = logs.take(visitor);
    if (typeof slot === "string") return refusal(slot, "logs");
    try {
      return releasing(await answer(undefined, signal), slot);
    } catch (error) {
      slot.release();
      throw error;
    }
  };

  const read: BoundWork = async ({ visitor, signal }, { receive, answer }) => {
    const slot = readings.take(visitor);
    if (typeof slot === "string") return refusal(slot, "requests");
    try {
      const received = await receive();
      if ("refusal" in received) return received.refusal;
      const inTime = () =>
        withDeadline(
          { clock, deadlineMs, onDeadline, signal },
          (signal) => answer(received.value, signal),
        );
      return hold(visitor, await inTurn(visitor, inTime, signal));
    } finally {
      slot.release();
    }
  };

  return (request, work) => {
    const { path, signal } = request;
    if (path.startsWith("/view/")) return work.answer(undefined, signal);
    return path.startsWith("/logs/") ? followed(request, work) : read(request, work);
  };
}
