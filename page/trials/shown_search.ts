/** Search as it is shown: values of the objective, the best so far, counts, and what stopped what. Pure. */
import { isOpenState } from "../../crds/names.ts";
import {
  type FoundSearch,
  type FoundTrial,
  SEARCH_LIMITS,
  shortText,
  type TrialMetric,
} from "./search.ts";
import type {
  BestStep,
  Direction,
  Objective,
  Parameter,
  ShownSearch,
  ShownTrial,
  Strategy,
  TrialState,
} from "../../crds/wire/searches.ts";
import { goNumber } from "../../platform/base/go_float.ts";
import { naturalOrder } from "../../platform/base/natural_order.ts";
import { stoppedBy } from "./trial_stop_words.ts";

/** What a viewer wants trials to be compared by. */
export interface ObjectiveChoice {
  readonly metric?: string;
  readonly direction?: Direction;
}

/** Returns the number that a text is, by the parser of controllers; undefined if it is none, or not finite. */
export function finite(text: string | undefined): number | undefined {
  const value = goNumber(text ?? "");
  return Number.isFinite(value) ? value : undefined;
}

/** Returns how often each text is there. */
function countsOf(texts: readonly string[]): readonly (readonly [text: string, count: number])[] {
  return [...Map.groupBy(texts, (it) => it)].map(([text, all]) => [text, all.length]);
}

/** The names of what trials have, those of most trials first. */
const metricNames = (trials: readonly FoundTrial[]): readonly string[] =>
  countsOf(trials.flatMap(({ metrics }) => metrics.map(({ name }) => name)))
    .toSorted(([, one], [, other]) => other - one).map(([name]) => name);

/** The objective: the viewer's, else the search's, else the metric that most trials have, without a direction. */
function objectiveOf(
  { objective, trials }: FoundSearch,
  { metric, direction }: ObjectiveChoice,
): Objective | undefined {
  const own = metric === undefined || metric === objective?.metric ? objective : undefined;
  const name = metric ?? objective?.metric ?? metricNames(trials)[0];
  if (name === undefined) return undefined;
  return { ...own, metric: name, ...(direction !== undefined && { direction }) };
}

const BY_DIRECTION = { minimize: "min", maximize: "max" } as const;

/** Returns the value of a trial by a strategy; where there is none of that sort, its newest. */
export function valueOf(
  metrics: readonly TrialMetric[],
  name: string,
  strategy: Strategy,
): number | undefined {
  const metric = metrics.find((it) => it.name === name);
  return finite(metric?.[strategy]) ?? finite(metric?.latest);
}

/** The ratio of numbers from which an axis of them is logarithmic, where nobody says what it is. */
const LOG_RATIO = 100;

/** A parameter of which only values are known. */
function seenParameter(name: string, values: readonly string[]): Parameter {
  const numbers = values.map(finite).filter((it) => it !== undefined);
  if (numbers.length < values.length) {
    const list = [...new Set(values.map(shortText))].sort();
    const shown = list.slice(0, SEARCH_LIMITS.values);
    return { name, scale: "list", list: shown };
  }
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)];
  const scale = min > 0 && max / min >= LOG_RATIO ? "log" : "linear";
  return { name, scale, min, max };
}

/** The search's own parameters, and then those that its trials have besides. */
function parametersOf({ parameters, trials }: FoundSearch): readonly Parameter[] {
  const known = new Set(parameters.map(({ name }) => name));
  const others = trials.flatMap(({ assignments }) => assignments)
    .filter(({ name }) => !known.has(name));
  const seen = [...Map.groupBy(others, ({ name }) => name)]
    .map(([name, all]) => seenParameter(name, all.map(({ value }) => value)));
  return [...parameters, ...seen].slice(0, SEARCH_LIMITS.parameters);
}

const timeOf = (text: string | undefined) => Date.parse(text ?? "");

/** Says whether the first value is better. */
const isBetter = (direction: Direction, one: number, other: number) =>
  direction === "minimize" ? one < other : one > other;

