/** Routes of the status endpoint: a table of paths and methods, with the size of each body. */
import { type JobKind, statusPath } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { HISTORY_LIMITS, PUSH_LIMITS } from "../../crds/names.ts";
import { bodyTooLarge, invalid } from "../../platform/http/refusals.ts";
import { queryOf, type Route } from "../../platform/http/routes.ts";
import { readQuery } from "../reading/read_query.ts";
import type { Exchange, Outcome } from "./exchange.ts";

/** A route of one kind of job. */
export interface StatusRoute extends Route {
  readonly kind: JobKind;
  /** `read` is a read or a watch, by its query. */
  readonly chain: "push" | "history" | "read";
  /** Bytes that the body of a request may have. */
  readonly maxBodyBytes: number;
}

/** Returns the table of routes. */
export function statusRoutes(kinds: JobKinds): readonly StatusRoute[] {
  return kinds.all.flatMap((kind): StatusRoute[] => {
    const path = statusPath(kind, "{namespace}", "{name}");
    const [push, history] = [PUSH_LIMITS.bodyBytes, HISTORY_LIMITS.bodyBytes];
    return [
      { method: "POST", path, kind, chain: "push", maxBodyBytes: push },
      { method: "GET", path, kind, chain: "read", maxBodyBytes: push },
      { method: "POST", path: `${path}/history`, kind, chain: "history", maxBodyBytes: history },
    ];
  });
}

/** Says what a request of a route is for; a query that means nothing is refused. */
export function takeRoute(
  exchange: Exchange,
  { kind, chain, maxBodyBytes }: StatusRoute,
  [namespace = "", name = ""]: readonly string[],
): Outcome {
  exchange.chain = chain;
  if (chain === "read") {
    const read = readQuery(queryOf(exchange.request.url));
    if ("causes" in read) return invalid("query", read.causes);
    exchange.chain = read.route;
  }
  exchange.maxBodyBytes = maxBodyBytes;
  exchange.job = { kind, namespace, name };
  return undefined;
}

/** Refuses a request whose header says that its body is too long. */
export function contentLength({ request, maxBodyBytes = 0 }: Exchange): Outcome {
  const length = Number(request.header("content-length") ?? 0);
  return length > maxBodyBytes ? bodyTooLarge(maxBodyBytes) : undefined;
}
