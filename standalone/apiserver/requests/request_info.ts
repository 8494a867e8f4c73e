/** Request info: verb and resource, or another path, by method and URL. */

import { isTrue } from "../operations/query_parameters.ts";
import type { Attributes } from "../access/user.ts";

const VERBS: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

function verbOf(method: string, name: string | undefined, watch: boolean): string {
  if (method === "GET" || method === "HEAD") {
    if (name !== undefined) return "get";
    return watch ? "watch" : "list";
  }
  if (method === "DELETE" && name === undefined) return "deletecollection";
  return VERBS[method] ?? method.toLowerCase();
}

/** Subresources of a namespace; anything else after its name is a resource in it. */
const NAMESPACE_SUBRESOURCES = new Set(["status", "finalize"]);

/** Splits `namespaces/NS/pods/…` into namespace and the rest. */
function scopedPathOf(parts: string[]) {
  const [first, namespace, next] = parts;
  if (first !== "namespaces" || namespace === undefined || next === undefined) return { parts };
  if (NAMESPACE_SUBRESOURCES.has(next)) return { namespace, parts };
  return { namespace, parts: parts.slice(2) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Parses method and URL. Never throws: paths that are not of a resource are other paths. */
export function requestInfo(method: string, url: URL): Attributes {
  const path = { path: url.pathname, verb: method.toLowerCase() };
  const parts = url.pathname.split("/").filter((part) => part !== "").map(decoded);
  const [root, ...rest] = parts;
  const isCore = root === "api";
  if (!isCore && root !== "apis") return path;
  const [group, version, ...tail] = isCore ? ["", ...rest] : rest;
  if (group === undefined || version === undefined || tail.length === 0) return path;
  const deprecatedWatch = tail[0] === "watch";
  const scoped = scopedPathOf(deprecatedWatch ? tail.slice(1) : tail);
  const [resource, name, subresource, ...more] = scoped.parts;
  if (resource === undefined || more.length > 0) return path;
  const watch = deprecatedWatch || isTrue(url.searchParams, "watch");
  const selected = /(?:^|,)metadata\.name==?([^,]+)/.exec(
    url.searchParams.get("fieldSelector") ?? "",
  )?.[1];
  const verb = deprecatedWatch && method === "GET" ? "watch" : verbOf(method, name, watch);
  return {
    group,
    version,
    resource,
    subresource,
    namespace: scoped.namespace ?? (resource === "namespaces" ? name : undefined),
    name: name ?? (verb === "list" || verb === "watch" ? selected : undefined),
    verb,
  };
}
