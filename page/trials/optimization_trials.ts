/** Trials of OptimizationJobs: what their TrainJobs and their records say. Pure. */
import type { AnyJob } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { PARAMETER_ENV_PREFIX, TRAINJOB_REASONS } from "../../crds/names.ts";
import { TRIAL_REASONS } from "../../crds/optimization_names.ts";
import type { PruningRecord, readTrialRecords, TrialRecord } from "../../crds/trial_records.ts";
import type { SearchRow, TrialState, TrialStop } from "../../crds/wire/searches.ts";
import { compact, objectAt, objectsAt, textAt } from "../../platform/base/json.ts";
import { controllerOfKind } from "../../platform/kube/owner_references.ts";
import type { KubeMeta } from "../../platform/kube/resource.ts";
import { variablesOf } from "../../trials/search/trial_variables.ts";
import { readJob } from "./labelled_jobs.ts";
import { rowOfTrials } from "./labelled_searches.ts";
import type { ReadOptimizationJob } from "./optimization_objects.ts";
import { type FoundTrial, SEARCH_LIMITS, shortText, type TrialMetric } from "./search.ts";

/** The records of a search. */
export type TrialRecords = ReturnType<typeof readTrialRecords>;

/** Tells searches of all namespaces apart, by what they control: owner references are the word of whoever writes them. */
export const ownerKey = (
  { namespace = "" }: Pick<KubeMeta, "namespace">,
  { uid }: Pick<KubeMeta, "uid">,
): string => `${namespace}/${uid}`;

/** What is kept of a TrainJob that an OptimizationJob controls. */
export type TrialJob = NonNullable<ReturnType<typeof readTrialJob>>;

/** Reads a TrainJob; undefined if no OptimizationJob controls it. */
export function readTrialJob(job: AnyJob) {
  const owner = controllerOfKind(job.metadata, KINDS.optimizationJob);
  if (owner === undefined) return undefined;
  const variables = objectsAt(objectAt(job, "spec", "trainer"), "env")
    .map((it) => [textAt(it, "name") ?? "", shortText(textAt(it, "value") ?? "")] as const)
    .filter(([name]) => name.startsWith(PARAMETER_ENV_PREFIX));
  return {
    of: ownerKey(job.metadata, owner),
    uid: job.metadata.uid ?? "",
    found: readJob(TRAINJOB, job).found,
    variables: new Map(variables),
  };
}

/** The value of a parameter by the variable that has it, in either spelling. */
const valueIn = ({ variables }: TrialJob, name: string): string | undefined =>
  variablesOf(name).map((it) => variables.get(it)).find((it) => it !== undefined);

const assignmentsOf = (names: readonly string[], valueOf: (at: number) => string | undefined) =>
  names.slice(0, SEARCH_LIMITS.parameters).flatMap((name, index) => {
    const value = valueOf(index);
    return value === undefined ? [] : [{ name: shortText(name), value: shortText(value) }];
  });

/** The job of a trial that has no record that may be read. */
const unrecordedTrial = (names: readonly string[], job: TrialJob): FoundTrial => ({
  ...job.found,
  assignments: assignmentsOf(names, (index) => valueIn(job, names[index] ?? "")),
});

function stateOf({ state, reason, uid }: TrialRecord, job: TrialJob | undefined): TrialState {
  if (state === "Failed" && reason === TRIAL_REASONS.metricsUnavailable) return reason;
  if (state !== "Running") return state;
  const seen = job?.found.state ?? (uid === undefined ? "Created" : state);
  // The last value may be on its way: the record has it.
  return seen === "Complete" ? state : seen;
}

function stopOf(
  { state, message }: TrialRecord,
  { pruned }: PruningRecord,
  job: TrialJob | undefined,
): TrialStop | undefined {
  if (job?.found.stop !== undefined) return job.found.stop;
  if (pruned !== undefined) {
    return { by: "pruner", text: shortText(`${TRAINJOB_REASONS.pruned}: ${pruned}`) };
  }
  if (state !== "EarlyStopped") return undefined;
  return { by: "unknown", ...(message !== undefined && { text: shortText(message) }) };
}

/** The metrics, with the value that counts. */
function metricsOf(metric: string, value: string | undefined, job: TrialJob | undefined) {
  const metrics: readonly TrialMetric[] = job?.found.metrics ?? [];
  if (value === undefined) return metrics;
  const others = metrics.filter(({ name }) => name !== metric);
  return [{ name: metric, latest: shortText(value) }, ...others];
}

/** Why the trial ended as it did, as its record says. */
function said({ message, reason }: TrialRecord): string | undefined {
  // That reason is the state that is shown.
  const first = reason === TRIAL_REASONS.metricsUnavailable ? undefined : reason;
  return shortText([first, message].filter(Boolean).join(": ")) || undefined;
}

/** Returns the trials: those that are recorded, whether or not their jobs are there, and jobs of others that make none. */
export function trialsOfSearch(
  { search, names }: ReadOptimizationJob,
  jobs: readonly TrialJob[],
  records: TrialRecords,
): readonly FoundTrial[] {
  const byName = new Map(jobs.map((it) => [it.found.name, it]));
  const metric = search.objective?.metric ?? "";
  const recorded = [...records.trials].map(([index, record]): FoundTrial => {
    const named = byName.get(record.name);
    const job = record.uid === undefined || record.uid === named?.uid ? named : undefined;
    return {
      name: shortText(record.name),
      state: stateOf(record, job),
      created: job?.found.created ?? record.created,
      assignments: assignmentsOf(names, (at) => record.values[at]),
      metrics: metricsOf(metric, record.value, job),
      ...compact({
        job: job?.found.job,
        ended: job?.found.ended ?? record.ended,
        message: job?.found.message ?? said(record),
        stop: stopOf(record, records.pruning.get(index) ?? {}, job),
      }),
    };
  });
  const isRecorded = new Set([...records.trials.values()].map(({ name }) => name));
  const others = jobs.filter(({ found }) => !isRecorded.has(found.name));
  return [...recorded, ...others.map((job) => unrecordedTrial(names, job))];
}

/** Returns the row of a search in a list; its best is the one that its status names if none of its trials could be read. */
export function rowOfSearch(
  { search, best }: ReadOptimizationJob,
  trials: readonly FoundTrial[],
): SearchRow {
  const row = rowOfTrials({ ...search, trials });
  return {
    ...row,
    ...compact({ best: row.best ?? (best === undefined ? undefined : { trial: shortText(best) }) }),
  };
}
