/** Searches and their trials as the server gives them, and which trials have their curves shown. Pure. */
import type {
  BestStep,
  BestTrial,
  Objective as SentObjective,
  Parameter,
  SearchList as SentList,
  SearchRow as SentRow,
  ShownSearch,
  ShownTrial,
  StoppedBy,
  Strategy,
  TrialCounts,
  TrialStop as SentStop,
} from "../../../crds/wire/searches.ts";
import {
  countOf,
  fields,
  type FieldsOf,
  ifThere,
  listWith,
  numberOf,
  textOf,
  timeOf,
} from "../feed/answer_fields.ts";
import { asList } from "../../../platform/base/json.ts";
import { OPEN } from "../url_state.ts";
import { DIRECTIONS } from "./search_view.ts";
import { keyOf, MOST_JOBS, nameFields, nameOf } from "../feed/job_key.ts";
import { readDenied } from "../feed/view_answers_read.ts";

const STRATEGIES = ["min", "max", "latest"] as const satisfies readonly Strategy[];
const objectiveFields = fields(
  {
    metric: textOf,
    direction: (it) => DIRECTIONS.find((one) => one === it) ?? "",
    goal: numberOf,
    strategy: (it) => STRATEGIES.find((one) => one === it) ?? "latest",
  } satisfies FieldsOf<SentObjective>,
);
/** The metric by which trials are compared. */
export type Objective = ReturnType<typeof objectiveFields>;

function objectiveOf(value: unknown): Objective | undefined {
  const objective = objectiveFields(value);
  return objective.metric === "" ? undefined : objective;
}

const countsOf = fields(
  {
    total: countOf,
    states: listWith((it) => {
      const [state, count] = asList(it);
      return [textOf(state), countOf(count)] as const;
    }),
  } satisfies FieldsOf<TrialCounts>,
);
/** Counts of trials. */
export type Counts = ReturnType<typeof countsOf>;

const parameterOf = fields(
  {
    name: textOf,
    scale: (it) => it === "log" || it === "list" ? it : "linear",
    min: numberOf,
    max: numberOf,
    list: listWith(textOf),
  } satisfies FieldsOf<Parameter>,
);

const stopOf = fields(
  { by: textOf, text: textOf, rules: listWith(textOf), user: textOf } satisfies FieldsOf<SentStop>,
);
/** Why a trial was stopped. */
export type TrialStop = ReturnType<typeof stopOf>;

const trialFields = fields(
  {
    name: textOf,
    state: textOf,
    message: textOf,
    createdMs: timeOf,
    startedMs: timeOf,
    endedMs: timeOf,
    job: ifThere(nameOf),
    values: listWith(ifThere(textOf)),
    value: numberOf,
    metrics: listWith(ifThere(textOf)),
    stop: ifThere(stopOf),
  } satisfies FieldsOf<ShownTrial>,
);

/** Returns a trial with the key of its job; empty: it is not known. */
const withKey = ({ job, ...trial }: ReturnType<typeof trialFields>) => ({
  ...trial,
  job: job === undefined ? "" : keyOf(job),
});
/** A trial. */
export type Trial = ReturnType<typeof withKey>;

const stepFields = fields(
  { trial: textOf, timeMs: timeOf, value: numberOf } satisfies FieldsOf<Partial<BestStep>>,
);

/** Reads the steps that say when they were, and how good. */
const stepsOf = (value: unknown) =>
  asList(value).map(stepFields).flatMap(({ trial, timeMs, value }) =>
    timeMs === undefined || value === undefined ? [] : [{ trial, timeMs, value }]
  );

const searchFields = fields(
  {
    state: textOf,
    message: textOf,
    createdMs: timeOf,
    endedMs: timeOf,
    notes: listWith(fields({ name: textOf, text: textOf })),
    denied: listWith(textOf),
    isCut: (it) => it === true,
    objective: objectiveOf,
    metrics: listWith(textOf),
    parameters: listWith(parameterOf),
    counts: countsOf,
    best: textOf,
    stops: listWith(
      fields({ text: textOf, trials: listWith(textOf) } satisfies FieldsOf<StoppedBy>),
    ),
    trials: listWith(trialFields),
    bestSoFar: stepsOf,
  } satisfies FieldsOf<ShownSearch>,
);

/** Reads a search with its trials. */
export function readSearch(value: unknown) {
  const search = searchFields(value);
  return { ...search, trials: search.trials.map(withKey) };
}
/** A search with its trials. */
export type Search = ReturnType<typeof readSearch>;

const bestOf = ifThere(fields({ trial: textOf, value: textOf } satisfies FieldsOf<BestTrial>));
const rowOf = fields(
  {
    ...nameFields,
    state: textOf,
    createdMs: timeOf,
    objective: objectiveOf,
    counts: countsOf,
    best: bestOf,
    bestBy: ifThere(fields({ minimize: bestOf, maximize: bestOf })),
  } satisfies FieldsOf<SentRow>,
);
/** A search in the list. */
export type SearchRow = ReturnType<typeof rowOf>;

const listFields = fields(
  {
    searches: listWith(rowOf),
    denied: readDenied,
    absent: listWith(textOf),
    isCut: (it) => it === true,
  } satisfies FieldsOf<SentList>,
);

/** Reads the list of searches. */
export function readSearches(value: unknown) {
  const { searches: rows, ...others } = listFields(value);
  return { ...others, rows };
}
/** The list of searches. */
export type SearchList = ReturnType<typeof readSearches>;

/** Whether a trial may still push. */
export const isOpen = ({ state }: Pick<Trial, "state">): boolean => OPEN.includes(state);

/** Most jobs whose curves are shown: as many as one request names. */
export const MOST_CURVES = MOST_JOBS;

/** Returns the trials whose curves are shown: the marked one, the best, those that run, and the newest of the others. */
export function chosenTrials(
  { trials, best }: Pick<Search, "trials" | "best">,
  marked: string,
): readonly Trial[] {
  const rank = (it: Trial) => it.name === marked ? 0 : it.name === best ? 1 : isOpen(it) ? 2 : 3;
  return trials.filter(({ job }) => job !== "")
    .sort((one, other) => rank(one) - rank(other) || (other.createdMs ?? 0) - (one.createdMs ?? 0))
    .slice(0, MOST_CURVES);
}
