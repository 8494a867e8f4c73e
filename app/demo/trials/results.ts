/** Results of the trials: parameters, metric, steps run, seconds saved. Pure. */
import { z } from "zod";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { type JobSummary, jobSummary } from "../job_summary.ts";
import { textTable } from "../../../terminal/text_table.ts";

/** The fields of an observation that are used. */
export const seenSchema = z.object({
  state: z.string(),
  message: z.string().default(""),
  log: z.array(z.object({ time: z.string(), name: z.string(), value: z.string() })),
});
/** A trial, by the observation API. */
export type Seen = z.infer<typeof seenSchema>;

/** The metric that the trials are about; the smaller, the better. */
export const OBJECTIVE = "loss";

/** How a trial went. */
export interface TrialSummary extends JobSummary {
  /** Its parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Reports of the objective, and how many there would have been. */
  readonly steps: number;
  readonly ofSteps: number;
  /** Estimated time of the steps that were not run, at the pace of those that were. */
  readonly secondsSaved: number;
  /** The objective, report by report. */
  readonly curve: readonly number[];
}

/** Parameters by the variables that carry them. */
const PARAMETERS: Readonly<Record<string, string>> = { LEARNING_RATE: "learning rate" };

function variables(job: TrainJob): ReadonlyMap<string, string> {
  return new Map((job.spec.trainer?.env ?? []).map(({ name, value }) => [name, value ?? ""]));
}

/** Seconds between two reports. */
function secondsAStep(times: readonly number[]): number {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || times.length < 2) return 0;
  return (last - first) / 1000 / (times.length - 1);
}

const rounded = (seconds: number) => Math.round(seconds * 10) / 10;

/** One trial, from its TrainJob and its observation. */
export function trialSummary(job: TrainJob, seen: Seen, endedAt: number): TrialSummary {
  const env = variables(job);
  const rows = seen.log.filter(({ name }) => name === OBJECTIVE);
  const curve = rows.map(({ value }) => Number(value));
  const epochs = Number(env.get("EPOCHS"));
  const ofSteps = Math.max(rows.length, Math.floor(epochs / Number(env.get("REPORT_EPOCHS"))) || 0);
  const pace = secondsAStep(rows.map(({ time }) => Date.parse(time)));
  const stopped = seen.state === "EarlyStopped";
  return {
    ...jobSummary(job, endedAt),
    message: seen.message,
    metrics: curve.length > 0 ? { [OBJECTIVE]: String(Math.min(...curve)) } : {},
    parameters: Object.fromEntries(
      Object.entries(PARAMETERS).map(([variable, name]) => [name, env.get(variable) ?? ""]),
    ),
    steps: rows.length,
    ofSteps,
    secondsSaved: stopped ? rounded((ofSteps - rows.length) * pace) : 0,
    curve,
  };
}

/** Whether the demo has succeeded: two trials stopped, and another one completed. */
export function stoppedEarly(trials: readonly TrialSummary[]): boolean {
  const count = (state: string) => trials.filter((it) => it.state === state).length;
  return count("EarlyStopped") >= 2 && count("Complete") >= 1 &&
    count("EarlyStopped") + count("Complete") === trials.length;
}

/** The table of all trials, followed by the savings. */
export function trialsTable(trials: readonly TrialSummary[]): string {
  const names = Object.values(PARAMETERS);
  const rows = trials.map((it) => [
    it.job,
    ...names.map((name) => it.parameters[name] ?? ""),
    it.state,
    it.metrics[OBJECTIVE] ?? "",
    `${it.steps} of ${it.ofSteps}`,
    it.secondsSaved > 0 ? it.secondsSaved.toFixed(1) : "",
    it.message,
  ]);
  const header = ["TRIAL", ...names, OBJECTIVE, "steps run", "seconds saved", "message"]
    .map((it) => it.toUpperCase());
  header.splice(1 + names.length, 0, "STATE");
  const saved = trials.reduce((sum, it) => sum + it.secondsSaved, 0);
  return `${textTable(header, rows).join("\n")}\n\nEarly stopping saved ${
    saved.toFixed(1)
  } s of training.`;
}
