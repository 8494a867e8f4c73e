/** Reads of a search's parts, each of which may be absent or denied. */
import { isForbidden, isNotServed } from "../../platform/kube/errors.ts";
import type { Found } from "../../views/details/bounded_reads.ts";

/** What was found of one kind of objects, if it is served and may be read. */
export interface ReadList<T> extends Found<T> {
  readonly id: string;
  readonly isAbsent?: boolean;
  /** The API server's refusal. */
  readonly refusal?: unknown;
}

/** Returns what was read of a kind; nothing of one that is not served, or may not be read. */
export async function readOrDenied<T>(id: string, read: Promise<Found<T>>): Promise<ReadList<T>> {
  try {
    return { id, ...await read };
  } catch (error) {
    if (isForbidden(error)) return { id, items: [], isDenied: true, refusal: error };
    if (isNotServed(error)) return { id, items: [], isAbsent: true };
    throw error;
  }
}

/** Returns the ids of the kinds that may not be read. */
export const deniedOf = (lists: readonly ReadList<unknown>[]): readonly string[] =>
  lists.filter(({ isDenied }) => isDenied).map(({ id }) => id);
