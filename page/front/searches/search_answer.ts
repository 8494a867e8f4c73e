/** Searches and their trials as the server gives them, and which trials have their curves shown. Pure. */
import { fieldsOf, keyOf, listOf, numberOf, textOf, timeOf } from "../feed/view_answers_read.ts";

/** The metric by which trials are compared. */
export interface Objective {
  readonly metric: string;
  readonly direction: "" | "minimize" | "maximize";
  readonly goal: number | undefined;
  readonly strategy: string;
}

/** A parameter. */
export interface Parameter {
  readonly name: string;
  readonly scale: "linear" | "log" | "list";
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly list: readonly string[];
  readonly text: string;
}

/** Why a trial was stopped. */
export interface TrialStop {
  readonly by: string;
  readonly text: string;
  readonly rules: readonly string[];
  readonly user: string;
}

/** A trial. */
export interface Trial {
  readonly name: string;
  readonly state: string;
  readonly message: string;
  readonly createdMs: number | undefined;
  readonly startedMs: number | undefined;
  readonly endedMs: number | undefined;
  /** Key of its job; empty: it is not known. */
  readonly job: string;
  /** In the order of the parameters; undefined: it has none. */
  readonly values: readonly (string | undefined)[];
  readonly value: number | undefined;
  /** In the order of the metrics. */
  readonly metrics: readonly (string | undefined)[];
  readonly stop: TrialStop | undefined;
}

/** Counts of trials. */
export interface Counts {
  readonly total: number;
  readonly states: readonly (readonly [state: string, count: number])[];
}

/** A search with its trials. */
export interface Search {
  readonly state: string;
  readonly message: string;
  readonly createdMs: number | undefined;
  readonly endedMs: number | undefined;
  readonly notes: readonly { readonly name: string; readonly text: string }[];
  readonly denied: readonly string[];
  readonly isCut: boolean;
  readonly objective: Objective | undefined;
  readonly metrics: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly trials: readonly Trial[];
  readonly counts: Counts;
  readonly best: string;
  readonly bestSoFar: readonly {
    readonly trial: string;
    readonly timeMs: number;
    readonly value: number;
  }[];
  readonly stops: readonly {
    readonly text: string;
    readonly by: string;
    readonly trials: readonly string[];
  }[];
}

/** A search in the list. */
export interface SearchRow {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly message: string;
  readonly createdMs: number | undefined;
  readonly objective: Objective | undefined;
  readonly counts: Counts;
  readonly best: { readonly trial: string; readonly value: string } | undefined;
}

/** The list of searches. */
export interface SearchList {
  readonly rows: readonly SearchRow[];
  readonly denied: readonly { readonly kind: string; readonly namespace?: string }[];
  readonly absent: readonly string[];
  readonly isCut: boolean;
}

const direction = (value: unknown) => value === "minimize" || value === "maximize" ? value : "";

function objectiveOf(value: unknown): Objective | undefined {
  const it = fieldsOf(value);
  const metric = textOf(it.metric);
  if (metric === "") return undefined;
  return {
    metric,
    direction: direction(it.direction),
    goal: numberOf(it.goal),
    strategy: textOf(it.strategy),
  };
}

function countsOf(value: unknown): Counts {
  const { total, states } = fieldsOf(value);
  return {
    total: numberOf(total) ?? 0,
    states: listOf(states).map((it) => {
      const [state, count] = listOf(it);
      return [textOf(state), numberOf(count) ?? 0] as const;
    }),
  };
}

function parameterOf(value: unknown): Parameter {
  const it = fieldsOf(value);
  return {
    name: textOf(it.name),
    scale: it.scale === "log" || it.scale === "list" ? it.scale : "linear",
    min: numberOf(it.min),
    max: numberOf(it.max),
    list: listOf(it.list).map(textOf),
    text: textOf(it.text),
  };
}

function trialOf(value: unknown): Trial {
  const it = fieldsOf(value);
  const [job, stop] = [fieldsOf(it.job), fieldsOf(it.stop)];
  const optional = (one: unknown) => one === null || one === undefined ? undefined : textOf(one);
  return {
    name: textOf(it.name),
    state: textOf(it.state),
    message: textOf(it.message),
    createdMs: timeOf(it.created),
    startedMs: timeOf(it.started),
    endedMs: timeOf(it.ended),
    job: it.job === undefined ? "" : keyOf({
      kind: textOf(job.kind),
      namespace: textOf(job.namespace),
      name: textOf(job.name),
    }),
    values: listOf(it.values).map(optional),
    value: numberOf(it.value),
    metrics: listOf(it.metrics).map(optional),
    stop: it.stop === undefined ? undefined : {
      by: textOf(stop.by),
      text: textOf(stop.text),
      rules: listOf(stop.rules).map(textOf),
      user: textOf(stop.user),
    },
  };
}

/** Reads a search. */
export function readSearch(value: unknown): Search {
  const it = fieldsOf(value);
  return {
    state: textOf(it.state),
    message: textOf(it.message),
    createdMs: timeOf(it.created),
    endedMs: timeOf(it.ended),
    notes: listOf(it.notes).map(fieldsOf)
      .map(({ name, text }) => ({ name: textOf(name), text: textOf(text) })),
    denied: listOf(it.denied).map(textOf),
    isCut: it.isCut === true,
    objective: objectiveOf(it.objective),
    metrics: listOf(it.metrics).map(textOf),
    parameters: listOf(it.parameters).map(parameterOf),
    trials: listOf(it.trials).map(trialOf),
    counts: countsOf(it.counts),
    best: textOf(it.best),
    bestSoFar: listOf(it.bestSoFar).map(fieldsOf).flatMap(({ trial, time, value: best }) => {
      const [timeMs, number] = [timeOf(time), numberOf(best)];
      if (timeMs === undefined || number === undefined) return [];
      return [{ trial: textOf(trial), timeMs, value: number }];
    }),
    stops: listOf(it.stops).map(fieldsOf).map(({ text, by, trials }) => ({
      text: textOf(text),
      by: textOf(by),
      trials: listOf(trials).map(textOf),
    })),
  };
}

/** Reads the list of searches. */
export function readSearches(value: unknown): SearchList {
  const { searches, denied, absent, isCut } = fieldsOf(value);
  return {
    rows: listOf(searches).map(fieldsOf).map((it) => {
      const best = fieldsOf(it.best);
      return {
        kind: textOf(it.kind),
        namespace: textOf(it.namespace),
        name: textOf(it.name),
        state: textOf(it.state),
        message: textOf(it.message),
        createdMs: timeOf(it.created),
        objective: objectiveOf(it.objective),
        counts: countsOf(it.counts),
        best: it.best === undefined
          ? undefined
          : { trial: textOf(best.trial), value: textOf(best.value) },
      };
    }),
    denied: listOf(denied).map(fieldsOf).map(({ kind, namespace }) => ({
      kind: textOf(kind),
      ...(namespace !== undefined && { namespace: textOf(namespace) }),
    })),
    absent: listOf(absent).map(textOf),
    isCut: isCut === true,
  };
}

const OPEN: readonly string[] = ["Created", "Running", "Suspended"];
/** Whether a trial may still push. */
export const isOpen = ({ state }: Pick<Trial, "state">): boolean => OPEN.includes(state);

/** Most jobs whose curves are shown: as many as one request names. */
export const MOST_CURVES = 100;

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
