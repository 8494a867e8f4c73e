/** API shell: what an API does for each of its requests, whatever its routes are. */
import type { Logger } from "@logtape/logtape";
import { KubeError, messageOf, TransportError } from "../kube/errors.ts";
import type { UnauthorizedReason } from "./callers/bearer.ts";
import type { TokenRefusal } from "./callers/reader_token.ts";
import type { Peers } from "./limits/peers.ts";
import {
  ClientGoneError,
  type HttpRequest,
  type HttpResponse,
  OverloadedError,
} from "./message.ts";
import {
  COMMON_REFUSALS,
  type FailureShape,
  notNow,
  OVERLOADED_MS,
  type Refusal,
  refusal,
  refusalResponse,
  refusalsOf,
  type RequestResult,
  resultOf,
} from "./refusals.ts";
import { createRoutes, pathOf, type Route, type RouteMatch } from "./routes.ts";

/** What is known of a request when it comes. */
export interface Arrival {
  readonly request: HttpRequest;
  /** Monotonic time, in milliseconds. */
  readonly monotonicMs: number;
}

/** The response to a request, or why it is refused. */
export type Answer = HttpResponse | Refusal;

/** Parts of an API; `X` is what it knows of a request, which its checks may fill in. */
export interface ApiParts<X extends Arrival, R extends Route> {
  readonly log: Logger;
  readonly routes: readonly R[];
  /** What is said of a path that no route has. */
  readonly unknownPath: FailureShape;
  /** Failures are counted by peer. */
  readonly peers: Pick<Peers, "failed">;
  /** Headers of refusals. Default: none but those of their codes. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly arrive: (request: HttpRequest) => X;
  /** Refuses a peer, before anything else is checked. */
  readonly admit: (exchange: X) => Refusal | undefined;
  /** Runs the checks of a route, cheapest first, and its work; `names` are those in the path. */
  readonly answer: (
    exchange: X,
    route: R,
    names: readonly string[],
  ) => Answer | Promise<Answer>;
  /** Returns the refusal of a request for which the API server gave no answer. */
  readonly unreachable: (problem: string, exchange: X) => Refusal;
  /** Called once for each request; its route is another one of its path if that does not take the method. */
  readonly onAnswer: (exchange: X, result: RequestResult, route: R | undefined) => void;
  /** Returns what the log says of a request. Default: its path. */
  readonly logged?: (exchange: X) => Readonly<Record<string, unknown>> | undefined;
}

/** An API. */
export interface Api {
  /** Returns whether a request is this API's, by its path. */
  handles(url: string): boolean;
  /** Never throws. */
  handle(request: HttpRequest): Promise<HttpResponse>;
}

/** Reasons of 401 that cost something to find: a signature was checked, or the API server was asked. */
const COSTLY: ReadonlySet<string> = new Set<UnauthorizedReason | TokenRefusal>([
  "unknown_key",
  "wrong_algorithm",
  "bad_signature",
  "wrong_issuer",
  "refused",
]);

const refuse = refusalsOf(COMMON_REFUSALS);

/** Counts a caller who could not prove who that is against the peer. */
export function countFailure(
  peers: Pick<Peers, "failed">,
  { request, monotonicMs }: Arrival,
  { code, why }: Refusal,
): void {
  if (code !== 401) return;
  peers.failed(request.peer, monotonicMs, COSTLY.has(why) ? "signature" : "nothing");
}

/**
 * Creates an API. A request comes from a peer that is admitted, has a path and then a method of the table, and passes the
 * checks of its route. What is refused, or fails, gets a `metav1.Status`, is counted and logged once.
 */
export function createApi<X extends Arrival, R extends Route>(parts: ApiParts<X, R>): Api {
  const { log, peers, headers, arrive, admit, answer, unreachable, onAnswer } = parts;
  const { logged = ({ request }) => ({ path: pathOf(request.url) }) } = parts;
  const routes = createRoutes(parts.routes);
  const unknownPath = refusal("unknown_path", parts.unknownPath);

  function answerBy(match: RouteMatch<R> | undefined, exchange: X): Answer | Promise<Answer> {
    if (match === undefined) return unknownPath;
    if ("allow" in match) return refuse("wrong_method", { allow: match.allow });
    return answer(exchange, match.route, match.names);
  }

  /** Returns the route under which an answer is counted. */
  function routeOf(match: RouteMatch<R> | undefined, path: string): R | undefined {
    if (match === undefined || !("allow" in match)) return match?.route;
    const [method = ""] = match.allow.split(", ");
    return routes.find(method, path)?.route;
  }

  /** Returns the refusal for an error: an API server without an answer, a client that went away, or a bug. */
  function failure(error: unknown, exchange: X): Refusal {
    const isGone = error instanceof ClientGoneError;
    if (isGone) log.debug("a client went away before its request was read", logged(exchange));
    if (isGone || error instanceof OverloadedError) {
      return notNow({ reason: error.message, retryAfterMs: OVERLOADED_MS });
    }
    if (error instanceof KubeError || error instanceof TransportError) {
      return unreachable(messageOf(error), exchange);
    }
    log.error("a request could not be handled", { ...logged(exchange), error });
    return refuse("internal");
  }

  return {
    handles: (url) => routes.find("GET", pathOf(url)) !== undefined,
    async handle(request) {
      const exchange = arrive(request);
      const path = pathOf(request.url);
      const match = routes.find(request.method, path);
      let outcome: Answer;
      try {
        outcome = admit(exchange) ?? await answerBy(match, exchange);
      } catch (error) {
        outcome = failure(error, exchange);
      }
      const result = "why" in outcome ? resultOf(outcome) : "accepted";
      onAnswer(exchange, result, routeOf(match, path));
      if (!("why" in outcome)) return outcome;
      countFailure(peers, exchange, outcome);
      log.debug("a request was refused", { ...logged(exchange), why: outcome.why });
      return refusalResponse(outcome, headers);
    },
  };
}
