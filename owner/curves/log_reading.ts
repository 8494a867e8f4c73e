/** Reading of a log in small parts with pauses, so that no push has to wait. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Position } from "../../crds/wire/observation.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { behind } from "../observations/log_parts.ts";
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
  { since, limit: most = Infinity, ...range }: LogRange,
  onRows: (rows: readonly ObservationRow[]) => void,
  signal: AbortSignal,
): Promise<boolean> {
  let from: Position | undefined = since === undefined ? undefined : { time: since, seen: 0 };
  let left = most;
  while (left > 0 && !signal.aborted) {
    const began = clock.monotonic();
    const limit = Math.min(left, PART_LIMITS.rows);
    const query = { ...range, since: from?.time, seen: from?.seen ?? 0, limit };
    const part = await readLog(job, query, signal);
    if (part === undefined) return true;
    const { rows, more } = part;
    onRows(rows);
    if (!more) return true;
    left -= rows.length;
    from = behind(rows, from);
    const tookMs = clock.monotonic() - began;
    await clock.sleep(Math.min(tookMs * PART_LIMITS.pausePerPart, PART_LIMITS.pauseMs), signal);
  }
  return false;
}
