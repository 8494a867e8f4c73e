/** Kind of search: how its searches are found and read. Each kind is a file, and a row of the table of kinds. */
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { BoundedReads } from "../../views/details/bounded_reads.ts";
import type { FoundSearch } from "./search.ts";
import type { SearchList } from "../../crds/wire/searches.ts";

/** What a kind reads with, as the viewer. */
export interface SearchReader extends BoundedReads {
  readonly kinds: JobKinds;
  /** Tells viewers apart: what one may read is remembered for no other. */
  readonly viewer: string;
}

/** A kind of search. */
export interface SearchKind {
  /** `<plural>.<group>`, in addresses. */
  readonly id: string;
  /** Lists searches of namespaces; without any, of all of them. */
  list(reader: SearchReader, namespaces: readonly string[]): Promise<SearchList>;
  /** Returns undefined if there is none of that name. Throws if nothing of it may be read. */
  read(
    reader: SearchReader,
    search: { readonly namespace: string; readonly name: string },
  ): Promise<FoundSearch | undefined>;
}
