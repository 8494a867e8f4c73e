/** Searches that no Experiment describes: how many trials have their label, and what those say of them. Pure. */
import { compact, objectAt, textAt } from "../../platform/base/json.ts";
import { type Kind, withMetadataOnly } from "../../platform/kube/resource.ts";
import { isOpenState } from "../../crds/names.ts";
import type { BestTrial, SearchRow, ShownSearch } from "../../crds/wire/searches.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { keeping } from "../../views/details/bounded_reads.ts";
import { EXPERIMENTS } from "./katib_objects.ts";
import type { ReadTrial } from "./katib_trials.ts";
import { objectiveOfJobs, type ReadJob } from "./labelled_jobs.ts";
import {
  DIRECTIONS,
  type FoundSearch,
  type FoundTrial,
  SEARCH_LIMITS,
  searchNamedBy,
} from "./search.ts";
import { shownSearch } from "./shown_search.ts";

/** A search by its label, with how many trials it has. */
export interface Labelled {
  readonly namespace: string;
  readonly name: string;
  total: number;
  created: string;
}

/** Tells searches of all namespaces apart. */
export const searchKey = ({ namespace, name }: Pick<Labelled, "namespace" | "name">): string =>
  `${namespace}/${name}`;

/** What is kept of an object that has the label. */
export type WithLabel = Omit<Labelled, "total"> & { readonly isOfTrial: boolean };

/** Returns the kind, of whose objects the label is read. */
export const labelsOf = (kind: Kind<unknown>): Kind<WithLabel> =>
  keeping(withMetadataOnly(kind), (object) => ({
    ...searchNamedBy(object),
    created: textAt(object, "metadata", "creationTimestamp") ?? "",
    isOfTrial: trialReference(objectAt(object, "metadata")) !== undefined,
  }));

/** Counts objects by the search that their labels name. */
export function byLabel(groups: Map<string, Labelled>, items: readonly WithLabel[]): void {
  for (const { namespace, name, created } of items) {
    if (name === "" || namespace === "") continue;
    const key = searchKey({ namespace, name });
    const group = groups.get(key) ?? { namespace, name, total: 0, created };
    groups.set(key, group);
    group.total++;
    if (Date.parse(created) < Date.parse(group.created)) group.created = created;
  }
}

/** Returns the newest searches, as many as one answer may read the trials of. */
export function readableSearches(searches: readonly Labelled[]): readonly Labelled[] {
  let left: number = SEARCH_LIMITS.trials;
  return searches
    .toSorted((one, other) => Date.parse(other.created) - Date.parse(one.created))
    .slice(0, SEARCH_LIMITS.summed)
    .filter(({ total }) => {
      const fits = total <= left;
      if (fits) left -= total;
      return fits;
    });
}

/** Returns the row of a search of which only the number of its trials is known. */
export const rowOfLabel = ({ namespace, name, total, created }: Labelled): SearchRow => ({
  kind: EXPERIMENTS,
  namespace,
  name,
  counts: { total, states: [] },
  ...(created !== "" && { created }),
});

function stateOf(trials: readonly FoundTrial[]) {
  if (trials.some(({ state }) => isOpenState(state))) return "Running";
  return trials.every(({ state }) => state === "Failed") ? "Failed" : "Complete";
}

/** Returns what trials say of a search that has no Experiment. */
export function searchOfTrials(
  trials: readonly FoundTrial[],
  { read, jobs }: { readonly read: readonly ReadTrial[]; readonly jobs: readonly ReadJob[] },
): Omit<FoundSearch, "kind" | "namespace" | "name" | "trials"> {
  const { objective = objectiveOfJobs(jobs) } = read.find((it) => it.objective) ?? {};
  const created = trials.map((it) => it.created ?? "").filter((it) => it !== "").sort()[0];
  return {
    state: stateOf(trials),
    notes: [],
    parameters: [],
    strategies: read.find(({ strategies }) => strategies.size > 0)?.strategies ?? new Map(),
    ...(objective !== undefined && { objective }),
    ...(created !== undefined && { created }),
  };
}

function bestOf({ bestSoFar }: ShownSearch): BestTrial | undefined {
  const best = bestSoFar.at(-1);
  return best && { trial: best.trial, value: String(best.value) };
}

/** Returns the best by each direction; undefined if there is none. */
function bestByEach(found: FoundSearch): SearchRow["bestBy"] {
  const [minimize, maximize] = DIRECTIONS.map((direction) =>
    bestOf(shownSearch(found, { direction }))
  );
  return minimize && maximize && { minimize, maximize };
}

/** Returns the row of a search whose trials were read; where nobody says which direction is better, with the best by each. */
export function rowOfTrials(found: FoundSearch): SearchRow {
  const shown = shownSearch(found);
  const { kind, namespace, name, state, counts, created, objective } = shown;
  return {
    kind,
    namespace,
    name,
    state,
    counts,
    ...compact({
      created,
      objective,
      best: bestOf(shown),
      bestBy: objective && objective.direction === undefined ? bestByEach(found) : undefined,
    }),
  };
}
