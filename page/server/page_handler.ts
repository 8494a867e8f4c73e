/** Handler of the page's server: the page itself, sessions, and what a session may ask for. */
import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import {
  ClientGoneError,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  OverloadedError,
} from "../../http/message.ts";
import {
  failureResponse,
  type FailureShape,
  forbidden,
  notFound,
  overloadedResponse,
  retryAfter,
  tooMany,
  unauthorized,
  unavailable,
  WRONG_METHOD,
} from "../../http/refusals.ts";
import { createRoutes, pathOf } from "../../http/routes.ts";
import { KubeError, messageOf, TransportError } from "../../kube/errors.ts";
import { assetResponse, type Assets } from "./assets.ts";
import { addressRefusal, sourceRefusal } from "./browser_checks.ts";
import type { BrowserSessions } from "./browser_sessions.ts";
import { jsonResponse, PAGE_ROUTES, type PageParts, readJson } from "./page_routes.ts";
import { confined } from "./security_headers.ts";
import { whileOpen } from "./session_stream.ts";

/** What the page says of where it runs. */
export interface PageFacts {
  readonly user: string;
  /** URL of the API server. */
  readonly server: string;
  /** Whether changes are offered at all. */
  readonly canChange: boolean;
}

/** Options of {@link createPageHandler}. */
export interface PageHandlerOptions extends PageParts {
  readonly assets: Assets;
  readonly sessions: BrowserSessions;
  /** Returns the host with its port that was printed. */
  readonly host: () => string;
  readonly facts: (signal: AbortSignal) => Promise<PageFacts>;
}

const SESSION_PATH = "/session";
const sessionSchema = z.strictObject({ code: z.string() });

const NO_SESSION: FailureShape = unauthorized(
  "the session is over: open the page again with a new code",
);
const WRONG_CODE: FailureShape = forbidden(
  "the code is wrong, old, or was used before: have another one printed",
);

/** Scheme and key of a session in the Authorization header. */
const SESSION = /^Bearer ([A-Za-z0-9_-]{1,64})$/;

const log = getLogger(["milepost", "page"]);

/** Returns the response to a call that failed behind this server; undefined for anything else. */
function failedCall(error: unknown): HttpResponse | undefined {
  if (error instanceof OverloadedError) return overloadedResponse(error);
  if (error instanceof KubeError) {
    const { code, reason, message, retryAfterMs } = error;
    const headers = retryAfterMs === undefined ? {} : retryAfter(retryAfterMs);
    // A client that is told 401 would ask for another session.
    if (code !== 401) return failureResponse({ code, reason, message }, { headers });
    return failureResponse(unavailable("the API server does not accept this user's credentials"));
  }
  if (!(error instanceof TransportError)) return undefined;
  log.debug("a server behind this one gave no answer", { problem: messageOf(error) });
  return failureResponse(unavailable("the cluster cannot be reached now: try again soon"));
}

/** Creates the handler. Each of its responses confines what a browser does with it. */
export function createPageHandler(options: PageHandlerOptions): HttpHandler {
  const { assets, sessions, host, facts } = options;
  const routes = createRoutes(PAGE_ROUTES);

  async function openSession(request: HttpRequest): Promise<HttpResponse> {
    const read = await readJson(request);
    if ("refusal" in read) return read.refusal;
    const { data } = sessionSchema.safeParse(read.value);
    const opened = sessions.open(data?.code ?? "");
    if ("session" in opened) {
      const signal = request.signal?.() ?? new AbortController().signal;
      return jsonResponse({ ...opened, ...await facts(signal) });
    }
    if (opened.why === "wrong_code") return failureResponse(WRONG_CODE);
    const headers = retryAfter(opened.retryAfterMs);
    return failureResponse(tooMany("too many tries with a code: wait a minute"), { headers });
  }

  const hasSession = (request: HttpRequest): boolean => {
    const [, key] = SESSION.exec(request.header("authorization") ?? "") ?? [];
    return key !== undefined && sessions.has(key);
  };

  const wrongMethod = (allow: string) =>
    failureResponse(WRONG_METHOD, { headers: { "Allow": allow } });

  async function answer(request: HttpRequest): Promise<HttpResponse> {
    const misdirected = addressRefusal(request, host());
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
    if (match === undefined) {
      return method === "POST" ? await openSession(request) : wrongMethod("POST");
    }
    if (!hasSession(request)) return failureResponse(NO_SESSION);
    if (match.route === undefined) return wrongMethod(match.allow);
    const response = await match.route.answer(options, request, match.names);
    return whileOpen(response, () => hasSession(request), options.clock);
  }

  return async (request) => {
    try {
      return confined(await answer(request));
    } catch (error) {
      const response = failedCall(error);
      if (response !== undefined) return confined(response);
      if (error instanceof ClientGoneError) throw error;
      log.error("a request of the page failed", { path: pathOf(request.url), error });
      const message = "internal error: see the log of milepost";
      return confined(failureResponse({ code: 500, reason: "InternalError", message }));
    }
  };
}
