/** Experiments of Katib as searches. Their definitions check no field, so neither is one trusted. Pure. */
import {
  asTexts,
  at,
  compact,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "../../platform/base/json.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { DIRECTIONS, type FoundSearch, SEARCH_LIMITS, shortText } from "./search.ts";
import type { Objective, Parameter, SearchRow, Strategy } from "../../crds/wire/searches.ts";
import { finite } from "./shown_search.ts";

/** Id of searches, in addresses. */
export const EXPERIMENTS = `experiments.${KATIB.group}`;

const STRATEGIES: readonly Strategy[] = ["min", "max", "latest"];

/** Returns the objective of a spec of an Experiment or a Trial. */
export function objectiveOfSpec(spec: unknown): Objective | undefined {
  const metric = textAt(spec, "objective", "objectiveMetricName");
  if (metric === undefined || metric === "") return undefined;
  const type = textAt(spec, "objective", "type");
  return {
    metric: shortText(metric),
    ...compact({
      direction: DIRECTIONS.find((it) => it === type),
      goal: numberAt(spec, "objective", "goal"),
    }),
  };
}

/** Returns which value of a metric counts, by the metric's name. */
export function strategiesOfSpec(spec: unknown): ReadonlyMap<string, Strategy> {
  const strategies = objectsAt(objectAt(spec, "objective"), "metricStrategies")
    .slice(0, SEARCH_LIMITS.metrics);
  return new Map(strategies.flatMap(({ name, value }) => {
    const strategy = STRATEGIES.find((it) => it === value);
    return typeof name === "string" && strategy !== undefined
      ? [[shortText(name), strategy] as const]
      : [];
  }));
}

/** Distributions for which an axis is logarithmic. */
const LOGARITHMIC: readonly unknown[] = ["logUniform", "logNormal"];

/** Returns a parameter of the search space; discrete and categorical ones are lists. */
export function parameterOf(value: JsonObject): Parameter | undefined {
  const name = shortText(textAt(value, "name") ?? "");
  if (name === "") return undefined;
  const type = textAt(value, "parameterType");
  const space = objectAt(value, "feasibleSpace");
  if (type === "categorical" || type === "discrete") {
    const list = asTexts(at(space, "list")).slice(0, SEARCH_LIMITS.values).map(shortText);
    return { name, scale: "list", list };
  }
  const [min, max] = [finite(textAt(space, "min")), finite(textAt(space, "max"))];
  const isLog = LOGARITHMIC.includes(textAt(space, "distribution")) && (min ?? 1) > 0;
  return { name, scale: isLog ? "log" : "linear", ...compact({ min, max }) };
}

/** The condition of a type if it is True. */
export function heldBy(object: unknown, type: string): JsonObject | undefined {
  return objectsAt(objectAt(object, "status"), "conditions")
    .find((it) => it.type === type && it.status === "True");
}

const EXPERIMENT_STATES = [
  ["Failed", "Failed"],
  ["Succeeded", "Complete"],
  ["Restarting", "Running"],
  ["Running", "Running"],
] as const;

/** Returns the state of an Experiment, and what it says of it. */
function stateOfExperiment(experiment: unknown) {
  for (const [type, state] of EXPERIMENT_STATES) {
    const condition = heldBy(experiment, type);
    if (condition === undefined) continue;
    const isEnd = state === "Complete" || state === "Failed";
    const message = isEnd ? textAt(condition, "message") : undefined;
    return { state, ...compact({ message: message && shortText(message) }) };
  }
  return { state: "Created" as const };
}

function settingsOf(value: JsonObject): string {
  const settings = objectsAt(value, "algorithmSettings").slice(0, 16)
    .map((it) => `${textAt(it, "name") ?? "?"} ${textAt(it, "value") ?? "?"}`);
  const name = textAt(value, "algorithmName") ?? "?";
  return shortText(settings.length === 0 ? name : `${name} (${settings.join(", ")})`);
}

function notesOf(spec: unknown) {
  const bounds = [
    ["parallelTrialCount", "at once"],
    ["maxTrialCount", "in all"],
    ["maxFailedTrialCount", "may fail"],
  ] as const;
  const trials = bounds.flatMap(([key, words]) => {
    const count = numberAt(spec, key);
    return count === undefined ? [] : [`${count} ${words}`];
  });
  return [
    ["Algorithm", at(spec, "algorithm") && settingsOf(objectAt(spec, "algorithm"))],
    ["Early stopping", at(spec, "earlyStopping") && settingsOf(objectAt(spec, "earlyStopping"))],
    ["Bounds", trials.join(", ")],
  ].flatMap(([name, text]) =>
    typeof name === "string" && typeof text === "string" && text !== "" ? [{ name, text }] : []
  );
}

/** Longest time as RFC 3339, with nanoseconds and an offset. */
const MAX_TIME = 35;

/** A time that was not written, as Go's zero time. */
export const realTime = (text: string | undefined) =>
  text === undefined || text.length > MAX_TIME || !(Date.parse(text) > 0) ? undefined : text;

/** Returns what an Experiment says of its search, without its trials. */
export function searchOfExperiment(
  experiment: JsonObject,
): Omit<FoundSearch, "trials" | "kind" | "namespace" | "name"> {
  const spec = objectAt(experiment, "spec");
  return {
    ...stateOfExperiment(experiment),
    ...compact({
      created: textAt(experiment, "metadata", "creationTimestamp"),
      ended: realTime(textAt(experiment, "status", "completionTime")),
      objective: objectiveOfSpec(spec),
    }),
    notes: notesOf(spec),
    strategies: strategiesOfSpec(spec),
    parameters: objectsAt(spec, "parameters").slice(0, SEARCH_LIMITS.parameters)
      .map(parameterOf).filter((it) => it !== undefined),
  };
}

const COUNTERS = [
  ["trialsPending", "Created"],
  ["trialsRunning", "Running"],
  ["trialsSucceeded", "Complete"],
  ["trialsEarlyStopped", "EarlyStopped"],
  ["trialsFailed", "Failed"],
  ["trialsKilled", "Killed"],
  ["trialMetricsUnavailable", "MetricsUnavailable"],
] as const;

/** Returns the row of an Experiment in a list, with the counts and the best trial that Katib has written. */
export function rowOfExperiment(experiment: JsonObject): SearchRow {
  const { state, created, objective } = searchOfExperiment(experiment);
  const optimal = objectAt(experiment, "status", "currentOptimalTrial");
  const trial = textAt(optimal, "bestTrialName");
  const metric = objectsAt(objectAt(optimal, "observation"), "metrics")
    .find(({ name }) => name === objective?.metric);
  const strategy = strategiesOfSpec(objectAt(experiment, "spec")).get(objective?.metric ?? "");
  const value = textAt(metric, strategy ?? "latest") ?? textAt(metric, "latest");
  const states = COUNTERS.flatMap(([key, word]) => {
    const count = numberAt(experiment, "status", key) ?? 0;
    return count > 0 ? [[word, count] as const] : [];
  });
  const counted = states.reduce((sum, [, count]) => sum + count, 0);
  return {
    kind: EXPERIMENTS,
    namespace: textAt(experiment, "metadata", "namespace") ?? "",
    name: textAt(experiment, "metadata", "name") ?? "",
    state,
    counts: { total: numberAt(experiment, "status", "trials") ?? counted, states },
    ...compact({
      created,
      objective,
      best: trial === undefined || trial === ""
        ? undefined
        : { trial: shortText(trial), ...compact({ value: value && shortText(value) }) },
    }),
  };
}
