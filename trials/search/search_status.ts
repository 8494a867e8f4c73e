/** Status of a search, derived from the records of its trials. Pure. */
import {
  objectiveOf,
  type OptimizationJob,
  type OptimizationJobStatus,
} from "../../crds/optimization_job.ts";
import { SEARCH_CONDITIONS, SEARCH_REASONS, TRIAL_REASONS } from "../../crds/optimization_names.ts";
import { type TrialRecord, trialRecordsName } from "../../crds/trial_records.ts";
import { goNumber } from "../../platform/base/go_float.ts";
import { compact } from "../../platform/base/json.ts";
import {
  type ConditionStatus,
  isConditionTrue,
  setCondition,
} from "../../platform/kube/conditions.ts";
import { isOpenTrial, type Search, type TrialRecords } from "./search_plan.ts";

/** The end of a search: a condition that is True. */
export interface SearchEnd {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

/** Whether the search has ended. */
export const hasSearchEnded = ({ status }: Pick<OptimizationJob, "status">): boolean =>
  isConditionTrue(status?.conditions, SEARCH_CONDITIONS.complete, SEARCH_CONDITIONS.failed);

const numberOf = ({ value = "" }: TrialRecord) => goNumber(value);

/** Returns the best trial so far: of those that are complete, the first one with the best value. */
export function bestTrial(
  { spec }: Pick<OptimizationJob, "spec">,
  records: TrialRecords,
): TrialRecord | undefined {
  const sign = objectiveOf({ spec }).direction === "Maximize" ? -1 : 1;
  const complete = [...records].sort(([one], [other]) => one - other).map(([, it]) => it)
    .filter((it) => it.state === "Complete" && Number.isFinite(numberOf(it)));
  return complete.reduce<TrialRecord | undefined>(
    (best, it) => best === undefined || sign * numberOf(it) < sign * numberOf(best) ? it : best,
    undefined,
  );
}

const STATES = [["Complete", "complete"], ["EarlyStopped", "stopped early"], ["Failed", "failed"]];

/** Returns how trials have ended, such as `6 complete, 1 failed`. */
function ends(records: readonly TrialRecord[]): string {
  const counts = STATES.map(([state, words]) =>
    [records.filter((it) => it.state === state).length, words] as const
  );
  return counts.filter(([count]) => count > 0).map((it) => it.join(" ")).join(", ");
}

/** Returns the end of a search all trials of which have ended, or whose template makes none; undefined while it goes on. */
export function searchEnd(
  job: OptimizationJob,
  search: Search,
  records: TrialRecords,
): SearchEnd | undefined {
  const all = [...records.values()];
  const { allFailed, completed, templateRefused } = SEARCH_REASONS;
  const refused = all.find(({ reason }) => reason === TRIAL_REASONS.refused);
  // Not one was ever made: all others would be refused, too.
  if (refused !== undefined && all.every(({ uid }) => uid === undefined)) {
    const message = `TrainJob ${refused.name} is refused: ${refused.message}. Make the ` +
      "OptimizationJob anew with another template";
    return { type: "Failed", reason: templateRefused, message };
  }
  if (all.length < search.trials || all.some(isOpenTrial)) return undefined;
  const [first] = all.filter(({ state }) => state === "Failed");
  if (first !== undefined && all.every(({ state }) => state === "Failed")) {
    const which = all.length === 1
      ? `The only trial failed, ${first.name}`
      : `${all.length} out of ${all.length} trials failed; of ${first.name}`;
    const message = `${which}: ${first.reason}: ${first.message}`;
    return { type: "Failed", reason: allFailed, message };
  }
  const best = bestTrial(job, records);
  const { metric } = objectiveOf(job);
  const words = best === undefined
    ? "none is complete, so that there is no result"
    : `the best is ${best.name}, with ${metric} ${best.value}`;
  const which = all.length === 1 ? "The only trial has" : `All ${all.length} trials have`;
  const message = `${which} ended: ${ends(all)}; ${words}`;
  return { type: "Complete", reason: completed, message };
}

/** What a pass has found out beside the records. */
export interface SearchFindings {
  /** Why the TrainJob of a trial, or the records, cannot be made; undefined if all are. What is unknown changes nothing. */
  readonly obstacle?: { readonly reason: string; readonly message: string } | "unknown" | undefined;
  /** What trials wait for that have been made and do not run, in words. */
  readonly waits?: readonly string[];
  /** How the search has ended. */
  readonly end?: SearchEnd | undefined;
}

type Update = readonly [type: string, isTrue: boolean, reason: string, message: string];

function createdUpdates(
  { metadata: { name = "" } }: OptimizationJob,
  records: TrialRecords,
  { obstacle }: SearchFindings,
): Update[] {
  const { created } = SEARCH_CONDITIONS;
  if (obstacle === "unknown") return [];
  if (obstacle !== undefined) return [[created, false, obstacle.reason, obstacle.message]];
  const isMade = [...records.values()].some(({ uid }) => uid !== undefined);
  if (!isMade) return [];
  const message = `ConfigMap ${trialRecordsName(name)} has the records of its trials`;
  return [[created, true, SEARCH_REASONS.created, message]];
}

/** Returns what is under way, such as `6 of 8 trials are under way; 3 complete; digits-1 waits: …`. */
function runningMessage(search: Search, records: TrialRecords, waits: readonly string[]): string {
  const all = [...records.values()];
  const open = all.filter(isOpenTrial).length;
  const left = search.trials - all.length;
  const begin = `${open} of ${search.trials} trials are under way`;
  const rest = [ends(all), left > 0 ? `${left} to come` : "", ...waits];
  return [begin, ...rest.filter(Boolean)].join("; ");
}

/** Returns the status of a search; of one that has ended only what was not written before. */
export function decideSearchStatus(
  job: OptimizationJob,
  search: Search,
  records: TrialRecords,
  { findings, now }: { readonly findings: SearchFindings; readonly now: string },
): OptimizationJobStatus {
  const { end, waits = [] } = findings;
  const { running } = SEARCH_CONDITIONS;
  const hasBegun = records.size > 0;
  const runs: Update = end === undefined
    ? [running, true, SEARCH_REASONS.running, runningMessage(search, records, waits)]
    : [running, false, end.reason, "the search has ended"];
  const updates: Update[] = [
    ...createdUpdates(job, records, findings),
    ...(hasBegun ? [runs] : []),
    ...(end === undefined ? [] : [[end.type, true, end.reason, end.message] as const]),
  ];
  const conditions = updates.reduce((list, [type, isTrue, reason, message]) => {
    const status: ConditionStatus = isTrue ? "True" : "False";
    return setCondition(list, { type, status, reason, message }, now);
  }, job.status?.conditions ?? []);
  const best = bestTrial(job, records);
  const result = best && {
    trainJobName: best.name,
    parameters: search.parameters.map((name, index) => ({ name, value: best.values[index] ?? "" })),
  };
  return compact({ conditions, result });
}
