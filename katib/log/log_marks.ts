/**
 * Marks of long logs whose server gives out only ranges of time: times with about so many rows from one to the next,
 * as they were seen when rows were read that were not needed yet. Pure but for what it remembers.
 */
import { createSizedCache } from "../../platform/base/bounded_cache.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";

/** Rows from one mark to the next. */
export const ROWS_PER_MARK = 100;
/** Most marks of all logs together, of some 50 bytes each. */
const MAX_MARKS = 100_000;

/** Creates the marks of logs, of which there are none yet. */
export function createLogMarks() {
  const logs = createSizedCache<readonly string[]>(MAX_MARKS, (marks) => marks.length);
  return {
    /**
     * Returns a time up to which so many rows from `since` on stood, a `sortableTime` as that is; undefined if none is
     * known.
     */
    untilOf(log: string, since: string | undefined = "", rows: number): string | undefined {
      const marks = logs.get(log) ?? [];
      const next = marks.findIndex((it) => it >= since);
      // The rows up to the next mark may be none.
      return next < 0 ? undefined : marks[next + Math.ceil(rows / ROWS_PER_MARK)];
    },
    /** Learns from neighbouring rows that were read. */
    learn(log: string, rows: readonly { readonly time: string }[]): void {
      if (rows.length <= 2 * ROWS_PER_MARK) return;
      const marks = rows.filter((_, index) => index % ROWS_PER_MARK === 0)
        .map(({ time }) => sortableTime(time) ?? time);
      const [first = "", last = ""] = [marks[0], marks.at(-1)];
      const known = logs.get(log) ?? [];
      const before = known.filter((it) => it < first);
      // Without those that may be too near to the marks of before.
      const own = before.length === 0 ? marks : marks.slice(1);
      logs.set(log, [...before, ...own, ...known.filter((it) => it > last).slice(1)]);
    },
    forget: (log: string): void => void logs.delete(log),
  };
}
