/**
 * HTTP side of admission, without sockets. What is refused gets a `metav1.Status`; what breaks inside
 * gets 500 without a word about the cause, and a line of log.
 */
import { Buffer } from "node:buffer";
import { getLogger } from "@logtape/logtape";
import { ReadBudgetError } from "../http/limits/read_budget.ts";
import { createPeerTurns } from "../http/limits/peer_turns.ts";
import {
  connectionLimits,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../http/limits/server_limits.ts";
import {
  ClientGoneError,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  OverloadedError,
} from "../http/message.ts";
import { failureResponse, notFound, overloadedResponse, WRONG_METHOD } from "../http/refusals.ts";
import type { Clock } from "../kube/clock.ts";
import {
  type AdmissionHandler,
  type AdmissionOutcome,
  type AdmissionRequest,
  decodeReview,
  encodeReview,
  refuseForNow,
} from "./admission_review.ts";
import { exceededBound, type JsonBounds } from "./json_bounds.ts";

const log = getLogger(["milepost", "webhook"]);

/** Handlers by path (see {@link WEBHOOK_PATHS}). */
export type AdmissionHandlers = Readonly<Record<string, AdmissionHandler>>;

/** Bounds of one request. */
export interface AdmissionLimits extends JsonBounds {
  /** Largest body, in bytes. */
  readonly bodyBytes: number;
  /** Handlers that run at a time for the requests of one peer; the others wait, not yet parsed. */
  readonly handlersPerPeer: number;
  /** Longest time for a handler with its wait, in milliseconds; after it the response is 504. */
  readonly handlerMs: number;
}

/**
 * 3 MiB: what etcd stores of an object, twice (old and new). A pod or a TrainJob of usual size has some
 * hundreds of values.
 */
export const ADMISSION_LIMITS: AdmissionLimits = {
  bodyBytes: 3 * 1024 * 1024,
  values: 50_000,
  depth: 100,
  handlersPerPeer: 32,
  handlerMs: 8_000,
};

/**
 * Limits of the server. The API server keeps its connections: longer than its own idle time of 90 s.
 * All of them come from its few addresses, or from that of one proxy.
 */
export const ADMISSION_SERVER_LIMITS: ServerLimits = {
  ...DEFAULT_SERVER_LIMITS,
  headerMs: 5_000,
  idleMs: 120_000,
  connections: connectionLimits(2_500, 500),
};

function failure(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): HttpResponse {
  return failureResponse({ code, reason, message }, { headers });
}

/** Header of responses to requests whose body is not read: the connection is of no more use. */
const CLOSE = { "Connection": "close" };
const UNKNOWN_PATH = failureResponse(notFound("no webhook has this path"), { headers: CLOSE });

function tooLarge(limit: number): HttpResponse {
  return failure(413, "RequestEntityTooLarge", `body must be at most ${limit} bytes`, CLOSE);
}

function tooComplex(exceeded: keyof JsonBounds, { values, depth }: JsonBounds): HttpResponse {
  const message = exceeded === "values"
    ? `body must hold at most ${values} values`
    : `body must be at most ${depth} deep`;
  return failure(413, "RequestEntityTooLarge", message);
}

/** Returns the refusal of a request by its header; undefined if nothing is wrong with it. */
function headRefusal(request: HttpRequest, limit: number): HttpResponse | undefined {
  if (request.method !== "POST") {
    const headers = { "Allow": "POST", ...CLOSE };
    return failureResponse({ ...WRONG_METHOD, message: "use POST" }, { headers });
  }
  const mediaType = (request.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    const message = "Content-Type must be application/json";
    return failure(415, "UnsupportedMediaType", message, CLOSE);
  }
  const length = Number(request.header("content-length") ?? 0);
  return length > limit ? tooLarge(limit) : undefined;
}

function parseJson(bytes: Uint8Array): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(Buffer.from(bytes).toString("utf8")) };
  } catch {
    return { ok: false };
  }
}

/** Returns the decision of a handler; without reads left in the budget that it can be made later. */
async function outcomeOf(
  handler: AdmissionHandler,
  request: AdmissionRequest,
  signal: AbortSignal,
): Promise<AdmissionOutcome> {
  try {
    return await handler(request, signal);
  } catch (error) {
    if (error instanceof ReadBudgetError) return refuseForNow(error.message);
    throw error;
  }
}

/** Creates the HTTP handler of admission reviews over `handlers`. */
export function createAdmissionHttp(
  handlers: AdmissionHandlers,
  clock: Clock,
  limits: AdmissionLimits = ADMISSION_LIMITS,
): HttpHandler {
  const byPath = new Map(Object.entries(handlers));
  const runForPeer = createPeerTurns(limits.handlersPerPeer);

  async function decide(
    handler: AdmissionHandler,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const value = parseJson(bytes);
    if (!value.ok) return failure(400, "BadRequest", "body must be JSON");
    const review = decodeReview(value.value);
    if (!review.ok) return failure(400, "BadRequest", review.problem);
    const outcome = await outcomeOf(handler, review.request, signal);
    const body = JSON.stringify(encodeReview(review.request.uid, outcome));
    return { status: 200, headers: { "Content-Type": "application/json" }, body };
  }

  async function inTime(
    work: (signal: AbortSignal) => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    const ended = new AbortController();
    const deadline = clock.sleep(limits.handlerMs, ended.signal).then(() => "late" as const);
    const tooLate = new AbortController();
    try {
      const response = await Promise.race([work(tooLate.signal), deadline]);
      if (response !== "late") return response;
      tooLate.abort();
      return failure(504, "Timeout", `no decision within ${limits.handlerMs} ms; try again`);
    } finally {
      ended.abort();
    }
  }

  async function respond(request: HttpRequest): Promise<HttpResponse> {
    const handler = byPath.get(request.url.split("?")[0] ?? "");
    if (handler === undefined) return UNKNOWN_PATH;
    const refused = headRefusal(request, limits.bodyBytes);
    if (refused !== undefined) return refused;
    const bytes = await request.readBody(limits.bodyBytes);
    if (bytes === undefined) return tooLarge(limits.bodyBytes);
    if (bytes.byteLength === 0) return failure(400, "BadRequest", "body must not be empty");
    const exceeded = exceededBound(bytes, limits);
    if (exceeded !== undefined) return tooComplex(exceeded, limits);
    const { peer } = request;
    return await inTime((signal) => runForPeer(peer, () => decide(handler, bytes, signal), signal));
  }

  return async (request) => {
    try {
      return await respond(request);
    } catch (error) {
      if (error instanceof OverloadedError) return overloadedResponse(error);
      const level = error instanceof ClientGoneError ? "debug" : "error";
      log[level]("admission request failed", { path: request.url, error });
      return failure(500, "InternalError", "the webhook could not decide; its log says why");
    }
  };
}
