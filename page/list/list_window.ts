/** Window of the list of jobs: rows that pass the filters, in their order, and how many there are. Pure. */
import type { JobRow } from "./job_row.ts";
import type { ListQuery } from "./list_query.ts";

/** A part of the list. */
export interface ListWindow {
  readonly rows: readonly JobRow[];
  /** Rows that pass the filters. */
  readonly total: number;
  /** Of the rows that pass all filters but that of states, how many are in each state. */
  readonly states: Readonly<Record<string, number>>;
  /** The kinds of the rows that pass all filters but those of kinds and states. */
  readonly kinds: readonly string[];
}

/** What rows are compared by: undefined comes last in either order. */
type SortValue = string | number | undefined;

const timeOf = (text: string | undefined) => text === undefined ? undefined : Date.parse(text);

function metricOf({ metrics }: JobRow, name: string | undefined): number | undefined {
  const value = Number(metrics?.find((it) => it.name === name)?.value ?? NaN);
  return Number.isFinite(value) ? value : undefined;
}

function sortValue(row: JobRow, { sort, sortMetric }: ListQuery): SortValue {
  switch (sort) {
    case "progress":
      return row.progress;
    case "remaining":
      return row.remainingSeconds;
    case "created":
      return timeOf(row.created);
    case "updated":
      return timeOf(row.updated);
    case "metric":
      return metricOf(row, sortMetric);
    default:
      return row[sort];
  }
}

/** Orders that begin with the most, unless the query says otherwise. */
const MOST_FIRST: readonly string[] = ["created", "updated", "progress"];

const byText = (one: string, other: string) => one < other ? -1 : one > other ? 1 : 0;

function byName(one: JobRow, other: JobRow): number {
  return byText(one.namespace, other.namespace) || byText(one.name, other.name) ||
    byText(one.kind, other.kind) || byText(one.uid, other.uid);
}

function compareValues(one: SortValue, other: SortValue, sign: number): number {
  if (one === other) return 0;
  if (one === undefined || Number.isNaN(one)) return 1;
  if (other === undefined || Number.isNaN(other)) return -1;
  return one < other ? -sign : sign;
}

/** The rows in the order of the query; rows that are equal in it stand by namespace and name. */
function sorted(rows: readonly JobRow[], query: ListQuery): JobRow[] {
  const { sort, order = MOST_FIRST.includes(sort) ? "descending" : "ascending" } = query;
  const sign = order === "descending" ? -1 : 1;
  const keyed = rows.map((row) => ({ row, value: sortValue(row, query) }));
  keyed.sort((one, other) =>
    compareValues(one.value, other.value, sign) || byName(one.row, other.row)
  );
  return keyed.map(({ row }) => row);
}

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

/** Returns the rows of a query, whatever part of them it asks for. */
export function orderedList(all: Iterable<JobRow>, query: ListQuery): OrderedList {
  const passes = filterOf(query);
  const states: Record<string, number> = {};
  const kinds = new Set<string>();
  const found: JobRow[] = [];
  for (const row of all) {
    if (!passes(row)) continue;
    kinds.add(row.kind);
    if (query.kind.length > 0 && !query.kind.includes(row.kind)) continue;
    states[row.state] = (states[row.state] ?? 0) + 1;
    if (query.state.length === 0 || query.state.includes(row.state)) found.push(row);
  }
  return { rows: sorted(found, query), states, kinds: [...kinds].sort() };
}

/** Returns the part that a query asks for. */
export function windowIn({ rows, states, kinds }: OrderedList, query: ListQuery): ListWindow {
  const { offset, limit } = query;
  return { rows: rows.slice(offset, offset + limit), total: rows.length, states, kinds };
}

/** Returns the window that a query asks for. */
export function windowOf(all: Iterable<JobRow>, query: ListQuery): ListWindow {
  return windowIn(orderedList(all, query), query);
}
