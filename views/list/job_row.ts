/** Row of the list of jobs: what is shown of one job beside others. Pure. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { settingsOf } from "../../crds/job_configuration.ts";
import {
  earlyStopOf,
  endOf,
  endTimeOf,
  failureOf,
  obstacleOf,
  progressOf,
  restartUnderWay,
  shownStateOf,
  stallOf,
  stopsByOf,
} from "../../crds/job_state.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { isOpenState } from "../../crds/names.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { compact } from "../../platform/base/json.ts";
import { restartText } from "../../crds/job_restart.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import { controllerOfKind } from "../../platform/kube/owner_references.ts";
import { trialReference } from "../../trials/plan/claim.ts";

/** Bounds of a row. */
export const ROW_LIMITS = {
  metrics: 8,
  /** Characters of the message. */
  messageLength: 256,
  settings: 32,
  /** Characters of the name of a setting, and of its text. */
  settingLength: 64,
} as const;

function shortened(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= ROW_LIMITS.messageLength) return text;
  return `${text.slice(0, ROW_LIMITS.messageLength - 1)}…`;
}

/** The condition that says why the job is as it is. */
function reasonOf(kind: JobKind, job: AnyJob) {
  const ends = kind.conditions.ends.filter(({ end }) => end === "Failed");
  const failure = endOf(kind, job) === "Failed"
    ? trueCondition(job.status?.conditions, ...ends.map(({ type }) => type))
    : undefined;
  return earlyStopOf(kind, job) ?? failure ?? obstacleOf(kind, job);
}

/** What was said of the time that is left means nothing when no pod runs any more, they fail and are started again, or nothing goes on. */
function progressFields(
  progress: TrainerStatus | undefined,
  { state, restarts, stalledSince, restartingSince }: Pick<
    JobRow,
    "state" | "restarts" | "stalledSince" | "restartingSince"
  >,
) {
  const goesOn = isOpenState(state) && state !== "Suspended" && restarts === undefined &&
    stalledSince === undefined && restartingSince === undefined;
  return compact({
    progress: progress?.progressPercentage,
    remainingSeconds: goesOn ? progress?.estimatedRemainingSeconds : undefined,
    metrics: progress?.metrics?.slice(0, ROW_LIMITS.metrics)
      .map(({ name, value }) => ({ name, value })),
    updated: progress?.lastUpdatedTime,
  });
}

/** Returns the row with other progress than that of the job's object. */
export function rowWith(
  { progress: _, remainingSeconds: _seconds, metrics: _metrics, updated: _updated, ...row }: JobRow,
  progress: TrainerStatus,
): JobRow {
  return { ...row, ...progressFields(progress, row) };
}

/** Returns the row of a job. */
export function rowOf(kind: JobKind, job: AnyJob): JobRow {
  const { uid = "", namespace = "", name = "", labels, creationTimestamp } = job.metadata;
  const state = shownStateOf(kind, job);
  const { headline, restarts: count, restartLimit: most } = failureOf(job) ?? {};
  const restart = isOpenState(state) ? restartUnderWay(job) : undefined;
  const restartingSince = restart?.time;
  const fails = headline !== undefined && isOpenState(state) && restart === undefined;
  const restarts = fails ? count : undefined;
  const restartLimit = restarts === undefined ? undefined : most;
  const goesOn = state === "Running" && restarts === undefined && restart === undefined;
  const stall = goesOn ? stallOf(job) : undefined;
  const stalledSince = stall?.since;
  return {
    uid,
    kind: kind.id,
    namespace,
    name,
    state,
    created: String(creationTimestamp ?? ""),
    ...progressFields(progressOf(kind, job), { state, restarts, stalledSince, restartingSince }),
    ...compact({
      message: shortened(
        restart === undefined
          ? headline ?? reasonOf(kind, job)?.message ?? stall?.message
          : restartText(restart),
      ),
      restarts,
      restartLimit,
      stalledSince,
      restartingSince,
      stopsBy: stopsByOf(kind, job),
      ended: endTimeOf(kind, job),
      trial: trialReference(job.metadata)?.name,
      experiment: labels?.[KATIB.experimentLabel],
      optimizationJob: controllerOfKind(job.metadata, KINDS.optimizationJob)?.name,
    }),
  };
}

/** Returns the row with what its job was started with, in short. */
export function rowWithConfiguration(row: JobRow, job: AnyJob): JobRow {
  const { settings, settingLength } = ROW_LIMITS;
  // Paths and commands often differ only at their ends.
  const short = (text: string) =>
    text.length <= settingLength
      ? text
      : `${text.slice(0, settingLength / 2)}…${text.slice(1 - settingLength / 2)}`;
  const all = settingsOf(job).slice(0, settings);
  return { ...row, configuration: all.map(([name, text]) => [short(name), short(text)]) };
}
