/** Reports of searches for the terminal: how far each is, its best trial, and a table of its trials. Pure. */
import type {
  SearchRow,
  ShownSearch,
  ShownTrial,
  TrialCounts,
  TrialState,
} from "../crds/wire/searches.ts";
import { namesAsker } from "../platform/base/asked_by.ts";
import { isOpenState, TRAINJOB_STATES } from "../crds/names.ts";
import { shortNumber } from "../platform/base/short_number.ts";
import { notShown } from "./job_report.ts";
import { ageOf, parameterText, valueText } from "./readings.ts";
import { safeText, wrapped } from "./shown_text.ts";
import { type Look, styled, styleOfState } from "./styles.ts";
import { textTable } from "./text_table.ts";

/** How a report is drawn. */
export interface SearchLook extends Look {
  /** Width of sentences. */
  readonly columns: number;
  readonly nowMs: number;
  /** Trials in the table: the best, those that run, and the newest of the others. Default: all. */
  readonly trials?: number;
}

/** Lines of a report besides those of trials, where no sentence is longer than a line. */
export const REPORT_FRAME = 9;

function stateText(look: Look, state: TrialState): string {
  const known = TRAINJOB_STATES.find((it) => it === state);
  return known === undefined ? state : styled(look, styleOfState(known), state);
}

function countsText({ total, states }: TrialCounts): string {
  const counts = states.map(([state, count]) => `${count} ${state}`);
  const all = `${total} ${total === 1 ? "trial" : "trials"}`;
  return counts.length === 0 ? all : `${all}: ${counts.join(", ")}`;
}

/** The texts of a trial's values, by the parameters; undefined where it has none. */
const valueTexts = ({ parameters }: ShownSearch, { values }: ShownTrial) =>
  parameters.map((parameter, index) => {
    const value = values[index] ?? undefined;
    return value === undefined ? undefined : parameterText(parameter, value);
  });

/** The parameters of a trial, such as `lr 0.01  optimizer sgd`. */
const valuesText = (search: ShownSearch, trial: ShownTrial): string =>
  valueTexts(search, trial).flatMap((text, index) =>
    text === undefined ? [] : [`${safeText(search.parameters[index]?.name ?? "")} ${text}`]
  ).join("  ");

/** Returns the value of a trial; none beside the words of a pruner, which say by which value it was pruned: the newest may be another. */
export const valueBeside = ({ value, stop }: ShownTrial): number | undefined =>
  stop?.by === "pruner" && stop.user === undefined && stop.text !== undefined ? undefined : value;

/** Why a trial ended as it did, or is about to. */
function whyText({ stop, message }: ShownTrial): string {
  if (stop === undefined) return safeText(message ?? "");
  const said = stop.text ?? (stop.rules?.join(" and ") || "stopped early");
  const { user = "" } = stop;
  return safeText(user === "" || namesAsker(said, user) ? said : `${user}: ${said}`);
}

function objectiveLine(search: ShownSearch): string[] {
  const { objective, best, trials } = search;
  if (objective === undefined) return [];
  const trial = trials.find(({ name }) => name === best);
  const goal = [objective.direction ?? "", safeText(objective.metric)].join(" ").trim();
  if (trial?.value === undefined) return [goal];
  return [
    `${goal}  best ${shortNumber(trial.value)}: ${safeText(trial.name)}  ${
      valuesText(search, trial)
    }`,
  ];
}

/** The trials that are shown, in the order in which they were made. */
function shownTrials({ trials, best }: ShownSearch, most = Infinity): readonly ShownTrial[] {
  const rank = ({ name, state }: ShownTrial) => name === best ? 0 : isOpenState(state) ? 1 : 2;
  const first = trials.map((trial, index) => ({ trial, index }))
    .sort((one, other) => rank(one.trial) - rank(other.trial) || other.index - one.index)
    .slice(0, most).map(({ index }) => index);
  const kept = new Set(first);
  return trials.filter((_, index) => kept.has(index));
}

