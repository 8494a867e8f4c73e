/** Made-up search: reports of trials, told one after another to the state of a search. */
import assert from "node:assert/strict";
import { readPruner } from "../../../crds/pruner.ts";
import type { PruningRecord } from "../../../crds/trial_records.ts";
import {
  createSearchState,
  type PrunedSearch,
  type SearchState,
} from "../../../owner/searches/search_state.ts";

/** What becomes of a trial: a report, or its end. */
export type Told =
  | { readonly trial: number; readonly step: number; readonly value: number }
  | { readonly trial: number; readonly end: "complete" | "failed" };

const AT = "2026-01-01T00:00:00.000Z";
/** The time of what is told at a place. */
export const timeAt = (place: number): string => String(place).padStart(6, "0");

/** Returns a search that minimizes, or maximizes, the loss, by the text of its annotation. */
export function searchBy(pruner: unknown, isMinimized = true): PrunedSearch {
  const read = readPruner(JSON.stringify(pruner));
  assert(read.ok, JSON.stringify(read));
  return { pruner: read.value, metric: "loss", isMinimized };
}

/** Returns the state of a search of which nothing is known, or what was recorded. */
export const stateOf = (
  search: PrunedSearch,
  records: ReadonlyMap<number, PruningRecord> = new Map(),
): SearchState => createSearchState(search, records);

/**
 * Tells all of it, but nothing more of a trial that is stopped. Returns at which step each of those was; `next` may
 * give another state to go on with, such as that of a new owner.
 */
export function prunedOf(
  search: PrunedSearch,
  told: readonly Told[],
  next: (state: SearchState, index: number) => SearchState = (state) => state,
) {
  let state = stateOf(search);
  const pruned = new Map<number, number>();
  const words = new Map<number, string>();
  for (const [index, event] of told.entries()) {
    const { trial } = event;
    if (pruned.has(trial)) continue;
    if ("end" in event) {
      state.end(trial, event.end === "complete");
    } else {
      state.add(trial, { ...event, time: timeAt(index) });
      state.judge(trial, AT);
      const record = state.records().get(trial);
      if (record?.pruned !== undefined) {
        pruned.set(trial, event.step);
        words.set(trial, record.pruned);
      }
    }
    state = next(state, index);
  }
  return { pruned, words, state };
}

/** Returns what is told of trials that run one after another, from step 1 on. */
export function inSeries(trials: readonly (readonly number[])[]): Told[] {
  return trials.flatMap((values, trial): Told[] => [
    ...values.map((value, index) => ({ trial, step: index + 1, value })),
    { trial, end: "complete" },
  ]);
}

/** Returns what is told of trials that run side by side; each ends with its last value. */
export function inTurns(trials: readonly (readonly number[])[]): Told[] {
  const longest = Math.max(...trials.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    trials.flatMap((values, trial): Told[] => {
      const value = values[index];
      if (value === undefined) return [];
      const report = { trial, step: index + 1, value };
      return index < values.length - 1 ? [report] : [report, { trial, end: "complete" }];
    })).flat();
}

/** Writes stopped trials as `trial@step`. */
export const asText = (pruned: ReadonlyMap<number, number>): string =>
  [...pruned].sort(([a], [b]) => a - b).map(([trial, step]) => `${trial}@${step}`).join(" ");
