/** View of jobs that the manager gives: its API, called with the viewer's token. */
import type { HttpHandler } from "../../http/message.ts";
import { passOn, type PassParts } from "./passed_response.ts";

/** Creates the handler of requests for it; paths and queries are the manager's to read. */
export function createPassedView(parts: PassParts): HttpHandler {
  return (request) =>
    passOn(parts, request, {
      path: request.url,
      headers: { "Accept": request.header("accept") ?? "*/*" },
      streamed: "text/event-stream",
      isManager: true,
    });
}
