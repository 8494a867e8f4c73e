/** Rows and windows of the list as they are sorted anew. */
import type { ListQuery } from "../../../crds/wire/list_query.ts";
import type { JobRow, ListWindow } from "../../../crds/wire/row.ts";
import { orderedList, windowIn } from "../../../views/list/list_window.ts";
import { compareRows, type SortOrder, sortValue } from "../../../views/list/row_sorting.ts";

/** Returns the rows in order. */
export function sortedRows(rows: Iterable<JobRow>, order: SortOrder): JobRow[] {
  const all = Array.from(rows, (row) => ({ row, value: sortValue(row, order) }));
  return all.sort((one, other) => compareRows(one, other, order)).map(({ row }) => row);
}

/** Returns the window that a query asks for. */
export function windowOf(all: Iterable<JobRow>, query: ListQuery): ListWindow {
  return windowIn(orderedList(sortedRows(all, query), query), query);
}
