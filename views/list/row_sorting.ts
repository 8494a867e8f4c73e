/** Sorting of the rows of the list: what they are compared by, and how. Pure. */
import { beginsWithMost, type JobRow } from "../../crds/wire/row.ts";
import type { ListQuery } from "../../crds/wire/list_query.ts";

/** What rows are compared by: undefined comes last in either order. */
export type SortValue = string | number | undefined;

/** The part of a query that orders rows. */
export type SortOrder = Pick<ListQuery, "sort" | "sortMetric" | "order">;

const finite = (value: number) => Number.isFinite(value) ? value : undefined;
const timeOf = (text: string | undefined) => finite(Date.parse(text ?? ""));

/** Returns what a row is compared by. */
export function sortValue(row: JobRow, { sort, sortMetric }: SortOrder): SortValue {
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
      return finite(Number(row.metrics?.find(({ name }) => name === sortMetric)?.value ?? NaN));
    default:
      return row[sort];
  }
}

const isDescending = ({ sort, order }: SortOrder) =>
  order === undefined ? beginsWithMost(sort) : order === "descending";

/** Returns a text that is the same for orders that are the same. */
export const orderKey = (order: SortOrder): string =>
  JSON.stringify([order.sort, order.sort === "metric" && order.sortMetric, isDescending(order)]);

const byText = (one: string, other: string) => one < other ? -1 : one > other ? 1 : 0;

function byName(one: JobRow, other: JobRow): number {
  return byText(one.namespace, other.namespace) || byText(one.name, other.name) ||
    byText(one.kind, other.kind) || byText(one.uid, other.uid);
}

function compareValues(one: SortValue, other: SortValue, sign: number): number {
  if (one === other) return 0;
  if (one === undefined) return 1;
  if (other === undefined) return -1;
  return one < other ? -sign : sign;
}

/** A row with its {@link sortValue}. */
export interface SortedRow {
  readonly row: JobRow;
  readonly value: SortValue;
}

/** Compares two rows, of which none is equal to another: those with one value stand by namespace and name. */
export function compareRows(one: SortedRow, other: SortedRow, order: SortOrder): number {
  return compareValues(one.value, other.value, isDescending(order) ? -1 : 1) ||
    byName(one.row, other.row);
}
