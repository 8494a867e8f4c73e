/**
 * Summary of a log: minimum, maximum and latest value of each metric, by Katib's formula (kubeflow/katib:
 * pkg/controller.v1beta1/trial/trial_controller_util.go).
 */
import { readGoFloat } from "../../platform/base/go_float.ts";
import { KATIB } from "../../crds/katib_names.ts";
import type { TrialMetric } from "../../crds/trial.ts";
import { sortableTime } from "./row_time.ts";
import type { ObservationRow } from "./observation_row.ts";
import type { PlanObjective } from "../plan/observation_plan.ts";

/** Summary of one metric over all rows of a log. */
export interface MetricSummary {
  readonly name: string;
  readonly latest: string;
  readonly min: string;
  readonly max: string;
}

/** Most metrics that are summarized; a job may report any number of names. */
const METRICS_MAX = 1_000;

interface Bound {
  readonly number: number;
  readonly text: string;
}

interface Entry {
  min?: Bound;
  max?: Bound;
  latest: string;
  latestTime: string;
}

function addNumber(entry: Entry, number: number, text: string): void {
  if (entry.min === undefined || entry.max === undefined) {
    entry.min = entry.max = { number, text };
  } else if (number < entry.min.number) entry.min = { number, text };
  else if (number > entry.max.number) entry.max = { number, text };
}

const shown = (name: string, entry: Entry | undefined): MetricSummary => ({
  name,
  min: entry?.min?.text ?? KATIB.unavailable,
  max: entry?.max?.text ?? KATIB.unavailable,
  latest: entry?.latest ?? KATIB.unavailable,
});

/** Summary of the rows of a log so far. */
export type Summary = ReturnType<typeof createSummary>;

/** Creates the {@link Summary} of an empty log. */
export function createSummary() {
  const entries = new Map<string, Entry>();
  return {
    add({ time, name, value }: ObservationRow): void {
      const at = sortableTime(time) ?? "";
      const known = entries.get(name);
      if (known === undefined && entries.size >= METRICS_MAX) return;
      const entry = known ?? { latest: value, latestTime: at };
      entries.set(name, entry);
      const read = readGoFloat(value);
      if (read?.isInRange) addNumber(entry, read.value, value);
      if (at < entry.latestTime) return;
      entry.latest = value;
      entry.latestTime = at;
    },
    /** Sorted by name. */
    metrics: () =>
      [...entries].map(([name, entry]) => shown(name, entry))
        .sort((one, other) => one.name < other.name ? -1 : 1),
    /** Returns the metrics that an objective names, for a Trial's status; `unavailable` without rows. */
    observation(objective: PlanObjective | undefined): readonly TrialMetric[] {
      if (objective === undefined) return [];
      const read = new Set([objective.name, ...objective.additional]);
      // Only those with a strategy, as in Katib.
      const kept = new Set(objective.strategies?.map(({ name }) => name) ?? read);
      return [...kept].map((name) => ({
        ...shown(name, read.has(name) ? entries.get(name) : undefined),
      }));
    },
  };
}
