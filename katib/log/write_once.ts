/**
 * Idempotent writes to a DBManager service: rows that may be in the log already are looked for first, since
 * Katib's table stores a row as often as it is reported.
 */
import { status } from "@grpc/grpc-js";
import type { Clock } from "../../platform/base/clock.ts";
import { CallError, type DbManagerClient } from "./db_manager_client.ts";
import type { KnownRow } from "./known_row.ts";
import type { LogWrites } from "./log_writes.ts";
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { type GetRequest, wholeLog, type WireRow } from "./wire.ts";

/** Options of {@link writeOnce}. */
export interface WriteOnceParts {
  readonly client: Pick<DbManagerClient, "report" | "get">;
  readonly clock: Clock;
  /** How long after a write of unknown outcome its rows may still appear, in milliseconds. */
  readonly settleMs: number;
}

/** Most rows of one call: Katib's statement takes four values for each row, and 65,535 in all. */
export const ROWS_PER_CALL = 5000;
/** Errors of the rows themselves: they will not be accepted later either. */
export const REFUSALS: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.OUT_OF_RANGE,
]);

/** Rows of an abandoned write may still come into the log. */
export class Unsettled extends Error {}

/** Returns a peer's rows sorted, each once, without invalid ones. */
export function rowsOf(wire: readonly WireRow[]): ObservationRow[] {
  const rows = new Map<string, { at: string; name: string; value: string }>();
  for (const { time, metric } of wire) {
    const at = sortableTime(time);
    if (at === undefined || metric === undefined) continue;
    rows.set(`${at}\n${metric.name}\n${metric.value}`, { at, ...metric });
  }
  return [...rows.values()].sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0)
    .map(({ at, name, value }) => ({ time: shortTime(at), name, value }));
}

/** Returns a request for the part of a log in which the rows would be. */
function rangeOf(trialName: string, rows: readonly KnownRow[]): GetRequest {
  const times = rows.map(({ at }) => at).sort();
  return {
    ...wholeLog(trialName),
    startTime: shortTime(times[0] ?? ""),
    endTime: shortTime(times.at(-1) ?? ""),
  };
}

/** Returns the rows that are not in the log, which is read only after a write of unknown outcome. */
async function missingOf(
  { client, clock }: WriteOnceParts,
  writes: LogWrites,
  rows: readonly KnownRow[],
  signal: AbortSignal,
): Promise<readonly KnownRow[]> {
  const doubtful = writes.doubtful(rows);
  if (doubtful.length === 0) return rows;
  // Whatever was settled before this read is seen by it.
  const isSettled = writes.isSettled(clock.monotonic());
  const found = await client.get(rangeOf(writes.trialName, doubtful), signal);
  const there = new Set(
    rowsOf(found).map(({ time, name, value }) => `${sortableTime(time)}\n${name}\n${value}`),
  );
  const missing = rows.filter(({ id }) => !there.has(id));
  if (!isSettled && doubtful.some(({ id }) => !there.has(id))) throw new Unsettled();
  return missing;
}

/**
 * Writes distinct rows, none of which comes into the log twice. Rejects with a CallError, or with
 * {@link Unsettled} if it is too soon to know the outcome of an earlier write.
 */
export async function writeOnce(
  parts: WriteOnceParts,
  writes: LogWrites,
  rows: readonly KnownRow[],
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, settleMs } = parts;
  const missing = await missingOf(parts, writes, rows, signal);
  for (let at = 0; at < missing.length; at += ROWS_PER_CALL) {
    const part = missing.slice(at, at + ROWS_PER_CALL);
    const takeBack = writes.sending(part);
    try {
      await client.report(writes.trialName, part.map(({ wire }) => wire), signal);
    } catch (error) {
      const wasNotSent = error instanceof CallError &&
        (error.wasNotSent || REFUSALS.has(error.code));
      if (wasNotSent) takeBack();
      else writes.unknownUntil(clock.monotonic() + settleMs);
      throw error;
    }
  }
}
