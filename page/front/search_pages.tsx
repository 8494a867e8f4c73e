/** Pages of searches: what is loaded when one of them is first looked at. */
import { SearchPage } from "./search_page.tsx";
import type { SearchesView, SearchView } from "./search_view.ts";
import { SearchesPage } from "./searches_page.tsx";

/** The page of a view. */
export function SearchPages({ view }: { view: SearchesView | SearchView }) {
  if (view.page === "searches") return <SearchesPage view={view} />;
  return <SearchPage key={`${view.kind}/${view.namespace}/${view.name}`} view={view} />;
}
