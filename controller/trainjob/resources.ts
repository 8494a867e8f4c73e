/** Decisions about the children of a TrainJob. Pure. */
import { problemsSummary } from "../../crds/field_problem.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames } from "../../crds/names.ts";
import { JOBSET_CONDITIONS } from "../../crds/jobset_names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { runtimeRefOf, runtimeScope, type TrainJob } from "../../crds/trainjob.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import type { Child } from "../runtime/child.ts";
import { mayHaveChildren, type Policies } from "../runtime/policy.ts";
import { renderJobSet } from "../runtime/render.ts";
import { type ChildPlan, foreignProblem, ownerText, planChild } from "./children.ts";
import { type JobSetDecision, planJobSet } from "./jobset_plan.ts";
import { hasEnded } from "./ended_jobsets.ts";
import {
  isFinished,
  isRestarting,
  jobSetGoesOn,
  type Observed,
  openRestart,
  ownJobSet,
  progressOf,
  type ResourceProblem,
} from "./observed.ts";
import { livingPods, planResumption } from "./restart_plan.ts";
import { createSnapshot, readSnapshot } from "./snapshot.ts";

/** The children to write, in this order: snapshot, CA, those of policies, JobSet. */
export interface ResourceDecision {
  readonly snapshot: ChildPlan | undefined;
  readonly tls: ChildPlan | undefined;
  /** Children of policies, which are planned after they were read. */
  readonly children: readonly Child[];
  readonly jobSet: JobSetDecision;
  readonly problem?: ResourceProblem;
}

const NOTHING: ResourceDecision = {
  snapshot: undefined,
  tls: undefined,
  children: [],
  jobSet: { plan: { kind: "none" } },
};

/** Plans the ConfigMap of the CA; without a CA it is left alone. */
function planTls({ trainJob, tlsConfig, caBundle }: Observed): ChildPlan | undefined {
  if (caBundle === undefined) return undefined;
  const child = {
    kind: KINDS.configMap,
    name: childNames.tlsConfig(trainJob.metadata.name ?? ""),
    mode: "equal",
    content: { data: { [CA_KEY]: caBundle } },
  } as const;
  const plan = planChild(child, { trainJob, live: tlsConfig, runs: false });
  if (plan.problem === undefined || tlsConfig === undefined) return plan;
  const problem = `ConfigMap "${child.name}" exists and ${ownerText(trainJob, tlsConfig)}; pods ` +
    "get no CA to report progress with until it is deleted";
  return { ...plan, problem };
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
  | { readonly runtime: AnyTrainingRuntime; readonly snapshot?: ChildPlan }
  | { readonly problem: ResourceProblem };

/** Returns the runtime of the job's snapshot, or the live one with a snapshot to create. */
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
  const object = createSnapshot(trainJob, runtime);
  const name = childNames.runtimeSnapshot(trainJob.metadata.name ?? "");
  const write = { kind: "create", object } as const;
  return { runtime, snapshot: { kind: KINDS.configMap, name, write } };
}

/** Plans the children by rendering; a snapshot is created only of a runtime that can be rendered. */
function rendered(observed: Observed, policies: Policies): Omit<ResourceDecision, "tls"> {
  const source = sourceOf(observed);
  if ("problem" in source) return { ...NOTHING, ...source };
  const { runtime, snapshot } = source;
  // A job that has a snapshot has begun, and goes on as it began.
  const droppedPolicies = runtime === observed.runtime ? observed.droppedPolicies : [];
  const result = renderJobSet({ ...observed, runtime, policies, droppedPolicies });
  if (!("jobSet" in result)) {
    const { unsupported, problems } = result;
    const problem = unsupported.length > 0
      ? fails(`unsupported runtime: ${problemsSummary(unsupported)}`, true)
      : fails(problemsSummary(problems));
    return { ...NOTHING, ...problem };
  }
  const jobSet = planJobSet({
    desired: result.jobSet,
    live: ownJobSet(observed),
    executor: observed.executor,
    isStopping: observed.isStopping,
    restart: openRestart(observed)?.count,
    hasLivingPods: livingPods(observed).length > 0,
    mayRestart: observed.mayRestart,
  });
  const children = result.children(progressOf(observed));
  return jobSet.problem === undefined
    ? { snapshot, children, jobSet }
    : { snapshot, children: [], jobSet, ...fails(jobSet.problem) };
}

/**
 * Plans a job that runs: its snapshot is created again if it was deleted, and so are the children of
 * policies, but for those that are created once. It is rendered only if it may have such children.
 */
function runningResources(observed: Observed, policies: Policies): Omit<ResourceDecision, "tls"> {
  const { runtime, jobSet } = observed;
  const hasChildren = mayHaveChildren(policies, runtime, jobSet);
  if (observed.snapshot !== undefined && !hasChildren) return NOTHING;
  const { snapshot, children } = rendered(observed, policies);
  return { ...NOTHING, snapshot, children: children.filter(({ mode }) => mode !== "once") };
}

/** Returns the problem that the executor reports in the JobSet's status, if it refuses the JobSet. */
function refusalOf(jobSet: JobSet): { problem?: ResourceProblem } {
  const refused = trueCondition(jobSet.status?.conditions, JOBSET_CONDITIONS.refused);
  if (refused === undefined) return {};
  return fails(`JobSet "${jobSet.metadata.name}" cannot be executed: ${refused.message}`);
}

/** Decides about the children. A problem of its runtime does not affect a job that runs. */
export function decideResources(observed: Observed, policies: Policies): ResourceDecision {
  const { trainJob, jobSet } = observed;
  if (isFinished(trainJob.status)) return NOTHING;
  const own = ownJobSet(observed);
  // The status will say so in this pass; nothing is left to create or to suspend.
  if (own && hasEnded(own)) return NOTHING;
  if (jobSet && !own) {
    return { ...NOTHING, ...fails(foreignProblem(trainJob, KINDS.jobSet, jobSet)) };
  }
  const tls = planTls(observed);
  if (own && jobSetGoesOn(observed)) {
    const jobSet = planResumption(observed);
    return { ...runningResources(observed, policies), tls, jobSet, ...refusalOf(own) };
  }
  const decision = { ...rendered(observed, policies), tls };
  if (!own || !decision.problem) return decision;
  // A problem does not fail a job that has a JobSet.
  return { ...decision, problem: { ...decision.problem, unsupported: false } };
}

/**
 * Returns the decision for a child that cannot be written: nothing is created, so that nothing is half made. A JobSet that
 * goes on after a restart had its children before.
 */
export function withoutCreation(
  { tls, jobSet }: ResourceDecision,
  observed: Observed,
  { problem: message, retryMs }: { readonly problem: string; readonly retryMs?: number },
): ResourceDecision {
  return {
    ...NOTHING,
    tls: ownJobSet(observed) && tls,
    jobSet: isRestarting(observed) ? jobSet : NOTHING.jobSet,
    problem: { message, unsupported: false, retryMs },
  };
}
