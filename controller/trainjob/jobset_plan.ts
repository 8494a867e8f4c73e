/** Plan for the JobSet of a TrainJob, which follows the rendering while it is suspended. Pure. */
import type { JobSet, ReplicatedJob } from "../../crds/jobset.ts";
import type { PodTemplateSpec } from "../../platform/kube/kubernetes.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import { JOBSET_CONDITIONS } from "../../crds/jobset_names.ts";
import { asRead, type MergeFields } from "../../platform/kit/as_read.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import type { Executor } from "../runtime/draft.ts";
import type { ChildWrite } from "./children.ts";
import { fingerprint, frozenPart } from "./fingerprint.ts";
import { restartCountOf } from "./observed.ts";
import { compact, covers } from "../../platform/base/json.ts";

/** The write to the JobSet, and the change that it cannot follow. */
export interface JobSetDecision {
  readonly plan: ChildWrite;
  readonly problem?: string;
}

const NONE: JobSetDecision = { plan: { kind: "none" } };

/** Input of {@link planJobSet}. */
export interface JobSetPlanInput {
  readonly desired: JobSet;
  /** The TrainJob's own JobSet. */
  readonly live: JobSet | undefined;
  readonly executor: Executor;
  /** Whether it is decided that the job is stopped: a JobSet that rests is not resumed. Default false. */
  readonly isStopping?: boolean;
  /** The count of the restart that is carried out. A JobSet that has gone meanwhile is made after its last pods. */
  readonly restart?: number | undefined;
  /** Whether containers of its pods may still run. Default false. */
  readonly hasLivingPods?: boolean;
  /** Whether a JobSet that was suspended for a restart may be resumed. Default false. */
  readonly mayRestart?: boolean | undefined;
}

/**
 * Reports whether the executor has reported the suspension: only then is the resumption a transition.
 * A JobSet that it refuses never gets that far.
 */
export function reportsSuspended({ status }: JobSet): boolean {
  const { suspended, refused } = JOBSET_CONDITIONS;
  return isConditionTrue(status?.conditions, suspended, refused);
}

/** Reports whether no pod of the JobSet is active. */
export function isIdle(jobSet: JobSet): boolean {
  return (jobSet.status?.replicatedJobsStatus ?? []).every(({ active }) => active === 0);
}

function hashOf(desired: JobSet): string {
  return fingerprint(desired.spec ?? {});
}

function frozenChanged(desired: JobSet, live: JobSet): boolean {
  const hash = live.metadata.annotations?.[ANNOTATIONS.templateHash];
  return hash === undefined
    ? !covers(frozenPart(live.spec ?? {}), frozenPart(desired.spec ?? {}))
    : hash !== hashOf(desired);
}

/** The annotation by which a JobSet is known to have been suspended, or made, for a restart. */
export const restartMark = (count: number) => ({ [ANNOTATIONS.restartCount]: `${count}` });

function toCreate(desired: JobSet, restart: number | undefined): JobSet {
  const annotations = {
    ...desired.metadata.annotations,
    ...restart !== undefined && restartMark(restart),
    [ANNOTATIONS.templateHash]: hashOf(desired),
  };
  return { ...desired, metadata: { ...desired.metadata, annotations } };
}

/** Returns the change of a JobSet that is as it was read. */
export function patchOf(live: JobSet, change: MergeFields): ChildWrite {
  return { kind: "patch", body: asRead(live, change) };
}

const UNMARKED = { [ANNOTATIONS.restartCount]: null };

/** Returns the write that suspends, for no restart. */
export function suspension(live: JobSet): ChildWrite {
  const metadata = restartCountOf(live) > 0 ? { annotations: UNMARKED } : undefined;
  return patchOf(live, { ...(metadata && { metadata }), spec: { suspend: true } });
}

