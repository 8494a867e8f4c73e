/** The state of a job, read from its object by the descriptor of its kind. */
import { z } from "zod";
import { jsonOfText } from "../platform/base/json.ts";
import { trueCondition } from "../platform/kube/conditions.ts";
import type { AnyJob, JobKind, JobResult } from "./job_kind.ts";
import { type JobFailure, jobFailureSchema } from "./job_failure.ts";
import { type JobPace, jobPaceSchema, type JobStall, jobStallSchema } from "./job_stall.ts";
import { type JobTimeSpent, jobTimeSpentSchema } from "./job_time_spent.ts";
import {
  type JobCheckpoint,
  jobCheckpointSchema,
  type JobRestart,
  jobRestartSchema,
} from "./job_restart.ts";
import { ANNOTATIONS, type ShownState, TRAINJOB_STATES } from "./names.ts";
import {
  type JobStop,
  jobStopSchema,
  type TrainerStatus,
  trainerStatusSchema,
} from "./trainjob.ts";

type Condition = NonNullable<NonNullable<AnyJob["status"]>["conditions"]>[number];

/** The fields from which the state is read; caches may hold less than the whole object. */
type JobWithStatus = Pick<AnyJob, "status">;

/** The conditions of a kind's ends that are True; the reason of a recoverable one can go away again. */
function trueEnds({ conditions }: JobKind, { status }: JobWithStatus) {
  return conditions.ends.flatMap(({ type, end, recoverable }) => {
    const condition = trueCondition(status?.conditions, type);
    if (condition === undefined) return [];
    return [{
      end,
      condition,
      isRecoverable: recoverable?.includes(condition.reason ?? "") ?? false,
    }];
  });
}

/**
 * How the job ended; undefined while it has not. A condition whose reason can go away again, such as a
 * TrainJob's `TrainingRuntimeNotSupported`, ends nothing (docs/decisions/0002).
 */
export function endOf(kind: JobKind, job: JobWithStatus): JobResult | undefined {
  return trueEnds(kind, job).find(({ isRecoverable }) => !isRecoverable)?.end;
}

/** Returns when the condition that ended the job became True. */
export function endTimeOf(kind: JobKind, job: AnyJob): string | undefined {
  if (endOf(kind, job) === undefined) return undefined;
  const { earlyStopped, ends } = kind.conditions;
  const types = ends.map(({ type }) => type);
  return trueCondition(job.status?.conditions, earlyStopped, ...types)?.lastTransitionTime;
}

/** The condition that keeps the job from running, and goes away with its reason. */
export function obstacleOf(kind: JobKind, job: JobWithStatus): Condition | undefined {
  return trueEnds(kind, job).find(({ isRecoverable }) => isRecoverable)?.condition;
}

/** The condition that says that the job was stopped early. */
export function earlyStopOf(
  { conditions }: JobKind,
  { status }: JobWithStatus,
): Condition | undefined {
  return trueCondition(status?.conditions, conditions.earlyStopped);
}

/** The decision to stop the job early that its status holds. */
export function storedStopOf({ status }: JobWithStatus): JobStop | undefined {
  return status?.stop === undefined ? undefined : jobStopSchema.safeParse(status.stop).data;
}

/** Returns when the grace of a job that is being stopped ends, RFC 3339; undefined if it is not, or has ended. */
export function stopsByOf(kind: JobKind, job: JobWithStatus): string | undefined {
  if (endOf(kind, job) !== undefined || earlyStopOf(kind, job) !== undefined) return undefined;
  const { time = "", graceSeconds = 0 } = storedStopOf(job) ?? {};
  const stopsByMs = Date.parse(time) + graceSeconds * 1000;
  return Number.isNaN(stopsByMs) ? undefined : new Date(stopsByMs).toISOString();
}

/** The condition that says that the job is suspended. */
export function suspensionOf(
  { conditions }: JobKind,
  { status }: JobWithStatus,
): Condition | undefined {
  return trueCondition(status?.conditions, conditions.suspended);
}

const parsedProgress = (value: unknown) => trainerStatusSchema.safeParse(value).data;
const jsonText = z.string().transform(jsonOfText);

