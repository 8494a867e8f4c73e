/**
 * HTTP side of admission, without sockets. What is refused gets a `metav1.Status`; what breaks inside
 * gets 500 without a word about the cause, and a line of log.
 */
import { getLogger } from "@logtape/logtape";
import { ReadBudgetError } from "../platform/http/limits/read_budget.ts";
import { createFairTurns } from "../platform/base/fair_turns.ts";
import { createPeerRate } from "../platform/http/limits/peer_rate.ts";
import {
  connectionLimits,
  connectionsInAll,
  DEFAULT_SERVER_LIMITS,
  type ServerLimits,
} from "../platform/http/limits/server_limits.ts";
import { okResponse } from "../platform/http/json_responses.ts";
import { type HttpHandler, type HttpRequest, type HttpResponse } from "../platform/http/message.ts";
import {
  failureResponse,
  notFound,
  retryAfter,
  tooMany,
  WRONG_METHOD,
} from "../platform/http/refusals.ts";
import type { AddressList } from "../platform/http/limits/address_list.ts";
import type { ReservedPlaces } from "../platform/http/limits/reserved_places.ts";
import type { Clock } from "../platform/base/clock.ts";
import { answerInTime } from "../platform/base/deadline.ts";
import { jsonOfBytes } from "../platform/base/json.ts";
import { messageOf, TransportError } from "../platform/kube/errors.ts";
import {
  type AdmissionHandler,
  type AdmissionOutcome,
  type AdmissionRequest,
  decodeReview,
  encodeReview,
  refuseForNow,
  type ReviewContext,
} from "./admission_review.ts";
import { type JsonBounds, measureJson } from "./json_bounds.ts";

const log = getLogger(["milepost", "webhook"]);

/** Handlers by path (see {@link WEBHOOK_PATHS}). */
export type AdmissionHandlers = Readonly<Record<string, AdmissionHandler>>;

const MIB = 1024 * 1024;

/**
 * 3 MiB: what etcd stores of an object, twice (old and new). A pod or a TrainJob of usual size has some
 * hundreds of values.
 */
export const ADMISSION_LIMITS = {
  /** Largest body, in bytes. */
  bodyBytes: 3 * MIB,
  values: 50_000,
  depth: 100,
  /** Handlers that run at a time for the requests of one peer; the others wait, not yet parsed. */
  handlersPerPeer: 32,
  /** Longest time for a handler with its wait, in milliseconds; after it the response is 504. */
  handlerMs: 8_000,
  /** Bytes of reviews from peers that are not reserved. */
  rate: {
    perPeer: { ratePerSecond: 2 * MIB, burst: 4 * MIB },
    total: { ratePerSecond: 12 * MIB, burst: 24 * MIB },
    maxPeers: 10_000,
  },
};
/** Bounds of one request. */
export type AdmissionLimits = Readonly<typeof ADMISSION_LIMITS>;

/** Bytes that a review counts as at least: a small one takes a quarter of a millisecond. */
const LEAST_COST = 4_096;
/** Bytes that each JSON value of a review counts as: what is computed from it depends on both. */
export const COST_OF_VALUE = 64;

/**
 * Limits of the server. The API server keeps its connections: longer than its own idle time of 90 s.
 * All of them come from its few addresses, or from that of one proxy.
 */
export const ADMISSION_SERVER_LIMITS: ServerLimits = {
  ...DEFAULT_SERVER_LIMITS,
  headerMs: 5_000,
  idleMs: 120_000,
  connections: {
    ...connectionLimits(2_500, 500),
    newPerPeer: { ratePerSecond: 100, burst: 500 },
  },
};

/** Returns the places of the webhook port that are reserved for API servers. */
export function reservedForApiServers(includes: AddressList): ReservedPlaces {
  return { includes, connections: connectionsInAll(1_000), bodyBytes: 16 * MIB };
}

function failure(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): HttpResponse {
  return failureResponse({ code, reason, message }, { headers });
}

