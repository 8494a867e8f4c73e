/** Kinds of searches: Katib's, and OptimizationJobs. */
import type { SearchList } from "../../crds/wire/searches.ts";
import { KATIB_SEARCHES } from "./katib_search.ts";
import { OPTIMIZATION_SEARCHES } from "./optimization_search.ts";
import { SEARCH_LIMITS, type SearchKind, type SearchReader } from "./search.ts";

/** All of them. */
export const SEARCH_KINDS: readonly SearchKind[] = [KATIB_SEARCHES, OPTIMIZATION_SEARCHES];

/** Lists the searches of namespaces, the newest first; without any namespace, of all of them. */
export async function listSearches(
  reader: SearchReader,
  namespaces: readonly string[],
): Promise<SearchList> {
  const lists = await Promise.all(SEARCH_KINDS.map((it) => it.list(reader, namespaces)));
  const searches = lists.flatMap((it) => it.searches)
    .sort((one, other) => Date.parse(other.created ?? "") - Date.parse(one.created ?? "") || 0);
  // Jobs are read for searches of several kinds.
  const denied = lists.flatMap((it) => it.denied)
    .map((it) => [`${it.kind}/${it.namespace ?? ""}`, it] as const);
  const isCut = searches.length > SEARCH_LIMITS.searches || lists.some((it) => it.isCut);
  return {
    searches: searches.slice(0, SEARCH_LIMITS.searches),
    denied: [...new Map(denied).values()],
    absent: lists.flatMap((it) => it.absent),
    ...(isCut && { isCut }),
  };
}
