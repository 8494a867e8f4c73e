/** OptimizationJobs as searches: what their specs and conditions say. Pure. */
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import {
  objectiveOf,
  type OptimizationJob,
  type SearchParameter,
} from "../../crds/optimization_job.ts";
import { SEARCH_CONDITIONS } from "../../crds/optimization_names.ts";
import { readPruner } from "../../crds/pruner.ts";
import type { Parameter } from "../../crds/wire/searches.ts";
import { compact } from "../../platform/base/json.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import { DIRECTIONS, type FoundSearch, SEARCH_LIMITS, shortText } from "./search.ts";
import { finite } from "./shown_search.ts";

const { optimizationJob: KIND } = KINDS;
/** Id of such searches, in addresses. */
export const OPTIMIZATION_JOBS = `${KIND.plural}.${KIND.group}`;

/** Returns a parameter and its axis. */
export function parameterOf({ name, searchSpace }: SearchParameter): Parameter {
  const { uniform, logUniform, categorical } = searchSpace;
  if (categorical !== undefined) {
    const list = categorical.choices.slice(0, SEARCH_LIMITS.values).map(shortText);
    return { name: shortText(name), scale: "list", list };
  }
  const [min, max] = [logUniform ?? uniform].flatMap((it) => [finite(it?.min), finite(it?.max)]);
  const scale = logUniform !== undefined && (min ?? 0) > 0 ? "log" : "linear";
  return { name: shortText(name), scale, ...compact({ min, max }) };
}

/** States by the conditions that mean them, those of ends first. */
const STATES = [
  [SEARCH_CONDITIONS.failed, "Failed"],
  [SEARCH_CONDITIONS.complete, "Complete"],
  [SEARCH_CONDITIONS.running, "Running"],
] as const;

/** Returns the state, and what the condition that means it says; of one that cannot begin, why. */
function stateOf({ status }: OptimizationJob) {
  const conditions = status?.conditions ?? [];
  for (const [type, state] of STATES) {
    const condition = trueCondition(conditions, type);
    if (condition === undefined) continue;
    const ended = state === "Running" ? undefined : condition.lastTransitionTime;
    return { state, ...compact({ message: condition.message || undefined, ended }) };
  }
  const { created } = SEARCH_CONDITIONS;
  const obstacle = conditions.find(({ type, status }) => type === created && status === "False");
  return { state: "Created" as const, ...compact({ message: obstacle?.message }) };
}

const settingsText = (settings: object): string =>
  Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ");

/** Returns the pruner with its settings; of an annotation that is none, what is wrong with it. */
function prunerText(text: string): string {
  const read = readPruner(text);
  if (read.ok) return `${read.value.kind} (${settingsText(read.value.settings)})`;
  return `refused: ${read.problems.map((it) => `${it.field} ${it.message}`.trim()).join("; ")}`;
}

function notesOf({ metadata, spec }: OptimizationJob) {
  const { searchAlgorithm, numTrials = 1, parallelTrials = 1 } = spec;
  const seed = searchAlgorithm?.random?.seed;
  const random = seed === undefined ? "random" : `random (seed ${seed})`;
  const pruner = metadata.annotations?.[ANNOTATIONS.pruner];
  return [
    { name: "Algorithm", text: searchAlgorithm?.grid === undefined ? random : "grid" },
    ...(pruner === undefined ? [] : [{ name: "Pruner", text: shortText(prunerText(pruner)) }]),
    { name: "Bounds", text: `${parallelTrials} at once, ${numTrials} in all` },
  ];
}

/** What is kept of an OptimizationJob, which may be a megabyte. */
export type ReadOptimizationJob = ReturnType<typeof readOptimizationJob>;

/** Reads one: its search without the trials. */
export function readOptimizationJob(job: OptimizationJob) {
  const { metadata, spec, status } = job;
  const { metric, direction } = objectiveOf(job);
  const { message, ...state } = stateOf(job);
  const objective = shortText(metric);
  const search: Omit<FoundSearch, "trials"> = {
    kind: OPTIMIZATION_JOBS,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    ...state,
    ...compact({ created: metadata.creationTimestamp, message: message && shortText(message) }),
    notes: notesOf(job),
    objective: {
      metric: objective,
      ...compact({ direction: DIRECTIONS.find((it) => it === direction.toLowerCase()) }),
    },
    // The last value counts, of trials that are complete.
    strategies: new Map([[objective, "latest"]]),
    counting: ["Complete"],
    parameters: spec.parameters.slice(0, SEARCH_LIMITS.parameters).map(parameterOf),
  };
  return {
    uid: metadata.uid ?? "",
    search,
    names: spec.parameters.map(({ name }) => name),
    /** Whether a controller has begun with it. */
    hasBegun: (status?.conditions ?? []).length > 0,
    ...compact({ best: status?.result?.trainJobName }),
  };
}