/** The live template with the fields of the desired one that may change while its JobSet is suspended. */
function overlayPods(live: PodTemplateSpec, desired: PodTemplateSpec): PodTemplateSpec {
  const { labels, annotations } = desired.metadata ?? {};
  const { nodeSelector, tolerations, schedulingGates } = desired.spec ?? {};
  return {
    ...live,
    metadata: compact({ ...live.metadata, labels, annotations }),
    ...(live.spec && {
      spec: compact({ ...live.spec, nodeSelector, tolerations, schedulingGates }),
    }),
  };
}

function overlay(live: ReplicatedJob, desired: ReplicatedJob | undefined): ReplicatedJob {
  const from = desired?.template.spec?.template;
  const to = live.template.spec?.template;
  if (!from || !to || !live.template.spec) return live;
  const spec = { ...live.template.spec, template: overlayPods(to, from) };
  return { ...live, template: { ...live.template, spec } };
}

function overlaidJobs({ desired, live }: { desired: JobSet; live: JobSet }): ReplicatedJob[] {
  const wanted = desired.spec?.replicatedJobs ?? [];
  return (live.spec?.replicatedJobs ?? []).map((job) =>
    overlay(job, wanted.find(({ name }) => name === job.name))
  );
}

/**
 * Plans the changes that a suspended JobSet allows, and its resumption after the suspension is reported. The mark of a
 * restart that a suspension of the job has ended stays until its last pod is gone.
 */
function follow({ desired, mayRestart }: JobSetPlanInput, live: JobSet): JobSetDecision {
  const replicatedJobs = overlaidJobs({ desired, live });
  const jobsDiffer = !covers(replicatedJobs, live.spec?.replicatedJobs ?? []) ||
    !covers(live.spec?.replicatedJobs ?? [], replicatedJobs);
  const { labels, annotations } = desired.metadata;
  const isMarked = restartCountOf(live) > 0;
  const resumes = desired.spec?.suspend !== true && reportsSuspended(live) &&
    (!isMarked || mayRestart === true);
  // A resumption is no restart: with it the run begins anew.
  const unmarked = isMarked && resumes ? UNMARKED : undefined;
  const metadataDiffers = unmarked !== undefined ||
    !covers(live.metadata, { labels, annotations });
  if (!jobsDiffer && !metadataDiffers && !resumes) return NONE;
  const plan = patchOf(live, {
    ...(metadataDiffers &&
      {
        metadata: compact({
          labels,
          annotations: unmarked ? { ...annotations, ...unmarked } : annotations,
        }),
      }),
    ...((jobsDiffer || resumes) && {
      spec: { ...(jobsDiffer && { replicatedJobs }), ...(resumes && { suspend: false }) },
    }),
  });
  return { plan };
}

/**
 * Plans a suspended JobSet whose immutable fields must change. With the built-in executor there is no
 * work in it to lose, so it is deleted after its last pods and created again; the deletion is in the
 * foreground, so that no Job of the old one has a name of the new. With upstream's executor the user has
 * to decide.
 */
function recreate({ executor }: JobSetPlanInput, live: JobSet): JobSetDecision {
  if (executor === "builtin") {
    if (!isIdle(live) || !reportsSuspended(live)) return NONE;
    return { plan: { kind: "delete", uid: live.metadata.uid, propagation: "Foreground" } };
  }
  const problem = `JobSet "${live.metadata.name}" cannot follow the change of its TrainJob: ` +
    "of a paused JobSet only labels, annotations, nodeSelector, tolerations and schedulingGates " +
    "of the pods can change; undo the change, or delete the JobSet to have it created again";
  return { plan: { kind: "none" }, problem };
}

/** Plans the write to the JobSet; one that runs is left alone. */
export function planJobSet(input: JobSetPlanInput): JobSetDecision {
  const { desired, live } = input;
  if (!live) {
    if (input.restart !== undefined && input.hasLivingPods) return NONE;
    return { plan: { kind: "create", object: toCreate(desired, input.restart) } };
  }
  if (live.metadata.deletionTimestamp !== undefined || live.spec?.suspend !== true) return NONE;
  if (input.isStopping) return NONE;
  return frozenChanged(desired, live) ? recreate(input, live) : follow(input, live);
}
