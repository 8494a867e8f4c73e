/** Objects of one reconciliation, and predicates on them. Pure. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { JobFailure } from "../../crds/job_failure.ts";
import type { JobRestart } from "../../crds/job_restart.ts";
import { endOf, restartUnderWay } from "../../crds/job_state.ts";
import type { JobSet } from "../../crds/jobset.ts";
import {
  ANNOTATIONS,
  STALLED_REASON,
  TRAINER_API_VERSION,
  TRAINJOB_CONDITIONS,
  TRAINJOB_CONTROLLER,
  TRAINJOB_REASONS,
} from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ChildConfigMap, WatchedPod } from "../../crds/watched.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import type { Condition } from "../../platform/kube/kubernetes.ts";
import { controllerReference, isControlledBy } from "../../platform/kube/owner_references.ts";
import type { KubeMeta, OwnerRef } from "../../platform/kube/resource.ts";
import type { Progress } from "../runtime/child.ts";
import type { SeenFailures } from "../pod_failures.ts";
import type { Executor } from "../runtime/draft.ts";
import type { PodCounts } from "./running_pods.ts";

/** A TrainJob and its JobSet, as read at one moment. It is read only. */
export interface ObservedJob {
  readonly trainJob: TrainJob;
  /** The JobSet with the TrainJob's name, whoever owns it. */
  readonly jobSet: JobSet | undefined;
  /** Whether a pod of the trainer step runs or has run. */
  readonly trainerPodRuns: boolean;
  /** Numbers of the pods since the last restart, by replicated job. Default: none are known. */
  readonly pods?: ReadonlyMap<string, PodCounts>;
  /** Pods of a job that is restarted. Default: none. */
  readonly restartPods?: readonly WatchedPod[];
  /** Whether none of its pods is left that a restart ends, so that others may come. Default false. */
  readonly mayRestart?: boolean;
  /** Failures of its pods. Default: none. */
  readonly failures?: SeenFailures | undefined;
  /** The failure that was written to its status and dropped by the definition of TrainJobs. Default: none. */
  readonly droppedFailure?: JobFailure | undefined;
  /** Whether the job may have what its programs say last. Default true. */
  readonly tellsMessages?: boolean;
  /** Whether it is decided that the job is stopped early, whatever its status says yet. Default false. */
  readonly isStopping?: boolean;
  /** Whether the end of the JobSet may be reported: all that the job's pods pushed is in the log. */
  readonly settled: boolean;
  /** Whether the start of the run may be kept where it was not read: it is not known then. Default false. */
  readonly hasUnreadStart?: boolean;
}

/** A TrainJob and all that its children are made from, but for its Trial. It is read only. */
export interface ObservedInputs extends ObservedJob {
  /** The live runtime that the TrainJob refers to. */
  readonly runtime: AnyTrainingRuntime | undefined;
  /** ML policies that the cluster's definition dropped from it. */
  readonly droppedPolicies: readonly string[];
  /** Its data may be absent while the job runs. */
  readonly snapshot: ChildConfigMap | undefined;
  readonly tlsConfig: ChildConfigMap | undefined;
  /** The CA bundle that pods trust; undefined while there is none or progress is off. */
  readonly caBundle: string | undefined;
  readonly executor: Executor;
  /** How many pods the job may have. Default: as rendering. */
  readonly maxPods?: number | undefined;
}

/** A TrainJob and all that its children are made from. It is read only. */
export interface Observed extends ObservedInputs {
  /** The Trial whose metrics the job's pods push. */
  readonly trial: string | undefined;
}

/** Reports whether this controller manages the job. */
export function isManaged({ spec: { managedBy } }: TrainJob): boolean {
  return managedBy === undefined || managedBy === TRAINJOB_CONTROLLER;
}

/** Reports whether this controller manages the job now. A job that is being deleted is left alone. */
export function isOurs(trainJob: TrainJob): boolean {
  return isManaged(trainJob) && trainJob.metadata.deletionTimestamp === undefined;
}

/** Reports whether the job has ended for good. */
export function isFinished(status: TrainJob["status"]): boolean {
  return endOf(TRAINJOB, { status }) !== undefined;
}

const ENDED_HERE: readonly (string | undefined)[] = [
  TRAINJOB_REASONS.deadlineExceeded,
  STALLED_REASON,
];

/** The condition by which a job was ended while its JobSet may still run: by its rules, a hand, its deadline, or its policy of stalls. */
function stopOf(status: TrainJob["status"]): Condition | undefined {
  if (!isFinished(status)) return undefined;
  const { earlyStopped, failed } = TRAINJOB_CONDITIONS;
  const failure = trueCondition(status?.conditions, failed);
  const isOwn = ENDED_HERE.includes(failure?.reason);
  return trueCondition(status?.conditions, earlyStopped) ?? (isOwn ? failure : undefined);
}

