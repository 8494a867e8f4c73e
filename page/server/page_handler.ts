/** Handler of the page's server on loopback: sessions that a one-time code opens. */
import { z } from "zod";
import { okResponse } from "../../platform/http/json_responses.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import {
  failureResponse,
  type FailureShape,
  forbidden,
  retryAfter,
  tooMany,
  unauthorized,
  unavailable,
  WRONG_METHOD,
} from "../../platform/http/refusals.ts";
import type { PageFacts } from "../../crds/wire/details.ts";
import type { Assets } from "./assets.ts";
import { addressRefusal } from "./browser_checks.ts";
import type { BrowserSessions } from "./browser_sessions.ts";
import { type PageParts, readJson } from "./page_routes.ts";
import { createSiteHandler } from "./page_site.ts";
import { whileOpen } from "./session_stream.ts";

/** Options of {@link createPageHandler}. */
export interface PageHandlerOptions extends PageParts {
  readonly assets: Assets;
  readonly sessions: BrowserSessions;
  /** Returns the host with its port that was printed. */
  readonly host: () => string;
  readonly facts: (signal: AbortSignal) => Promise<PageFacts>;
}

const sessionSchema = z.strictObject({
  code: z.string(),
  /** What only this browser knows: with it the code opens again. */
  browser: z.string().optional(),
});

const NO_SESSION: FailureShape = unauthorized(
  "the session is over: open the page again with a new code",
);
const WRONG_CODE: FailureShape = forbidden(
  "the code is wrong, old, or was used in another browser: have another one printed",
);
/** A client that is told 401 would ask for another session. */
const NOT_ACCEPTED = unavailable("the API server does not accept this user's credentials");

/** All sessions are of the one whose kubeconfig this is. */
const ONE_USER = "user";

/** Scheme and key of a session in the Authorization header. */
const SESSION = /^Bearer ([A-Za-z0-9_-]{1,64})$/;

/** Creates the handler. */
export function createPageHandler(options: PageHandlerOptions): HttpHandler {
  const { assets, sessions, host, facts } = options;

  async function openSession(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const read = await readJson(request);
    if ("refusal" in read) return read.refusal;
    const { data } = sessionSchema.safeParse(read.value);
    const opened = sessions.open(data?.code ?? "", data?.browser);
    if ("session" in opened) return okResponse({ ...opened, ...await facts(signal) });
    if (opened.why === "wrong_code") return failureResponse(WRONG_CODE);
    const headers = retryAfter(opened.retryAfterMs);
    return failureResponse(tooMany("too many tries with a code: wait a minute"), { headers });
  }

  async function readSession(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    // By 401 a page would know a server to which one logs in with a token.
    if (!hasSession(request)) {
      return failureResponse(WRONG_METHOD, { headers: { "Allow": "POST" } });
    }
    return okResponse(await facts(signal));
  }

  const hasSession = (request: HttpRequest): boolean => {
    const [, key] = SESSION.exec(request.header("authorization") ?? "") ?? [];
    return key !== undefined && sessions.has(key);
  };

  return createSiteHandler({
    clock: options.clock,
    assets,
    addressRefusal: (request) => addressRefusal(request, host()),
    session: { GET: readSession, POST: openSession },
    visit: (request) => {
      if (!hasSession(request)) return failureResponse(NO_SESSION);
      const lasting = (response: HttpResponse) =>
        whileOpen(response, () => hasSession(request), options.clock);
      return { visitor: ONE_USER, parts: options, lasting };
    },
    notAccepted: NOT_ACCEPTED,
  });
}
