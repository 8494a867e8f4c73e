/** Which requests there are: path and method, and how long a body each may have. */
import { HISTORY_LIMITS, PUSH_LIMITS, TRAINER_API_VERSION } from "../../crds/names.ts";
import type { Exchange, Outcome, Route } from "./exchange.ts";
import { readQuery } from "../reading/read_query.ts";

const NAME = "([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)";
const PATH = new RegExp(
  `^/apis/${
    TRAINER_API_VERSION.replaceAll(".", "\\.")
  }/namespaces/${NAME}/trainjobs/${NAME}/status(/history)?$`,
);

/** Methods of …/status, and of what is below it. */
const ALLOWED = { status: "GET, POST", history: "POST" } as const;

function routeOf(method: string, isHistory: boolean, query: string) {
  if (method === "POST") return { route: isHistory ? "history" : "push" } as const;
  return method === "GET" && !isHistory ? readQuery(query) : undefined;
}

/** Finds out the route and the job; what is neither ends here. */
export function route(exchange: Exchange): Outcome {
  const { method, url } = exchange.request;
  const [path = "", query = ""] = url.split("?", 2);
  const [, namespace, name, history] = PATH.exec(path) ?? [];
  if (namespace === undefined || name === undefined) return { why: "unknown_path" };
  const isHistory = history !== undefined;
  const found = routeOf(method, isHistory, query);
  if (found === undefined) {
    return { why: "wrong_method", allow: isHistory ? ALLOWED.history : ALLOWED.status };
  }
  if ("causes" in found) return { why: "invalid_query", causes: found.causes };
  exchange.route = found.route;
  exchange.job = { namespace, name };
  return undefined;
}

/** Bytes that the body of a request may have. */
export function maxBodyBytes(route: Route | undefined): number {
  return route === "history" ? HISTORY_LIMITS.bodyBytes : PUSH_LIMITS.bodyBytes;
}

/** Refuses what says itself that it is too long. */
export function contentLength({ request, route }: Exchange): Outcome {
  const length = Number(request.header("content-length") ?? 0);
  const maxBytes = maxBodyBytes(route);
  return length > maxBytes ? { why: "body_too_large", maxBytes } : undefined;
}
