/** Site of the page for many users, each with a token of the API server's that is sent with every request. */
import {
  type Identified,
  identify,
  readerOfToken,
  type ReaderParts,
  refusalOfPeer,
} from "../../platform/http/callers/reader_checks.ts";
import { countFailure } from "../../platform/http/api_shell.ts";
import { FRESH_JSON, okResponse } from "../../platform/http/json_responses.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import { type Refusal, refusalResponse, unauthorized } from "../../platform/http/refusals.ts";
import { pathOf } from "../../platform/http/routes.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import type { Assets } from "./assets.ts";
import { hostsRefusal } from "./browser_checks.ts";
import type { PageFacts } from "../../crds/wire/details.ts";
import type { PageParts } from "./page_routes.ts";
import { createSiteHandler } from "./page_site.ts";
import { whileOpen } from "./session_stream.ts";
import { mayDo } from "../../platform/kube/self_reviews.ts";

/** Between two checks that a user may still follow a log, in milliseconds. */
const CHECK_MS = 60_000;

const LOG_IN = unauthorized("log in: send the header Authorization: Bearer and a token of yours");
const NOT_ACCEPTED = unauthorized("the API server does not accept the bearer token");

const refusalOf = (refusal: Refusal): HttpResponse =>
  refusalResponse(refusal.why === "no_token" ? { ...refusal, ...LOG_IN } : refusal, FRESH_JSON);

/** Whether an error leaves open what the API server would say: it gave no answer, or had too much to do. */
const saysNothing = (error: unknown) =>
  !(error instanceof KubeError) || error.code === 429 || error.code >= 500;

/** Returns whether a user may still read the log of that path; where nobody can say, yes. */
async function mayReadLog(
  client: KubeClient,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const [, , namespace = "", name = ""] = path.split("/");
  const action = { verb: "get", kind: KINDS.pod, subresource: "log", namespace, name };
  try {
    return await mayDo(client, action, signal);
  } catch (error) {
    return saysNothing(error);
  }
}

/** Creates the handler. */
export function createTokenSite(
  options: Pick<PageParts, "kinds" | "clock" | "view"> & {
    readonly assets: Assets;
    /** Names and addresses, in lower case, that requests may be for; on any port. */
    readonly hosts: readonly string[];
    /** The checks of whoever asks, with the account of the site itself. */
    readonly readers: ReaderParts;
    /** Returns the API server as the user with that token. */
    readonly clientOf: (token: string) => KubeClient;
    /** The same of the manager; undefined if there is none. */
    readonly managerOf: (token: string) => ManagerClient | undefined;
  },
): HttpHandler {
  const { assets, readers, clock, clientOf, managerOf } = options;
  const hosts = new Set(options.hosts);
  const nobody = { ...options, client: clientOf(""), manager: () => undefined };

  /** Returns who asks. Failures count against the peer, as they do at the manager. */
  async function visitorOf(request: HttpRequest): Promise<Identified | Refusal> {
    const monotonicMs = clock.monotonic();
    const caller = refusalOfPeer(readers, request) ?? await identify(readers, request);
    if (!("why" in caller)) readers.peers.proved(request.peer, monotonicMs);
    // A browser asks without a token to find out whether a proxy sends one.
    else if (caller.why !== "no_token") {
      countFailure(readers.peers, { request, monotonicMs }, caller);
    }
    return caller;
  }

  async function session(request: HttpRequest): Promise<HttpResponse> {
    const caller = await visitorOf(request);
    if ("why" in caller) return refusalOf(caller);
    const facts: PageFacts = { user: caller.reader.username, server: "" };
    return okResponse(facts);
  }

  return createSiteHandler({
    clock,
    assets,
    addressRefusal: (request) => hostsRefusal(request, hosts),
    session: { GET: session },
    async visit(request) {
      // The view looks after who asks itself, also while it streams.
      if (pathOf(request.url).startsWith("/view/")) return { visitor: "", parts: nobody };
      const caller = await visitorOf(request);
      if ("why" in caller) return refusalOf(caller);
      const { token } = caller.token;
      const client = clientOf(token);
      const path = pathOf(request.url);
      const isOpen = async (signal: AbortSignal) => {
        const now = await readerOfToken(readers, caller.token);
        if ("why" in now) return now.why === "unavailable";
        return await mayReadLog(client, path, signal);
      };
      return {
        visitor: caller.reader.username,
        parts: { ...options, client, manager: () => managerOf(token) },
        lasting: (response) =>
          path.startsWith("/logs/") ? whileOpen(response, isOpen, clock, CHECK_MS) : response,
      };
    },
    notAccepted: NOT_ACCEPTED,
  });
}