/** Ends whose values count, unless a search says which. */
const COUNTING: readonly TrialState[] = ["Complete", "EarlyStopped"];

/** Returns the trials that were better than all that had ended before them. One that runs, has failed or was pruned is not among them. */
function bestSoFar(
  trials: readonly ShownTrial[],
  direction: Direction | undefined,
  counting: readonly TrialState[],
): readonly BestStep[] {
  if (direction === undefined) return [];
  const ended = trials
    .flatMap(({ name, state, value, ended: time, stop }) =>
      value === undefined || !counting.includes(state) || stop?.by === "pruner" ||
        !Number.isFinite(timeOf(time)) || time === undefined
        ? []
        : [{ trial: name, time, value }]
    )
    .sort((one, other) => timeOf(one.time) - timeOf(other.time));
  const steps: BestStep[] = [];
  for (const step of ended) {
    const best = steps.at(-1);
    if (best === undefined || isBetter(direction, step.value, best.value)) steps.push(step);
  }
  return steps;
}

/** Returns the search as it is shown. */
export function shownSearch(found: FoundSearch, choice: ObjectiveChoice = {}): ShownSearch {
  const {
    strategies,
    counting = COUNTING,
    trials: all,
    parameters: _,
    objective: __,
    ...facts
  } = found;
  const chosen = objectiveOf(found, choice);
  const { metric, direction } = chosen ?? {};
  const strategy = (metric === undefined ? undefined : strategies.get(metric)) ??
    (direction === undefined ? "latest" : BY_DIRECTION[direction]);
  const parameters = parametersOf(found);
  const metrics = metricNames(all).slice(0, SEARCH_LIMITS.metrics);
  const trials = all.map(({ assignments, metrics: own, ...trial }): ShownTrial => {
    const values = new Map(assignments.map(({ name, value }) => [name, shortText(value)]));
    const value = metric === undefined ? undefined : valueOf(own, metric, strategy);
    const newest = new Map(own.map(({ name, latest }) => [name, latest]));
    return {
      ...trial,
      values: parameters.map(({ name }) => values.get(name) ?? null),
      metrics: metrics.map((name) => {
        const text = newest.get(name);
        return text === undefined ? null : shortText(text);
      }),
      ...(value !== undefined && { value }),
    };
  }).sort((one, other) =>
    timeOf(one.created) - timeOf(other.created) || naturalOrder(one.name, other.name)
  );
  const steps = bestSoFar(trials, direction, counting);
  const best = steps.at(-1)?.trial;
  // Jobs whose curves are not there have only newest values.
  const isKnown = all.some((it) => it.metrics.some((one) => one.name === metric && one[strategy]));
  return {
    ...facts,
    ...(chosen && { objective: { ...chosen, strategy: isKnown ? strategy : "latest" } }),
    metrics,
    parameters,
    trials,
    counts: { total: trials.length, states: countsOf(trials.map(({ state }) => state)) },
    ...(best !== undefined && { best }),
    bestSoFar: steps,
    stops: stoppedBy(trials),
  };
}

/** Returns the search with as many trials as an answer has room for: the best, those that run, and the newest. */
export function withinAnswer(search: ShownSearch, most: number): ShownSearch {
  const { trials, best } = search;
  let left = most - JSON.stringify({ ...search, trials: [] }).length;
  const rank = ({ name, state }: ShownTrial) => name === best ? 0 : isOpenState(state) ? 1 : 2;
  const places = trials.map((trial, place) => ({ trial, place }))
    .sort((one, other) => rank(one.trial) - rank(other.trial) || other.place - one.place);
  const kept = new Set<ShownTrial>();
  for (const { trial } of places) {
    left -= JSON.stringify(trial).length + 1;
    if (left < 0) break;
    kept.add(trial);
  }
  if (kept.size === trials.length) return search;
  return { ...search, trials: trials.filter((it) => kept.has(it)), isCut: true };
}
