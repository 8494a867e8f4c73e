/** Window of the list of jobs: rows that pass the filters, in their order, and how many there are. Pure. */
import { type JobRow, type ListWindow, STALLED } from "../../crds/wire/row.ts";
import type { ListQuery } from "../../crds/wire/list_query.ts";

/** Returns a test for the rows that pass all filters but those of kinds and states; rights are not its matter. */
function filterOf({ namespace, experiment, text }: ListQuery): (row: JobRow) => boolean {
  const wanted = text?.toLowerCase();
  return (row) =>
    (namespace.length === 0 || namespace.includes(row.namespace)) &&
    (experiment === undefined || row.experiment === experiment) &&
    (wanted === undefined || `${row.namespace}/${row.name}`.toLowerCase().includes(wanted));
}

/** All rows that pass the filters of a query, in its order. */
export interface OrderedList {
  readonly rows: readonly JobRow[];
  readonly states: ListWindow["states"];
  readonly kinds: ListWindow["kinds"];
}

/** Returns those of rows in the order of a query that pass its filters, whatever part of them it asks for. */
export function orderedList(inOrder: Iterable<JobRow>, query: ListQuery): OrderedList {
  const passes = filterOf(query);
  const states: Record<string, number> = {};
  const kinds = new Set<string>();
  const found: JobRow[] = [];
  for (const row of inOrder) {
    if (!passes(row)) continue;
    kinds.add(row.kind);
    if (query.kind.length > 0 && !query.kind.includes(row.kind)) continue;
    const own = row.stalledSince === undefined ? [row.state] : [row.state, STALLED] as const;
    for (const state of own) states[state] = (states[state] ?? 0) + 1;
    const isWanted = query.state.length === 0 || own.some((it) => query.state.includes(it));
    if (isWanted) found.push(row);
  }
  return { rows: found, states, kinds: [...kinds].sort() };
}

/** Returns the part that a query asks for. */
export function windowIn({ rows, states, kinds }: OrderedList, query: ListQuery): ListWindow {
  const { offset, limit } = query;
  return { rows: rows.slice(offset, offset + limit), total: rows.length, states, kinds };
}
