/** Decides which children of a TrainJob have to be written. Pure. */
import { problemsSummary } from "../../crds/field_problem.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { ConfigMap } from "../../crds/kubernetes.ts";
import {
  CA_KEY,
  childNames,
  JOBSET_CONDITIONS,
  LABELS,
  TRAINJOB_CONDITIONS,
} from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { runtimeRefOf, runtimeScope, type TrainJob } from "../../crds/trainjob.ts";
import { findCondition, isConditionTrue } from "../../kube/conditions.ts";
import { renderJobSet } from "../runtime/render.ts";
import { type JobSetDecision, planJobSet, suspendPlan } from "./jobset_plan.ts";
import { hasEnded } from "./ended_jobsets.ts";
import {
  isFinished,
  type Observed,
  ownerReferenceTo,
  ownJobSet,
  owns,
  type ResourceProblem,
  wasStopped,
} from "./observed.ts";
import { createSnapshot, readSnapshot } from "./snapshot.ts";

/** A write to the ConfigMap of the CA. */
export type TlsPlan =
  | { readonly kind: "none" }
  | { readonly kind: "create"; readonly configMap: ConfigMap }
  | { readonly kind: "patch"; readonly body: unknown }
  | { readonly kind: "refused"; readonly message: string };

/** The children to write, in this order: snapshot, CA, JobSet. */
export interface ResourceDecision {
  readonly snapshot?: ConfigMap;
  readonly tls: TlsPlan;
  readonly jobSet: JobSetDecision;
  readonly problem?: ResourceProblem;
}

const NOTHING: ResourceDecision = {
  tls: { kind: "none" },
  jobSet: { plan: { kind: "none" } },
};

function planTls({ trainJob, tlsConfig, caBundle }: Observed): TlsPlan {
  if (caBundle === undefined) return { kind: "none" };
  const { name = "", namespace } = trainJob.metadata;
  const data = { [CA_KEY]: caBundle };
  if (!tlsConfig) {
    const metadata = {
      name: childNames.tlsConfig(name),
      namespace,
      labels: { [LABELS.trainJobName]: name },
      ownerReferences: [ownerReferenceTo(trainJob)],
    };
    return { kind: "create", configMap: { metadata, data } };
  }
  if (!owns(trainJob, tlsConfig.metadata)) {
    const message = `ConfigMap "${tlsConfig.metadata?.name}" exists and is owned by another ` +
      "object; pods get no CA to report progress with until it is deleted";
    return { kind: "refused", message };
  }
  if (tlsConfig.data?.[CA_KEY] === caBundle) return { kind: "none" };
  const { uid, resourceVersion } = tlsConfig.metadata ?? {};
  return { kind: "patch", body: { metadata: { uid, resourceVersion }, data } };
}

function fails(message: string, unsupported = false): { problem: ResourceProblem } {
  return { problem: { message, unsupported } };
}

function missingRuntime(trainJob: TrainJob): string {
  const { name, apiGroup, kind } = runtimeRefOf(trainJob);
  const cause = `${kind}.${apiGroup} "${name}" not found`;
  return kind === "TrainingRuntime"
    ? `TrainingRuntime specified in TrainJob is not found: ${cause}`
    : `not found ClusterTrainingRuntime specified in TrainJob: ${cause}`;
}

type Source =
  | { readonly runtime: AnyTrainingRuntime; readonly snapshot?: ConfigMap }
  | { readonly problem: ResourceProblem };

/** The runtime that the job goes by: its snapshot, or the runtime of now with a snapshot to write. */
function sourceOf({ trainJob, snapshot, runtime }: Observed): Source {
  if (runtimeScope(trainJob) === undefined) {
    const { kind, apiGroup } = runtimeRefOf(trainJob);
    return fails(`unsupported runtime: ${kind}.${apiGroup}`, true);
  }
  if (snapshot) {
    const read = readSnapshot(trainJob, snapshot);
    return "problem" in read ? fails(read.problem) : read;
  }
  if (!runtime) return fails(missingRuntime(trainJob));
  return { runtime, snapshot: createSnapshot(trainJob, runtime) };
}

/** The children by the rendering; a snapshot is written only of a runtime that can be rendered. */
function rendered(observed: Observed): Omit<ResourceDecision, "tls"> {
  const { trainJob, executor, trial } = observed;
  const source = sourceOf(observed);
  if ("problem" in source) return { ...source, jobSet: NOTHING.jobSet };
  const result = renderJobSet({ trainJob, runtime: source.runtime, executor, trial });
  if (!("jobSet" in result)) {
    const { unsupported, problems } = result;
    const problem = unsupported.length > 0
      ? fails(`unsupported runtime: ${problemsSummary(unsupported)}`, true)
      : fails(problemsSummary(problems));
    return { ...problem, jobSet: NOTHING.jobSet };
  }
  const suspended = TRAINJOB_CONDITIONS.suspended;
  const jobSet = planJobSet({
    desired: result.jobSet,
    live: ownJobSet(observed),
    executor,
    wasSuspended: isConditionTrue(trainJob.status?.conditions, suspended),
  });
  const problem = jobSet.problem === undefined ? {} : fails(jobSet.problem);
  return { snapshot: source.snapshot, jobSet, ...problem };
}

/** Of a job that has ended only one thing is left to do: what its deadline, or its rules, stopped has to go. */
function afterTheEnd(observed: Observed): ResourceDecision {
  const jobSet = ownJobSet(observed);
  const gone = !jobSet || jobSet.metadata.deletionTimestamp !== undefined;
  if (gone || !wasStopped(observed.trainJob.status)) return NOTHING;
  const { uid } = jobSet.metadata;
  return { ...NOTHING, jobSet: { plan: { kind: "delete", uid, propagation: "Background" } } };
}

/** The executor says in the JobSet's status that it cannot run it. */
function refusalOf(jobSet: JobSet): { problem?: ResourceProblem } {
  const refused = findCondition(jobSet.status?.conditions, JOBSET_CONDITIONS.refused);
  if (refused?.status !== "True") return {};
  return fails(`JobSet "${jobSet.metadata.name}" cannot be executed: ${refused.message}`);
}

/**
 * Decides about the children. A job that runs is not rendered: its snapshot is restored if it was
 * lost, and what is wrong with its runtime does not touch it. A job that cannot be rendered can
 * still be paused.
 */
export function decideResources(observed: Observed): ResourceDecision {
  const { trainJob, jobSet } = observed;
  if (isFinished(trainJob.status)) return afterTheEnd(observed);
  const own = ownJobSet(observed);
  // The status is about to say so; nothing is left to make or to pause.
  if (own && hasEnded(own)) return NOTHING;
  if (jobSet && !own) {
    const message = `JobSet "${jobSet.metadata.name}" exists and is owned by another object; ` +
      "delete it, or give the TrainJob another name";
    return { ...NOTHING, ...fails(message) };
  }
  const tls = planTls(observed);
  const runs = own !== undefined && own.spec?.suspend !== true;
  if (runs && trainJob.spec.suspend !== true) {
    const snapshot = observed.snapshot ? undefined : rendered(observed).snapshot;
    return { snapshot, tls, jobSet: NOTHING.jobSet, ...refusalOf(own) };
  }
  const decision = { ...rendered(observed), tls };
  if (!own || !decision.problem) return decision;
  const problem = { ...decision.problem, unsupported: false };
  const pauses = runs && own.metadata.deletionTimestamp === undefined;
  return { ...decision, problem, jobSet: pauses ? suspendPlan(own) : decision.jobSet };
}