function trialLines(search: ShownSearch, look: SearchLook): string[] {
  const { objective, parameters, best, trials: all } = search;
  const trials = shownTrials(search, look.trials);
  if (trials.length === 0) return [];
  const titles = [objective?.metric ?? "VALUE", ...parameters.map(({ name }) => name)];
  const rows = trials.map((trial) => {
    const value = valueBeside(trial);
    return [
      `${trial.name === best ? "*" : " "} ${safeText(trial.name)}`,
      stateText(look, trial.state),
      value === undefined ? "-" : shortNumber(value),
      ...valueTexts(search, trial).map((text) => text ?? "-"),
      ageOf(trial.started ?? trial.created, Date.parse(trial.ended ?? "") || look.nowMs),
      whyText(trial),
    ];
  });
  const header = ["  TRIAL", "STATE", ...titles.map(safeText), "TOOK", "WHY"];
  const left = all.length - trials.length;
  return ["", ...textTable(header, rows), ...(left > 0 ? [`  and ${left} more`] : [])];
}

/** Returns the report; `kind` is that of its object. */
export function searchReport(kind: string, search: ShownSearch, look: SearchLook): string[] {
  const { namespace, name, state, created, ended, message, notes, denied = [] } = search;
  const age = ended === undefined
    ? `created ${ageOf(created, look.nowMs)} ago`
    : `took ${ageOf(created, Date.parse(ended))}  ended ${ageOf(ended, look.nowMs)} ago`;
  const facts = notes.map((it) => `${safeText(it.name).toLowerCase()}: ${safeText(it.text)}`);
  const cut = search.isCut ? ["some of its trials, because there are too many"] : [];
  return [
    [
      styled(look, "bold", safeText(`${kind} ${namespace}/${name}`)),
      stateText(look, state),
      age,
    ].join("  "),
    ...(message === undefined ? [] : wrapped(safeText(message), look.columns)),
    ...objectiveLine(search),
    countsText(search.counts),
    ...(facts.length === 0 ? [] : wrapped(facts.join("; "), look.columns)),
    ...trialLines(search, look),
    ...[...denied.map((it) => `the user may not read ${it} in ${namespace}`), ...cut]
      .flatMap((it) => notShown(it, look.columns)),
  ];
}

/** How a list is drawn. */
export type SearchRowsLook = Look & { readonly namespaced: boolean; readonly nowMs: number };

const cellsOf = (
  { namespace, name, state, counts, objective, best, created }: SearchRow,
  look: SearchRowsLook,
): string[] => [
  ...(look.namespaced ? [safeText(namespace)] : []),
  safeText(name),
  state === undefined ? "-" : stateText(look, state),
  countsText(counts),
  objective === undefined ? "-" : safeText(objective.metric),
  best === undefined ? "-" : [valueText(best.value ?? ""), safeText(best.trial)].join(" ").trim(),
  ageOf(created, look.nowMs),
];

/** Returns the lines of a list of searches. */
export function searchTable(searches: readonly SearchRow[], look: SearchRowsLook): string[] {
  const titles = ["SEARCH", "STATE", "TRIALS", "OBJECTIVE", "BEST", "AGE"];
  const header = [...(look.namespaced ? ["NAMESPACE"] : []), ...titles];
  return textTable(header, searches.map((it) => cellsOf(it, look)));
}

/** Returns the trials whose state is another than before, or that are about to be stopped. */
export function changedTrials(
  before: ShownSearch | undefined,
  search: ShownSearch,
): readonly ShownTrial[] {
  const stepOf = ({ state, stop }: ShownTrial) => `${state} ${stop === undefined ? "" : "stopped"}`;
  const known = new Map(before?.trials.map((it) => [it.name, stepOf(it)]));
  return search.trials.filter((it) => known.get(it.name) !== stepOf(it));
}

/** Returns the line of a trial that has changed. */
export function trialLine(search: ShownSearch, trial: ShownTrial): string {
  const { objective, best } = search;
  const value = valueBeside(trial);
  return [
    safeText(trial.name),
    trial.state,
    objective === undefined || value === undefined
      ? ""
      : `${safeText(objective.metric)} ${shortNumber(value)}`,
    valuesText(search, trial),
    trial.name === best ? "the best so far" : "",
    whyText(trial),
  ].filter((it) => it !== "").join("  ");
}