function tooOften(waitMs: number): HttpResponse {
  const message = "too many reviews come from this address: wait, then try again; " +
    "if it is an API server's, name it in --api-server-addresses";
  return failureResponse(tooMany(message), { headers: { ...retryAfter(waitMs), ...CLOSE } });
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
  return Number(request.header("content-length") ?? 0) > limit ? tooLarge(limit) : undefined;
}

/** Returns what a request costs before its body is read. Without a length it may be the longest. */
function costOf(request: HttpRequest, { bodyBytes }: AdmissionLimits): number {
  return Math.max(LEAST_COST, Number(request.header("content-length") ?? bodyBytes));
}

/** Returns the decision of a handler; if a read has failed or was not allowed, that it can be made later. */
async function outcomeOf(
  handler: AdmissionHandler,
  request: AdmissionRequest,
  context: ReviewContext,
): Promise<AdmissionOutcome> {
  try {
    return await handler(request, context);
  } catch (error) {
    if (error instanceof ReadBudgetError) return refuseForNow(error.message);
    if (!(error instanceof TransportError)) throw error;
    log.warn("a review could not be decided, its client is asked to try again", {
      problem: messageOf(error),
    });
    return refuseForNow("what the request names could not be read in time: try again soon");
  }
}

/** Creates the HTTP handler of admission reviews over `handlers`. */
export function createAdmissionHttp(
  handlers: AdmissionHandlers,
  clock: Clock,
  { limits = ADMISSION_LIMITS, isReserved = () => false }: {
    readonly limits?: AdmissionLimits;
    /** Addresses of API servers, whose reviews have no rate. Default: none is known. */
    readonly isReserved?: AddressList;
  } = {},
): HttpHandler {
  const byPath = new Map(Object.entries(handlers));
  const runForPeer = createFairTurns({ perKey: limits.handlersPerPeer });
  const takeOfPeer = createPeerRate(limits.rate);
  const { handlerMs } = limits;
  const tooLate = failure(504, "Timeout", `no decision within ${handlerMs} ms; try again`);

  async function decide(
    handler: AdmissionHandler,
    bytes: Uint8Array,
    context: ReviewContext,
  ): Promise<HttpResponse> {
    const value = jsonOfBytes(bytes);
    if (value === undefined) return failure(400, "BadRequest", "body must be JSON");
    const review = decodeReview(value);
    if (!review.ok) return failure(400, "BadRequest", review.problem);
    const outcome = await outcomeOf(handler, review.request, context);
    return okResponse(encodeReview(review.request.uid, outcome));
  }

  return async (request) => {
    const handler = byPath.get(request.url.split("?")[0] ?? "");
    if (handler === undefined) return UNKNOWN_PATH;
    const refused = headRefusal(request, limits.bodyBytes);
    if (refused !== undefined) return refused;
    const { peer } = request;
    const fromApiServer = isReserved(peer);
    const overRate = (cost: number): HttpResponse | undefined => {
      const waitMs = fromApiServer ? 0 : takeOfPeer(peer, clock.monotonic(), cost);
      if (waitMs === 0) return undefined;
      log.debug("an address sends too many reviews", { peer });
      return tooOften(waitMs);
    };
    const cost = costOf(request, limits);
    const tooMuch = overRate(cost);
    if (tooMuch !== undefined) return tooMuch;
    const bytes = await request.readBody(limits.bodyBytes);
    if (bytes === undefined) return tooLarge(limits.bodyBytes);
    if (bytes.byteLength === 0) return failure(400, "BadRequest", "body must not be empty");
    const { values, exceeded } = measureJson(bytes, limits);
    if (exceeded !== undefined) return tooComplex(exceeded, limits);
    const tooManyValues = overRate(Math.max(0, COST_OF_VALUE * values - cost));
    if (tooManyValues !== undefined) return tooManyValues;
    return await answerInTime(clock, handlerMs, tooLate, (signal) => {
      const context = { signal, isReserved: fromApiServer };
      return runForPeer(peer, () => decide(handler, bytes, context), signal);
    });
  };
}
