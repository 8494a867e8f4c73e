/** Plan of a search: how many trials it has, their values, and which of them are to be made next. Pure. */
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import { trialName, type TrialRecord } from "../../crds/trial_records.ts";
import { sameJson } from "../../platform/base/json.ts";
import { type GridParameter, gridPoint, gridSize } from "./grid_search.ts";
import { randomValues } from "./random_search.ts";
import { readSpace, type Space } from "./search_space.ts";

/** Records of trials by their index. */
export type TrialRecords = ReadonlyMap<number, TrialRecord>;

/** A search as it is carried out. */
export interface Search {
  readonly parameters: readonly string[];
  /** Trials in all: of a grid no more than it has points. */
  readonly trials: number;
  readonly parallel: number;
  /** Returns the values of a trial, in the order of the parameters. */
  readonly valuesOf: (index: number) => readonly string[];
}

const categorical = ({ name, space }: { readonly name: string; readonly space: Space }) =>
  space.kind === "categorical" ? [{ name, choices: space.choices }] : [];

/** Reads a search that has no problems. */
export function readSearch({ metadata, spec }: OptimizationJob): Search {
  const { searchAlgorithm, numTrials = 1, parallelTrials = 1 } = spec;
  const parameters = spec.parameters.flatMap(({ name, searchSpace }) => {
    const read = readSpace(searchSpace, "");
    return read.ok ? [{ name, space: read.space }] : [];
  });
  const common = { parameters: parameters.map(({ name }) => name), parallel: parallelTrials };
  if (searchAlgorithm?.grid !== undefined) {
    const grid: GridParameter[] = parameters.flatMap(categorical);
    const size = gridSize(grid);
    const trials = size < BigInt(numTrials) ? Number(size) : numTrials;
    return { ...common, trials, valuesOf: (index) => gridPoint(grid, index) ?? [] };
  }
  const seed = String(searchAlgorithm?.random?.seed ?? metadata.uid);
  return {
    ...common,
    trials: numTrials,
    valuesOf: (index) => randomValues(parameters, seed, index),
  };
}

/**
 * Returns the records that are of trials of the search, by name and values: whoever may write the ConfigMap shall not
 * choose what is made.
 */
export function recordsOf(
  job: OptimizationJob,
  { trials, valuesOf }: Search,
  records: TrialRecords,
): TrialRecords {
  const isOwn = ([index, { name, values }]: readonly [number, TrialRecord]) =>
    index < trials && name === trialName(job.metadata, index) && sameJson(values, valuesOf(index));
  return new Map([...records].filter(isOwn));
}

/** Whether a trial has not ended. */
export const isOpenTrial = ({ state }: TrialRecord): boolean => state === "Running";

/** Returns the records of the trials that are to be made next, by their index: those that have not ended are never too many. */
export function nextTrials(
  job: OptimizationJob,
  search: Search,
  records: TrialRecords,
  now: string,
): Map<number, TrialRecord> {
  const open = [...records.values()].filter(isOpenTrial).length;
  const free = Math.max(0, search.parallel - open);
  const unmade = Array.from({ length: search.trials }, (_, index) => index)
    .filter((index) => !records.has(index));
  return new Map(
    unmade.slice(0, free).map((index) => [index, {
      name: trialName(job.metadata, index),
      values: [...search.valuesOf(index)],
      created: now,
      state: "Running",
    }]),
  );
}
