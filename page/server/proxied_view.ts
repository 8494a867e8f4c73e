/** View of jobs that the manager gives: its API, called with the viewer's token. */
import type { HttpHandler } from "../../platform/http/message.ts";
import { pathOf } from "../../platform/http/routes.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { proxy } from "./proxied_response.ts";

/** The stream of news, on which the manager says something each 15 s. */
const EVENTS = "/view/v1/events";
const STREAMED = { type: "text/event-stream", idleMs: 40_000 } as const;

/** Creates the handler of requests for it; paths and queries are the manager's to read. */
export function createProxiedView(client: ManagerClient): HttpHandler {
  return (request) =>
    proxy(client, request, {
      path: request.url,
      headers: { "Accept": request.header("accept") ?? "*/*" },
      ...(pathOf(request.url) === EVENTS && { streamed: STREAMED }),
      isManager: true,
    });
}
