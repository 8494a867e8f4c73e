/** Results of the demo's search: how far each trial trained, and the steps that were saved. Pure. */
import { z } from "zod";
import type { ShownSearch, ShownTrial } from "../../../crds/wire/searches.ts";
import { shortNumber } from "../../../platform/base/short_number.ts";
import { valueText } from "../../../terminal/readings.ts";
import { valueBeside } from "../../../terminal/search_report.ts";
import { textTable } from "../../../terminal/text_table.ts";

/** The fields of an observation that are used. */
export const seenSchema = z.object({
  log: z.array(z.object({ name: z.string(), value: z.string(), step: z.int() })),
});
/** A trial, by the observation API. */
export type Seen = z.infer<typeof seenSchema>;

/** A trial as scripts read it. */
export interface TrialFacts {
  readonly trial: string;
  readonly state: ShownTrial["state"];
  readonly parameters: Readonly<Record<string, string>>;
  /** Absent also of one that a pruner stopped: the message has it. */
  readonly value?: number;
  /** Why it was stopped, or failed. */
  readonly message: string;
}

/** How a trial went. */
export interface TrialSummary extends TrialFacts {
  /** Steps of the training up to its last report, and how many there would have been. */
  readonly steps: number;
  readonly ofSteps: number;
  /** The objective, report by report. */
  readonly curve: readonly number[];
}

/** Returns what is known of a trial, while it runs and when it has ended. */
export function trialFacts({ parameters }: ShownSearch, trial: ShownTrial): TrialFacts {
  const { name, state, values, stop, message } = trial;
  const value = valueBeside(trial);
  return {
    trial: name,
    state,
    parameters: Object.fromEntries(parameters.map((it, at) => [it.name, values[at] ?? ""])),
    ...(value !== undefined && { value }),
    message: stop?.text ?? message ?? "",
  };
}

/** Returns how trials went, by what they reported; of one that is complete nothing is missing. */
export function trialSummaries(
  search: ShownSearch,
  seen: ReadonlyMap<string, Seen>,
  ofSteps: number,
): readonly TrialSummary[] {
  const metric = search.objective?.metric;
  return search.trials.map((trial): TrialSummary => {
    const rows = (seen.get(trial.name)?.log ?? []).filter(({ name }) => name === metric);
    return {
      ...trialFacts(search, trial),
      steps: trial.state === "Complete" ? ofSteps : Math.max(0, ...rows.map(({ step }) => step)),
      ofSteps,
      curve: rows.map(({ value }) => Number(value)),
    };
  });
}

/** Returns the steps of all trials, and those that pruned ones were spared. */
export function stepsSaved(trials: readonly TrialSummary[]) {
  const pruned = trials.filter(({ state }) => state === "EarlyStopped");
  return {
    saved: pruned.reduce((sum, { steps, ofSteps }) => sum + Math.max(0, ofSteps - steps), 0),
    of: trials.reduce((sum, { ofSteps }) => sum + ofSteps, 0),
  };
}

/** Whether the demo has succeeded: some trials were pruned, another one is complete, and none has failed. */
export function wasPruned(trials: readonly TrialSummary[]): boolean {
  const count = (state: string) => trials.filter((it) => it.state === state).length;
  return count("EarlyStopped") >= 2 && count("Complete") >= 1 &&
    count("EarlyStopped") + count("Complete") === trials.length;
}

/** Returns the table of all trials, the best first, followed by what was saved. */
export function trialsTable(trials: readonly TrialSummary[]): string {
  const [first] = trials;
  const names = Object.keys(first?.parameters ?? {});
  const rank = ({ state, value = Infinity }: TrialSummary) =>
    state === "Complete" ? value : Infinity;
  const rows = trials.toSorted((one, other) => rank(one) - rank(other) || other.steps - one.steps)
    .map((it) => [
      it.trial,
      ...names.map((name) => valueText(it.parameters[name] ?? "")),
      it.state,
      it.value === undefined ? "" : shortNumber(it.value),
      `${it.steps} of ${it.ofSteps}`,
      it.message,
    ]);
  const header = ["TRIAL", ...names, "STATE", "VALUE", "STEPS", "MESSAGE"];
  const { saved, of } = stepsSaved(trials);
  const percent = of === 0 ? 0 : Math.round(100 * saved / of);
  return `${
    textTable(header, rows).join("\n")
  }\n\nPruning saved ${saved} of ${of} steps (${percent} %).`;
}