/** Reports whether the job was so ended: the JobSet has to be deleted. */
export function wasStopped(status: TrainJob["status"]): boolean {
  return stopOf(status) !== undefined;
}

/** Returns when a job was so ended, in milliseconds since the epoch; undefined if it was not. */
export function stoppedMs(status: TrainJob["status"]): number | undefined {
  const stop = stopOf(status);
  return stop && (Date.parse(stop.lastTransitionTime ?? "") || 0);
}

/** Reports whether the TrainJob controls the object. */
export function owns(trainJob: TrainJob, metadata: KubeMeta | undefined): boolean {
  return isControlledBy(metadata, trainJob.metadata.uid ?? "");
}

/** Returns the JobSet if the TrainJob controls it. */
export function ownJobSet(
  { trainJob, jobSet }: Pick<ObservedJob, "trainJob" | "jobSet">,
): JobSet | undefined {
  return jobSet && owns(trainJob, jobSet.metadata) ? jobSet : undefined;
}

/** Reports whether the TrainJob's JobSet is not suspended. */
export function jobSetRuns(observed: Pick<ObservedJob, "trainJob" | "jobSet">): boolean {
  const own = ownJobSet(observed);
  return own !== undefined && own.spec?.suspend !== true;
}

/** The count of the restart that the JobSet's pods come from; 0 if they came with its creation, or with a resumption. */
export function restartCountOf(jobSet: JobSet | undefined): number {
  return Number(jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount]) || 0;
}

/** Whether the job shall have pods. */
const wantsPods = (
  { trainJob: { spec, status }, isStopping }: Pick<ObservedJob, "trainJob" | "isStopping">,
): boolean => spec.suspend !== true && !isStopping && !isFinished(status);

/** The restart that is carried out; one that is under way ends with a suspension, a stop or the end of the job. */
export function openRestart(
  observed: Pick<ObservedJob, "trainJob" | "isStopping">,
): JobRestart | undefined {
  return wantsPods(observed) ? restartUnderWay(observed.trainJob) : undefined;
}

/** Reports whether the JobSet is suspended for a restart, and nothing else. */
export function isRestarting(
  observed: Pick<ObservedJob, "trainJob" | "jobSet" | "isStopping">,
): boolean {
  const own = ownJobSet(observed);
  return own?.spec?.suspend === true && restartCountOf(own) === openRestart(observed)?.count;
}

/** Reports whether the job goes on after a suspension that ended a restart: the pods before it may still be there. */
export function wasCutShort(
  observed: Pick<ObservedJob, "trainJob" | "jobSet" | "isStopping">,
): boolean {
  const own = ownJobSet(observed);
  return own?.spec?.suspend === true && restartCountOf(own) > 0 && wantsPods(observed) &&
    restartUnderWay(observed.trainJob) === undefined;
}

/** Reports whether the TrainJob's JobSet runs, or will run again as it is after a restart. */
export function jobSetGoesOn(
  observed: Pick<ObservedJob, "trainJob" | "jobSet" | "isStopping">,
): boolean {
  return jobSetRuns(observed) || isRestarting(observed);
}

/** Returns how far the TrainJob's own JobSet is. */
export function progressOf(observed: ObservedJob): Progress {
  const own = ownJobSet(observed);
  const { restarts = 0, replicatedJobsStatus = [] } = own?.status ?? {};
  const jobs = replicatedJobsStatus.map(({ name, ready, succeeded, failed }) => {
    const pods = observed.pods?.get(name) ?? { running: 0, succeeded: 0 };
    const ofJobs = { readyJobs: ready, succeededJobs: succeeded, failedJobs: failed };
    return [name, { ...ofJobs, ...pods }] as const;
  });
  return { restarted: restarts + restartCountOf(own) > 0, jobs: new Map(jobs) };
}

/** Returns the owner reference of the TrainJob's children. */
export function ownerReferenceTo(trainJob: TrainJob): Required<OwnerRef> {
  const { name = "", uid = "" } = trainJob.metadata;
  return controllerReference({ apiVersion: TRAINER_API_VERSION, kind: "TrainJob", name, uid });
}

/** The reason why a child of a TrainJob cannot be created. */
export interface ResourceProblem {
  readonly message: string;
  /** The runtime asks for a feature that nothing executes. */
  readonly unsupported: boolean;
  /** Delay until the next look, in milliseconds. Default: that of every problem. */
  readonly retryMs?: number | undefined;
}
