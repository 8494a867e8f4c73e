/** What a reconciliation knows of the world, and simple questions to it. Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import {
  TRAINER_API_VERSION,
  TRAINJOB_CONDITIONS,
  TRAINJOB_CONTROLLER,
  TRAINJOB_REASONS,
} from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { WatchedConfigMap } from "../../crds/watched.ts";
import { findCondition, isConditionTrue } from "../../kube/conditions.ts";
import { controllerReference, isControlledBy } from "../../kube/ownership.ts";
import type { KubeMeta, OwnerRef } from "../../kube/resource.ts";
import type { Executor } from "../runtime/draft.ts";

/** A TrainJob and all that belongs to it, as read at one moment. Nothing of it is changed. */
export interface Observed {
  readonly trainJob: TrainJob;
  /** The runtime that the TrainJob names, as it is now. */
  readonly runtime: AnyTrainingRuntime | undefined;
  readonly snapshot: WatchedConfigMap | undefined;
  readonly tlsConfig: WatchedConfigMap | undefined;
  /** The JobSet of the TrainJob's name, whoever owns it. */
  readonly jobSet: JobSet | undefined;
  /** Whether a pod of the trainer step has got as far as running. */
  readonly trainerPodRuns: boolean;
  /** The CA bundle that pods shall trust; undefined while there is none or progress is off. */
  readonly caBundle: string | undefined;
  readonly executor: Executor;
  /** The Trial whose metrics the job's pods push. */
  readonly trial: string | undefined;
  /** Whether the end of the JobSet may be told: what the job's pods pushed is in the log. */
  readonly settled: boolean;
}

/** Whether this controller is the one that runs the job. A job that is being deleted runs no more. */
export function isOurs(trainJob: TrainJob): boolean {
  const { managedBy } = trainJob.spec;
  return (managedBy === undefined || managedBy === TRAINJOB_CONTROLLER) &&
    trainJob.metadata.deletionTimestamp === undefined;
}

/**
 * Whether the job has ended for good: Complete, or Failed for any reason but a runtime that is not
 * supported, since that one recovers.
 */
export function isFinished(status: TrainJob["status"]): boolean {
  const failed = findCondition(status?.conditions, TRAINJOB_CONDITIONS.failed);
  return isConditionTrue(status?.conditions, TRAINJOB_CONDITIONS.complete) ||
    (failed?.status === "True" && failed.reason !== TRAINJOB_REASONS.runtimeNotSupported);
}

/** Whether the job ended because its deadline passed. */
export function isDeadlineExceeded(status: TrainJob["status"]): boolean {
  const failed = findCondition(status?.conditions, TRAINJOB_CONDITIONS.failed);
  return failed?.status === "True" && failed.reason === TRAINJOB_REASONS.deadlineExceeded;
}

/** Whether the job ended because the rules of its early stopping were met. */
export function isEarlyStopped(status: TrainJob["status"]): boolean {
  return isConditionTrue(status?.conditions, TRAINJOB_CONDITIONS.earlyStopped);
}

/** Whether the job was ended while its JobSet may still have run: what is left of it has to go. */
export function wasStopped(status: TrainJob["status"]): boolean {
  return isDeadlineExceeded(status) || (isEarlyStopped(status) && isFinished(status));
}

/** Whether the TrainJob controls the object. */
export function owns(trainJob: TrainJob, metadata: KubeMeta | undefined): boolean {
  return isControlledBy(metadata, trainJob.metadata.uid ?? "");
}

/** The JobSet, where it is the TrainJob's own. */
export function ownJobSet({ trainJob, jobSet }: Observed): JobSet | undefined {
  return jobSet && owns(trainJob, jobSet.metadata) ? jobSet : undefined;
}

/** Reports whether the TrainJob's JobSet runs, or would run if its executor got to it. */
export function jobSetRuns(observed: Observed): boolean {
  const own = ownJobSet(observed);
  return own !== undefined && own.spec?.suspend !== true;
}

/** The reference by which children name the TrainJob as their controller. */
export function ownerReferenceTo(trainJob: TrainJob): Required<OwnerRef> {
  const { name = "", uid = "" } = trainJob.metadata;
  return controllerReference({ apiVersion: TRAINER_API_VERSION, kind: "TrainJob", name, uid });
}

/** Why something of a TrainJob cannot be made. */
export interface ResourceProblem {
  readonly message: string;
  /** Nothing executes what the runtime asks for. */
  readonly unsupported: boolean;
}
