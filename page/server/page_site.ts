/** Site of the page: its files, the session, and what a visitor may ask for; each answer confines the browser. */
import { getLogger } from "@logtape/logtape";
import {
  ClientGoneError,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  OverloadedError,
} from "../../platform/http/message.ts";
import {
  failureResponse,
  type FailureShape,
  notFound,
  overloadedResponse,
  retryAfter,
  unavailable,
  WRONG_METHOD,
} from "../../platform/http/refusals.ts";
import { createRoutes, pathOf } from "../../platform/http/routes.ts";
import { createFairTurns } from "../../platform/base/fair_turns.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Semaphore } from "../../platform/base/semaphore.ts";
import { KubeError, messageOf, TransportError } from "../../platform/kube/errors.ts";
import { boundedReads } from "../../views/details/bounded_reads.ts";
import { assetResponse, type Assets } from "./assets.ts";
import { type CheckedRequest, sourceRefusal } from "./browser_checks.ts";
import { PAGE_ROUTES, type PageParts, readJson } from "./page_routes.ts";
import { confined } from "./security_headers.ts";
import { createVisitorBounds } from "./visitor_bounds.ts";

/** What a visitor may use, and how long a stream of that visitor goes on. */
export interface Visit {
  /** Tells visitors apart, and is the same for all that one of them sends. */
  readonly visitor: string;
  readonly parts: PageParts;
  /** Returns the response, whose stream ends when the visitor loses the right to it. Default: as it is. */
  readonly lasting?: (response: HttpResponse) => HttpResponse;
}

/** Answers a request for the session; the signal aborts when the client has gone. */
export type SessionHandler = (request: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;

/** Responses of lists that are in memory at a time, of all visitors and of one. */
const RESPONSES = { total: 3, perKey: 2 } as const;

const SESSION_PATH = "/session";
const log = getLogger(["milepost", "page"]);

const wrongMethod = (allow: string) =>
  failureResponse(WRONG_METHOD, { headers: { "Allow": allow } });

/** Returns the response to a call that failed behind this server; undefined for anything else. */
function failedCall(error: unknown, notAccepted: FailureShape): HttpResponse | undefined {
  if (error instanceof OverloadedError) return overloadedResponse(error);
  if (error instanceof KubeError) {
    const { code, reason, message, retryAfterMs } = error;
    const headers = retryAfterMs === undefined ? {} : retryAfter(retryAfterMs);
    if (code === 401) return failureResponse(notAccepted);
    return failureResponse({ code, reason, message }, { headers });
  }
  if (!(error instanceof TransportError)) return undefined;
  log.debug("a server behind this one gave no answer", { problem: messageOf(error) });
  return failureResponse(unavailable("the cluster cannot be reached now: try again soon"));
}

/** Creates the handler of a site. */
export function createSiteHandler(site: {
  readonly clock: Clock;
  readonly assets: Assets;
  /** Returns why a request for another address, or of another origin, is refused. */
  readonly addressRefusal: (request: CheckedRequest) => FailureShape | undefined;
  /** Answers requests for the session, by their method. */
  readonly session: Readonly<Record<string, SessionHandler>>;
  /** Returns what the visitor may use; a response where it may not. */
  readonly visit: (request: HttpRequest) => Visit | HttpResponse | Promise<Visit | HttpResponse>;
  /** The answer where the API server does not accept the credentials of a call. */
  readonly notAccepted: FailureShape;
}): HttpHandler {
  const { assets, addressRefusal, session, visit, notAccepted } = site;
  const routes = createRoutes(PAGE_ROUTES);
  const bounded = createVisitorBounds(site.clock);
  const inTurn = createFairTurns(RESPONSES);
  const sessionMethods = Object.keys(session).sort().join(", ");

  async function answer(request: HttpRequest): Promise<HttpResponse> {
    const misdirected = addressRefusal(request);
    if (misdirected !== undefined) return failureResponse(misdirected);
    const { method } = request;
    const path = pathOf(request.url);
    const asset = assetResponse(assets, path, request.header("if-none-match"));
    if (asset !== undefined) return method === "GET" ? asset : wrongMethod("GET");
    const match = routes.find(method, path);
    const isLogin = path === SESSION_PATH;
    if (match === undefined && !isLogin) return failureResponse(notFound("there is no such path"));
    const foreign = sourceRefusal(request);
    if (foreign !== undefined) return failureResponse(foreign);
    const signal = request.signal?.() ?? new AbortController().signal;
    if (match === undefined) {
      return await (session[method]?.(request, signal) ?? wrongMethod(sessionMethods));
    }
    const visited = await visit(request);
    if ("status" in visited) return visited;
    if (match.route === undefined) return wrongMethod(match.allow);
    const { visitor, parts, lasting = (response) => response } = visited;
    const { route, names } = match;
    return await bounded({ visitor, path, signal }, {
      receive: () => method === "GET" ? Promise.resolve({ value: undefined }) : readJson(request),
      async answer(body, signal) {
        const places: Semaphore = { run: (work, signal) => inTurn(visitor, work, signal) };
        const reads = boundedReads(parts.client, signal, places);
        const asked = { parts, request, names, body, visitor, reads, signal };
        return lasting(await route.answer(asked));
      },
    });
  }

  return async (request) => {
    try {
      return confined(await answer(request));
    } catch (error) {
      const response = failedCall(error, notAccepted);
      if (response !== undefined) return confined(response);
      if (error instanceof ClientGoneError) throw error;
      // A browser breaks off what a view does not show any more.
      if (request.signal?.().aborted) throw new ClientGoneError({ cause: error });
      log.error("a request of the page failed", { path: pathOf(request.url), error });
      const message = "internal error: see the log of milepost";
      return confined(failureResponse({ code: 500, reason: "InternalError", message }));
    }
  };
}
