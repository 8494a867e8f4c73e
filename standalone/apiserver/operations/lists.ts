/** Lists of objects: selection, pages, and consistency between pages. */
import { z } from "zod";
import type { Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { badRequest, expired, invalidOptions } from "../objects/status_error.ts";
import type { Context } from "./context.ts";
import { asServed } from "./context.ts";
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
  } catch (cause) {
    if (
      cause instanceof SyntaxError || cause instanceof DOMException || cause instanceof z.ZodError
    ) {
      throw badRequest("continue key is not valid: use the one of the previous page");
    }
    throw cause;
  }
}

function orderKey({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Parses the query parameter `resourceVersion`. Throws 400. */
export function revisionOf(query: URLSearchParams): number | undefined {
  const given = query.get("resourceVersion") ?? "";
  if (given === "") return undefined;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw badRequest(`Invalid value: "${given}": resourceVersion must be a whole number`);
}

function limitOf(query: URLSearchParams): number {
  const given = query.get("limit") ?? "";
  if (given === "" || given === "0") return Infinity;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw badRequest(`Invalid value: "${given}": limit must be a whole number`);
}

/** Returns the revision that the client asks for; undefined for the current one. */
function wantedRevision({ store }: Context, query: URLSearchParams): number | undefined {
  const revision = revisionOf(query);
  const match = query.get("resourceVersionMatch");
  if (match && match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOptions(
      "ListOptions",
      "resourceVersionMatch",
      `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`,
    );
  }
  if (match && revision === undefined) {
    throw invalidOptions(
      "ListOptions",
      "resourceVersionMatch",
      "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    );
  }
  if (revision !== undefined && revision > store.revision) {
    throw expired(`Too large resource version: ${revision}, current: ${store.revision}`);
  }
  return match === "Exact" ? revision : undefined;
}

/**
 * Returns a page of the objects of a kind. Every page of a list shows the same revision. Throws 410
 * for a continue token that is older than the history.
 */
export function listObjects(
  context: Context,
  resource: Resource,
  namespace: string | undefined,
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
  const items = selected.slice(0, limitOf(query));
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
