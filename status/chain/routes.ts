/** Routes of the status endpoint: path and method of each request, and the size of its body. */
import { statusPath } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { HISTORY_LIMITS, PUSH_LIMITS } from "../../crds/names.ts";
import type { Exchange, Outcome, Route, Stage } from "./exchange.ts";
import { readQuery } from "../reading/read_query.ts";

const NAME = "([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)";

/** Methods of …/status, and of what is below it. */
const ALLOWED = { status: "GET, POST", history: "POST" } as const;

function routeOf(method: string, isHistory: boolean, query: string) {
  if (method === "POST") return { route: isHistory ? "history" : "push" } as const;
  return method === "GET" && !isHistory ? readQuery(query) : undefined;
}

/** Finds the route and the job; any other request ends here. */
export function route(kinds: JobKinds): Stage["run"] {
  const patterns = kinds.all.map((kind) => {
    // "%" stands for a name: no path has one.
    const shape = statusPath(kind, "%", "%").replaceAll(".", "\\.").replaceAll("%", NAME);
    return { kind, pattern: new RegExp(`^${shape}(/history)?$`) };
  });
  return (exchange): Outcome => {
    const { method, url } = exchange.request;
    const [path = "", query = ""] = url.split("?", 2);
    for (const { kind, pattern } of patterns) {
      const [, namespace, name, history] = pattern.exec(path) ?? [];
      if (namespace === undefined || name === undefined) continue;
      const isHistory = history !== undefined;
      const found = routeOf(method, isHistory, query);
      if (found === undefined) {
        return { why: "wrong_method", allow: isHistory ? ALLOWED.history : ALLOWED.status };
      }
      if ("causes" in found) return { why: "invalid_query", causes: found.causes };
      exchange.route = found.route;
      exchange.job = { kind, namespace, name };
      return undefined;
    }
    return { why: "unknown_path" };
  };
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