/** The progress that the job's object shows; undefined if it shows none. */
export function progressOf(
  { progress }: JobKind,
  { metadata, status }: Pick<AnyJob, "metadata" | "status">,
): TrainerStatus | undefined {
  if (progress === undefined) return undefined;
  const annotated = (key: string) =>
    parsedProgress(jsonText.safeParse(metadata.annotations?.[key]).data);
  if (progress.at === "annotation") return annotated(progress.key);
  const { field, orAnnotation } = progress;
  return parsedProgress(status?.[field]) ?? (orAnnotation ? annotated(orAnnotation) : undefined);
}

/** Returns the state of a job: its end or its suspension, else that of its status, else whether it has begun. */
export function shownStateOf(kind: JobKind, job: AnyJob): ShownState {
  if (earlyStopOf(kind, job) !== undefined) return "EarlyStopped";
  const end = endOf(kind, job);
  if (end !== undefined) return end;
  if (suspensionOf(kind, job) !== undefined) return "Suspended";
  const own = TRAINJOB_STATES.find((it) => it === job.status?.["state"]);
  return own ?? (kind.hasBegun(job) ? "Running" : "Created");
}

/** The parts of a job from which fields are read that a definition may drop. */
type JobWithFields = Pick<AnyJob, "kind" | "metadata" | "status">;

const annotatedField = z.looseObject({ uid: z.string() });

/** Returns a field of a job as an annotation holds it: with the UID of the job, since whoever copies a job copies annotations. */
export const fieldText = (uid: string, value: object): string => JSON.stringify({ ...value, uid });

/**
 * The value of a field of the status, or of the annotation that has it where a definition drops the field. An annotation
 * that was written for another job counts for nothing, nor does any of a TrainJob: nobody here writes these.
 */
function fieldOf(
  { kind, metadata, status }: JobWithFields,
  field: string,
  annotation: string,
): unknown {
  if (status?.[field] !== undefined || kind === "TrainJob") return status?.[field];
  const text = jsonText.safeParse(metadata.annotations?.[annotation]).data;
  const { uid, ...value } = annotatedField.safeParse(text).data ?? {};
  return uid !== undefined && uid === metadata.uid ? value : undefined;
}

/** The failure that the job's object holds; with a headline as long as it is no history. Undefined if it holds none. */
export const failureOf = (job: JobWithFields): JobFailure | undefined =>
  jobFailureSchema.safeParse(fieldOf(job, "failure", ANNOTATIONS.failure)).data;

/** The stall that the job's object holds; undefined if it holds none. */
export const stallOf = (job: JobWithFields): JobStall | undefined =>
  jobStallSchema.safeParse(fieldOf(job, "stalled", ANNOTATIONS.stalled)).data;

/** The newest checkpoint that the job's object holds; undefined if it holds none. */
export const checkpointOf = (job: JobWithFields): JobCheckpoint | undefined =>
  jobCheckpointSchema.safeParse(fieldOf(job, "checkpoint", ANNOTATIONS.checkpoint)).data;

/** The last restart that the job's object holds; undefined if it holds none. */
export const restartOf = (job: JobWithFields): JobRestart | undefined =>
  jobRestartSchema.safeParse(fieldOf(job, "restart", ANNOTATIONS.restart)).data;

/** The restart that is under way; undefined if none is. */
export function restartUnderWay(job: JobWithFields): JobRestart | undefined {
  const restart = restartOf(job);
  return restart?.endTime === undefined ? restart : undefined;
}

/** How often the job was started again as a whole; of a kind that does not count that, by restarts only. */
export function restartsOf(job: JobWithFields): number {
  const counted = z.number().safeParse(job.status?.["restarts"]).data ?? 0;
  return Math.max(counted, restartOf(job)?.count ?? 0);
}

/** Whether a job should make progress, by its object: it runs, and nobody ends it or starts its pods again. */
export const shouldProgress = (kind: JobKind, job: AnyJob): boolean =>
  shownStateOf(kind, job) === "Running" && job.metadata.deletionTimestamp === undefined &&
  storedStopOf(job) === undefined && failureOf(job)?.headline === undefined &&
  restartUnderWay(job) === undefined &&
  kind.foreignController?.(job) === undefined;

/** The pace that the job's object holds. */
export const paceOf = ({ status }: JobWithStatus): JobPace | undefined =>
  jobPaceSchema.safeParse(status?.["pace"]).data;

/** The time that the job has spent, as its object says it. */
export const timeSpentOf = ({ status }: JobWithStatus): JobTimeSpent | undefined =>
  jobTimeSpentSchema.safeParse(status?.["timeSpent"]).data;
