/** Parts of a log whose rows are at hand. Pure. */
import type { Position } from "../../crds/wire/observation.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";
import type { LogRange } from "./sink.ts";

/** What rows have that stand in a log. */
interface LogRow {
  readonly time: string;
  readonly name: string;
}

const timeOf = ({ time }: LogRow) => sortableTime(time) ?? time;

/**
 * Returns the rows without the first `seen` of their first time. Only rows of that very time count as seen: a log
 * that has lost them, as one in memory does with its owner, hides no later ones.
 */
export function afterSeen<Row>(
  rows: readonly Row[],
  isOfThatTime: (row: Row) => boolean,
  seen: number,
): readonly Row[] {
  const first = rows.findIndex((row, index) => index >= seen || !isOfThatTime(row));
  return first < 0 ? [] : rows.slice(first);
}

/** Returns the index of the first row from a time on. */
function indexFrom(rows: readonly LogRow[], time: string): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && timeOf(row) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the part of a log, whose rows stand by time. */
export function partOf<Row extends LogRow>(
  rows: readonly Row[],
  { since, seen = 0, until, metric, limit = Infinity }: LogRange,
): Row[] {
  const from = sortableTime(since ?? "");
  const to = sortableTime(until ?? "");
  const part: Row[] = [];
  let left = seen;
  for (let index = from === undefined ? 0 : indexFrom(rows, from); index < rows.length; index++) {
    const row = rows[index];
    if (row === undefined || part.length >= limit) break;
    if (to !== undefined && timeOf(row) > to) break;
    if (metric !== undefined && row.name !== metric) continue;
    if (left > 0 && timeOf(row) === from) left--;
    else part.push(row);
  }
  return part;
}

/** Returns the position behind rows that were read from `from` on; `from` itself if there are none. */
export function behind(
  rows: readonly Pick<LogRow, "time">[],
  from: Position | undefined,
): Position | undefined {
  const last = sortableTime(rows.at(-1)?.time ?? "");
  if (last === undefined) return from;
  // Rows stand by time: the few of the last one are found from the end.
  const before = rows.findLastIndex(({ time }) => sortableTime(time) !== last);
  const seen = rows.length - 1 - before;
  // Rows of that time that stood on the pages before.
  return { time: last, seen: last === from?.time ? from.seen + seen : seen };
}
