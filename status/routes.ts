/** Which requests there are: path and method, and how long a body each may have. */
import { PUSH_LIMITS, TRAINER_API_VERSION } from "../crds/names.ts";
import type { Exchange, Outcome, Route } from "./exchange.ts";

const NAME = "([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)";
const PATH = new RegExp(
  `^/apis/${
    TRAINER_API_VERSION.replaceAll(".", "\\.")
  }/namespaces/${NAME}/trainjobs/${NAME}/status(/history)?$`,
);

/** Methods of …/status, and of what is below it. */
const ALLOWED = { status: "GET, POST", history: "POST" } as const;

function routeOf(method: string, isHistory: boolean, query: string): Route | undefined {
  if (method === "POST") return isHistory ? "history" : "push";
  if (method !== "GET" || isHistory) return undefined;
  return new URLSearchParams(query).get("watch") === "true" ? "watch" : "read";
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
  exchange.route = found;
  exchange.job = { namespace, name };
  return undefined;
}

/** Refuses what says itself that it is too long. */
export function contentLength({ request }: Exchange): Outcome {
  const length = Number(request.header("content-length") ?? 0);
  return length > PUSH_LIMITS.bodyBytes ? { why: "body_too_large" } : undefined;
}
