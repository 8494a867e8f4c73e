/** Reading of a log in small parts with pauses, so that no push has to wait. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { ObservationReader } from "../observations/observations.ts";
import type { LogRange } from "../observations/sink.ts";

/** Rows of one part; the pause after it, as a multiple of the time that it took; and the longest pause in milliseconds. */
export const PART_LIMITS = { rows: 250, pausePerPart: 4, pauseMs: 100 } as const;

/** Where logs are read, and by what time. */
export interface LogReadingOptions {
  readonly readLog: ObservationReader["pageOf"];
  readonly clock: Clock;
}

/** Calls `onRows` with the rows of a range, at most `limit`. Returns whether those were all. Rejects as `readLog` does. */
export async function readInParts(
  { readLog, clock }: LogReadingOptions,
  job: JobRef,
  { since: from, limit: most = Infinity, ...range }: LogRange,
  onRows: (rows: readonly ObservationRow[]) => void,
  signal: AbortSignal,
): Promise<boolean> {
  let [since, seen, left] = [from, 0, most];
  while (left > 0 && !signal.aborted) {
    const began = clock.monotonic();
    const limit = Math.min(left, PART_LIMITS.rows);
    const part = await readLog(job, { ...range, since, seen, limit }, signal);
    if (part === undefined) return true;
    const { rows, more } = part;
    onRows(rows);
    if (!more) return true;
    left -= rows.length;
    const last = rows.at(-1)?.time ?? since;
    const same = rows.length - rows.findIndex(({ time }) => time === last);
    [since, seen] = [last, last === since ? seen + same : same];
    const tookMs = clock.monotonic() - began;
    await clock.sleep(Math.min(tookMs * PART_LIMITS.pausePerPart, PART_LIMITS.pauseMs), signal);
  }
  return false;
}
