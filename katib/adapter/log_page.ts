/** Pages of a log. Pure. */
import { sortableTime } from "../../trials/recording/row_time.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { LogPage, LogQuery } from "./adapter.ts";

/** Returns the rows from `since` on, without the first `after` of them, at most `limit`. */
export function pageOf(
  rows: readonly ObservationRow[],
  { since, after = 0, limit }: LogQuery,
): LogPage {
  const from = since === undefined ? "" : sortableTime(since) ?? since;
  const first = from === ""
    ? 0
    : rows.findIndex(({ time }) => (sortableTime(time) ?? time) >= from);
  if (first < 0) return { rows: [] };
  const end = first + after + limit;
  const page = rows.slice(first + after, end);
  return end < rows.length ? { rows: page, next: after + limit } : { rows: page };
}
