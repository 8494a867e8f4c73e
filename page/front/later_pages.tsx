/** Pages beside the list: what is loaded when one of them is first opened. */
import { JobPage } from "./job/job_page.tsx";
import { SearchPage } from "./searches/search_page.tsx";
import { SearchesPage } from "./searches/searches_page.tsx";
import type { ListView, View } from "./url_state.ts";

/** What such a page shows. */
export interface LaterProps {
  readonly view: Exclude<View, ListView>;
}

/** The page of a view. */
export function LaterPages({ view }: LaterProps) {
  if (view.page === "searches") return <SearchesPage view={view} />;
  const key = `${view.kind}/${view.namespace}/${view.name}`;
  if (view.page === "search") return <SearchPage key={key} view={view} />;
  return <JobPage key={key} view={view} />;
}
