/** Lists of objects: selection, pages, and consistency between pages. */
import { z } from "zod";
import type { ApiObject } from "../objects/api_object.ts";
import { badRequest, expired, invalidOptions, type StatusError } from "../objects/status_error.ts";
import { asServed, type Call, type Context } from "./context.ts";
import { wholeNumber } from "./query_parameters.ts";
import { selectorOf } from "./selectors.ts";

/** A page of a list. */
export interface Page {
  readonly items: ApiObject[];
  readonly metadata: {
    resourceVersion: string;
    continue?: string;
    remainingItemCount?: number;
  };
}

/** Continue token: the revision, and the object after which the next page begins. */
const tokenSchema = z.object({ revision: z.number().int(), after: z.string() });

function encodeToken(token: z.infer<typeof tokenSchema>): string {
  return btoa(JSON.stringify(token)).replace(/=+$/, "");
}

function decodeToken(token: string): z.infer<typeof tokenSchema> {
  try {
    return tokenSchema.parse(JSON.parse(atob(token)));
  } catch {
    throw badRequest("continue key is not valid: use the one of the previous page");
  }
}

function orderKey({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Returns the revision of the query parameter `resourceVersion`. Throws 400, and 410 if it is of the future. */
export function revisionOf({ store }: Context, query: URLSearchParams): number | undefined {
  const revision = wholeNumber(query, "resourceVersion");
  if (revision === undefined || revision <= store.revision) return revision;
  throw expired(`Too large resource version: ${revision}, current: ${store.revision}`);
}

/** 422: the query parameter `resourceVersionMatch` does not fit. */
export function wrongMatch(detail: string): StatusError {
  return invalidOptions("ListOptions", "resourceVersionMatch", detail);
}

/** Returns the revision that the client asks for; undefined for the current one. */
function wantedRevision(context: Context, query: URLSearchParams): number | undefined {
  const revision = revisionOf(context, query);
  const match = query.get("resourceVersionMatch");
  if (match && match !== "Exact" && match !== "NotOlderThan") {
    throw wrongMatch(
      `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`,
    );
  }
  if (match && revision === undefined) {
    throw wrongMatch(
      "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    );
  }
  return match === "Exact" ? revision : undefined;
}

/**
 * Returns a page of the objects of a kind. Every page of a list shows the same revision. Throws 410
 * for a continue token that is older than the history.
 */
export function listObjects(
  context: Context,
  { resource, namespace }: Call,
  query: URLSearchParams,
): Page {
  const { store } = context;
  const token = query.get("continue") ? decodeToken(query.get("continue") ?? "") : undefined;
  const at = token?.revision ?? wantedRevision(context, query);
  const revision = at ?? store.revision;
  const all = at === undefined || at === store.revision
    ? store.list(resource, namespace)
    : store.listAt(resource, namespace, at);
  const selects = selectorOf(query, resource);
  const rest = all.filter((object) => token === undefined || orderKey(object) > token.after);
  const selected = selects ? rest.filter(selects) : rest;
  const items = selected.slice(0, wholeNumber(query, "limit") || Infinity);
  const remaining = selected.length - items.length;
  const last = items.at(-1);
  return {
    items: items.map((object) => asServed(context, object, resource)),
    metadata: {
      resourceVersion: `${revision}`,
      ...(remaining > 0 && last && { continue: encodeToken({ revision, after: orderKey(last) }) }),
      ...(remaining > 0 && !selects && { remainingItemCount: remaining }),
    },
  };
}
