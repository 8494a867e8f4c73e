/** Bounded list of objects for the page: up to so many of them, or that they may not be read. */
import { type JsonObject, objectAt } from "../../crds/json.ts";
import type { Kind } from "../../crds/kinds.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";

/** Items, or that they may not be read; `isCut` if there are more. */
export interface Found<T> {
  readonly items: readonly T[];
  readonly isCut?: boolean;
  readonly isDenied?: boolean;
}

/** What is listed, and how much of it. */
export interface BoundedList {
  readonly most: number;
  /** Objects of one request. */
  readonly page: number;
  /** Of one request, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Returns the kind without reading of its objects: they are shown as they are. */
export function asItIs(kind: Omit<Kind<unknown>, "parse">): Kind<JsonObject> {
  return { ...kind, parse: (value) => objectAt({ value }, "value") };
}

/** Returns that nothing may be read where the API server says so. */
export async function orDenied<T>(read: Promise<Found<T>>): Promise<Found<T>> {
  try {
    return await read;
  } catch (error) {
    if (isForbidden(error)) return { items: [], isDenied: true };
    throw error;
  }
}

/** Reads pages until there are as many as `most`. */
export async function listUpTo<T>(
  client: Pick<KubeClient, "list">,
  kind: Kind<T>,
  { most, page: size, ...options }: BoundedList,
): Promise<Found<T>> {
  const items: T[] = [];
  let token: string | undefined;
  do {
    const page = await client.list(kind, {
      ...options,
      limit: Math.min(size, most - items.length),
      ...(token !== undefined && { continue: token }),
    });
    items.push(...page.items);
    token = page.continue;
  } while (token !== undefined && items.length < most);
  return { items, isCut: token !== undefined };
}
