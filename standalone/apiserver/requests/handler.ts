/** Request handler: authentication, authorization, routing, and errors as `Status`. */
import { getLogger } from "@logtape/logtape";
import { effectiveUser } from "../access/impersonation.ts";
import type { Attributes, User } from "../access/user.ts";
import {
  forbidden,
  internalError,
  noSuchPath,
  StatusError,
  unauthorized,
} from "../objects/status_error.ts";
import type { Context } from "../operations/context.ts";
import { discoveryDocument } from "../presentation/discovery.ts";
import { requestInfo } from "./request_info.ts";
import { handleResource } from "./resource_handler.ts";
import { jsonResponse } from "./json_response.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Health paths: they need no authentication. */
const HEALTH_PATHS = new Set(["/healthz", "/livez", "/readyz"]);

function refusal(user: User, info: Attributes, reason: string): StatusError {
  const who = `User "${user.name}"`;
  const why = reason === "" ? "" : `: ${reason}`;
  if ("path" in info) {
    const message = `forbidden: ${who} cannot ${info.verb} path "${info.path}"${why}`;
    return new StatusError(403, "Forbidden", message);
  }
  const { verb, group, namespace, name = "", subresource } = info;
  const resource = subresource ? `${info.resource}/${subresource}` : info.resource;
  const where = namespace === undefined
    ? "at the cluster scope"
    : `in the namespace "${namespace}"`;
  const cause =
    `${who} cannot ${verb} resource "${resource}" in API group "${group}" ${where}${why}`;
  return forbidden(info, name, cause);
}

/** Returns the response to an error. Errors other than `StatusError` are bugs, or a full disk: 500. */
function failure(error: unknown, info: Attributes): Response {
  if (error instanceof StatusError) {
    const headers: HeadersInit = error.code === 401 ? { "www-authenticate": "Bearer" } : {};
    return jsonResponse(error.toStatus(), error.code, headers);
  }
  logger.error("Request failed: {error}", { error, verb: info.verb });
  const answer = internalError("the request could not be served; see the server's log");
  return jsonResponse(answer.toStatus(), answer.code);
}

async function serve(
  context: Context,
  request: Request,
  url: URL,
  info: Attributes,
): Promise<Response> {
  const { authenticator, authorizer } = context.access;
  const header = request.headers.get("authorization") ?? undefined;
  const sender = await authenticator.authenticate(header);
  if (!sender) throw unauthorized();
  const user = effectiveUser(authorizer, sender, request.headers);
  const { allowed, reason } = authorizer.authorize(user, info);
  if (!allowed) throw refusal(user, info, reason);
  if (!("path" in info)) return await handleResource(context, { request, url, info, user });
  const document = discoveryDocument(context, request, url);
  if (!document) throw noSuchPath();
  return document;
}

/** Handles one request; never throws. */
export async function handle(context: Context, request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (HEALTH_PATHS.has(url.pathname)) return new Response("ok");
  const info = requestInfo(request.method, url);
  try {
    return await serve(context, request, url, info);
  } catch (error) {
    return failure(error, info);
  }
}
