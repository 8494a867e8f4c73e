/** Valid rows, as logs compare, send and store them. */
import { shortTime, sortableTime } from "../../trials/recording/row_time.ts";
import { SinkError } from "../../owner/observations/sink.ts";
import { type ObservationRow } from "../../trials/recording/observation_row.ts";
import type { WireRow } from "./wire.ts";

/** A row, and the text that identifies it in its log. */
export interface KnownRow {
  readonly id: string;
  /** `sortableTime`. */
  readonly at: string;
  /** UID of the pod and step of the training, for stores that keep them. */
  readonly run?: string | undefined;
  readonly step?: number | undefined;
  readonly wire: WireRow & { readonly metric: { readonly name: string; readonly value: string } };
}

/** Limits of Katib's table (kubeflow/katib: pkg/db/v1beta1/mysql/init.go). */
const LIMITS = { name: 255, valueBytes: 65_535 } as const;
const encoder = new TextEncoder();

/** Returns why the table cannot hold the row, or undefined if it can. */
function problemOf({ name, value }: ObservationRow): string | undefined {
  if (name === "" || [...name].length > LIMITS.name) {
    return `the name of a metric must have 1 to ${LIMITS.name} characters`;
  }
  if (encoder.encode(value).length > LIMITS.valueBytes) {
    return `the value of "${name}" is longer than ${LIMITS.valueBytes} bytes`;
  }
  return name.includes("\0") || value.includes("\0")
    ? `the metric "${name}" contains a NUL character`
    : undefined;
}

/** Validates a row. Throws a SinkError `refused` if no log can hold it. */
export function knownRow(row: ObservationRow): KnownRow {
  const at = sortableTime(row.time);
  const problem = at === undefined ? `"${row.time}" is not an RFC 3339 time` : problemOf(row);
  if (at === undefined || problem !== undefined) throw new SinkError("refused", problem ?? "");
  const { name, value, run, step } = row;
  const id = `${at}\n${name}\n${value}`;
  return { id, at, run, step, wire: { time: shortTime(at), metric: { name, value } } };
}
