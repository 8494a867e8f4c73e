/**
 * Writes rows to a DBManager service so that none comes into its log twice, although Katib's table takes
 * a row as often as it is reported: what may be there already is looked for first.
 */
import { status } from "@grpc/grpc-js";
import type { Clock } from "../../kube/clock.ts";
import { CallError, type DbManagerClient } from "./db_manager_client.ts";
import type { KnownRow } from "./known_row.ts";
import type { LogWrites } from "./log_writes.ts";
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { GetRequest, WireRow } from "./wire.ts";

/** What it writes with. */
export interface WriteOnceParts {
  readonly client: Pick<DbManagerClient, "report" | "get">;
  readonly clock: Clock;
  /** How long after a write of unknown outcome it may still show, in milliseconds. */
  readonly settleMs: number;
}

/** Rows of one call at most: a statement of Katib's takes four values a row, and 65,535 in all. */
const ROWS_PER_CALL = 5000;
/** Errors about the rows themselves: they will not be taken later either. */
export const REFUSALS: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.OUT_OF_RANGE,
]);

/** What is not in the log yet may still come, from a write that was given up. */
export class Unsettled extends Error {}

/** Rows as they come from a peer, sorted, each once; what is no row is left out. */
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

/** The question for all of a log. */
export const wholeLog = (trialName: string): GetRequest => ({
  trialName,
  metricName: "",
  startTime: "",
  endTime: "",
});

/** The part of a log in which the rows would be. */
function rangeOf(trialName: string, rows: readonly KnownRow[]): GetRequest {
  const times = rows.map(({ at }) => at).sort();
  return {
    trialName,
    metricName: "",
    startTime: shortTime(times[0] ?? ""),
    endTime: shortTime(times.at(-1) ?? ""),
  };
}

/** Those that are not in the log: known without looking, except after a write of unknown outcome. */
async function missingOf(
  { client, clock }: WriteOnceParts,
  writes: LogWrites,
  rows: readonly KnownRow[],
  signal: AbortSignal,
): Promise<readonly KnownRow[]> {
  const doubtful = writes.doubtful(rows);
  if (doubtful.length === 0) return rows;
  // What was settled before the look is told by the look.
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
 * Writes rows of which none is twice in the list, and none comes twice into the log. Rejects with a
 * CallError; with {@link Unsettled} where it is too soon to know what became of an earlier write.
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
