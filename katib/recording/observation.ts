/** A Trial's observation by Katib's formula (contract katib.md 3), and the rows that it is made of. Pure. */
import { readGoFloat } from "../../crds/go_float.ts";
import { KATIB } from "../../crds/katib_names.ts";
import type { TrialMetric } from "../../crds/trial.ts";
import type { ObservationRow } from "../log/sink.ts";
import { microsOf } from "./micros.ts";

/** Which metrics an observation has. */
export interface ObservedMetrics {
  /** The objective's name. */
  readonly name: string;
  readonly additional: readonly string[];
  /** Those that are kept; absent: all of the above, as Katib's webhook fills them in. */
  readonly strategies?: readonly { readonly name: string }[] | undefined;
}

/** What the rows of a metric come to. */
interface Summary {
  min: string;
  max: string;
  latest: string;
  minValue?: number;
  maxValue?: number;
  at?: bigint;
}

const unavailable = (): Summary => ({
  min: KATIB.unavailable,
  max: KATIB.unavailable,
  latest: KATIB.unavailable,
});

/** As Go's ParseFloat: nothing also where it says that a number is out of range. */
function numberOf(value: string): number | undefined {
  const read = readGoFloat(value);
  return read?.isInRange ? read.value : undefined;
}

/** Takes a row in: the first number is least and largest; a later one that is less is not looked at again. */
function add(summary: Summary, { time, value }: ObservationRow): void {
  const number = numberOf(value);
  if (number !== undefined) {
    const { minValue, maxValue } = summary;
    if (minValue === undefined || maxValue === undefined) {
      Object.assign(summary, { min: value, max: value, minValue: number, maxValue: number });
    } else if (number < minValue) Object.assign(summary, { min: value, minValue: number });
    else if (number > maxValue) Object.assign(summary, { max: value, maxValue: number });
  }
  const at = microsOf(time);
  if (at === undefined || (summary.at !== undefined && at < summary.at)) return;
  Object.assign(summary, { latest: value, at });
}

/**
 * The observation that Katib's controller would write after these rows. Values are the rows' own texts;
 * a metric without rows is `unavailable`.
 */
export function observationOf(
  { name, additional, strategies }: ObservedMetrics,
  rows: readonly ObservationRow[],
): TrialMetric[] {
  const read = new Set([name, ...additional]);
  const kept = strategies?.map((one) => one.name) ?? [...read];
  const summaries = new Map(kept.map((one) => [one, unavailable()]));
  for (const row of rows) {
    const summary = read.has(row.name) ? summaries.get(row.name) : undefined;
    if (summary !== undefined) add(summary, row);
  }
  return [...summaries].map(([name, { min, max, latest }]) => ({ name, min, max, latest }));
}
