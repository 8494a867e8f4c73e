/** A row as logs compare, send and store it. */
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import { SinkError } from "./sink.ts";
import { type ObservationRow } from "../../trials/recording/observation_row.ts";
import type { WireRow } from "./wire.ts";

/** A row, and the text that tells it from others of its log. */
export interface KnownRow {
  readonly id: string;
  /** `sortableTime`. */
  readonly at: string;
  readonly wire: WireRow & { readonly metric: { readonly name: string; readonly value: string } };
}

/** What Katib's table holds (contract katib.md 6). */
const LIMITS = { name: 255, valueBytes: 65_535 } as const;
const encoder = new TextEncoder();

/** Why a table cannot hold the row; undefined where it can. */
function problemOf({ name, value }: ObservationRow): string | undefined {
  if (name === "" || [...name].length > LIMITS.name) {
    return `a metric's name must have 1 to ${LIMITS.name} characters`;
  }
  if (encoder.encode(value).length > LIMITS.valueBytes) {
    return `the value of "${name}" is longer than ${LIMITS.valueBytes} bytes`;
  }
  return name.includes("\0") || value.includes("\0")
    ? `the metric "${name}" has a NUL character`
    : undefined;
}

/** The row as it is compared and sent. Throws a SinkError `refused` where no log can hold it. */
export function knownRow(row: ObservationRow): KnownRow {
  const at = sortableTime(row.time);
  const problem = at === undefined ? `"${row.time}" is no RFC 3339 time` : problemOf(row);
  if (at === undefined || problem !== undefined) throw new SinkError("refused", problem ?? "");
  const { name, value } = row;
  const id = `${at}\n${name}\n${value}`;
  return { id, at, wire: { time: shortTime(at), metric: { name, value } } };
}
