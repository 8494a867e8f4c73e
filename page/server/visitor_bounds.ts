/** Bounds of the work for visitors: what is read for them at a time, and logs that they follow. */
import { createHash } from "node:crypto";
import {
  createStreamSlots,
  type StreamLimitReason,
  type StreamLimits,
  type StreamSlot,
} from "../../http/limits/stream_limits.ts";
import type { HttpRequest, HttpResponse } from "../../http/message.ts";
import { failureResponse, retryAfter, tooMany, unavailable } from "../../http/refusals.ts";
import { createSemaphore } from "../../kube/semaphore.ts";

/** The bounds. */
export interface VisitorLimits {
  /** Logs that are followed, in all and by one visitor. */
  readonly logs: StreamLimits;
  /** Requests that are read for or wait for it, in all and of one visitor. */
  readonly readings: StreamLimits;
  /** Those that are read for at a time. */
  readonly readingsAtOnce: number;
}

/** Default bounds. */
export const VISITOR_LIMITS: VisitorLimits = {
  logs: { total: 1_000, perSubject: 20 },
  readings: { total: 400, perSubject: 40 },
  readingsAtOnce: 16,
};

const RETRY_MS = 1_000;

/** Runs work for a visitor, or refuses it. */
export type BoundWork = (
  request: HttpRequest,
  path: string,
  work: () => Promise<HttpResponse>,
) => Promise<HttpResponse>;

/** Stands for a visitor: the hash of what it sends to be known by. */
const visitorOf = (request: HttpRequest) =>
  createHash("sha256").update(request.header("authorization") ?? "").digest("base64");

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
export function createVisitorBounds(limits = VISITOR_LIMITS): BoundWork {
  const logs = createStreamSlots(limits.logs);
  const readings = createStreamSlots(limits.readings);
  const places = createSemaphore(limits.readingsAtOnce);

  async function followed(request: HttpRequest, work: () => Promise<HttpResponse>) {
    const slot = logs.take(visitorOf(request));
    if (typeof slot === "string") return refusal(slot, "logs");
    try {
      return releasing(await work(), slot);
    } catch (error) {
      slot.release();
      throw error;
    }
  }

  async function read(request: HttpRequest, work: () => Promise<HttpResponse>) {
    const slot = readings.take(visitorOf(request));
    if (typeof slot === "string") return refusal(slot, "requests");
    try {
      return await places.run(work, request.signal?.() ?? new AbortController().signal);
    } finally {
      slot.release();
    }
  }

  return (request, path, work) => {
    if (path.startsWith("/view/")) return work();
    return path.startsWith("/logs/") ? followed(request, work) : read(request, work);
  };
}
