/** Reconciliation of a TrainJob: observes, decides and acts. */
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ReconcileResult } from "../../kube/controller.ts";
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  KubeError,
  messageOf,
} from "../../kube/errors.ts";
import { type KubeObject, parseKey } from "../../kube/resource.ts";
import type { Child } from "../runtime/child.ts";
import { POLICIES } from "../runtime/policies/table.ts";
import { isRefusal, writeChild, type Writer, writeStatus } from "./act.ts";
import { CHILD_RETRY_MS, type ChildPlan, planChild } from "./children.ts";
import { type ChildLookup, NOT_SERVED, notServedProblem } from "./child_caches.ts";
import {
  type JobEventOptions,
  recordCreation,
  recordEvent,
  recordTransitions,
  reportLongWait,
} from "./job_events.ts";
import { missingRuntimeOfKueue, refusedDeletionOfKueue } from "./kueue_runtime.ts";
import { isOurs, jobSetRuns, type Observed, type ResourceProblem } from "./observed.ts";
import { observe, type Sources } from "./observe.ts";
import { decideResources, type ResourceDecision, withoutCreation } from "./resources.ts";
import { rightToGrant } from "./missing_right.ts";
import { shorten } from "./shorten.ts";
import { decideStatus } from "./status.ts";

/** Attempts of one reconciliation; the first reads the caches, the others the API server. */
const ATTEMPTS = 4;
/** Delay after the last attempt, in milliseconds. */
const CONTENDED_MS = 1000;
/**
 * Delay after a problem, in milliseconds: not every cause of a problem is watched, such as a change of
 * the JobSet executor, or a ConfigMap of another owner that has no label of ours.
 */
const PROBLEM_RETRY_MS = 300_000;

/** Options of {@link reconcileTrainJob}. */
export interface ReconcilerOptions
  extends Sources, Omit<JobEventOptions, "client" | "runningPods"> {
  /** The name of the manager, with which the names of its roles begin. */
  readonly managerName: string;
  /** Reports whether this warning about this TrainJob was not given recently. */
  readonly isNews: (uid: string, message: string) => boolean;
}

/** Result of a pass that read outdated objects: the next one reads the API server. */
const OUTDATED = Symbol("outdated");

function isStale(error: unknown): boolean {
  return isConflict(error) || isAlreadyExists(error) || isNotFound(error);
}

/** Result of writing the children. `error` is thrown after the status is written. */
interface Outcome {
  readonly problem?: ResourceProblem;
  readonly error?: unknown;
}

function warn(options: ReconcilerOptions, trainJob: TrainJob, text: string): void {
  const message = `TrainJob resources reconciliation failed: ${shorten(text)}`;
  const reason = EVENT_REASONS.resourcesCreationFailed;
  recordEvent(options, trainJob, { type: "Warning", reason, message });
}

/**
 * Reports whether the cached TrainJob is current: a job that has ended must not be started again. There
 * is no need to ask if the snapshot is created in the same pass: a job that began before has one, and
 * its creation fails.
 */
async function isCurrent(writer: Writer, trainJob: TrainJob): Promise<boolean> {
  const { client, key, signal } = writer;
  const { metadata } = await client.get(KINDS.trainJob, key, { signal });
  return metadata.uid === trainJob.metadata.uid &&
    metadata.resourceVersion === trainJob.metadata.resourceVersion;
}

/** Writes one of the job's ConfigMaps, and remembers what it holds now. */
async function writeConfigMap(
  { configMaps }: ReconcilerOptions,
  writer: Writer,
  plan: ChildPlan,
): Promise<void> {
  const written = await writeChild(writer, plan);
  if (written !== undefined) configMaps.wrote(written);
}

/** Writes the CA. Training never waits for it: an error is returned and thrown after the rest. */
async function actOnTls(
  options: ReconcilerOptions,
  writer: Writer,
  trainJob: TrainJob,
  plan: ChildPlan,
): Promise<unknown> {
  const { uid = "" } = trainJob.metadata;
  const warnOnce = (message: string) => {
    if (options.isNews(uid, message)) warn(options, trainJob, message);
  };
  if (plan.problem !== undefined) warnOnce(plan.problem);
  try {
    await writeConfigMap(options, writer, plan);
    return undefined;
  } catch (error) {
    if (isStale(error)) throw error;
    if (isRefusal(error)) warnOnce(messageOf(error));
    return error;
  }
}

/** Warns of a runtime that is gone, if Kueue needs it. */
function warnOfRuntime(options: ReconcilerOptions, observed: Observed): void {
  const { trainJob } = observed;
  const message = missingRuntimeOfKueue(observed) ?? refusedDeletionOfKueue(observed);
  if (message === undefined || !options.isNews(trainJob.metadata.uid ?? "", message)) return;
  const reason = EVENT_REASONS.runtimeMissing;
  recordEvent(options, trainJob, { type: "Warning", reason, message });
}

/** The decision, and the plans of the policies' children. */
interface Plans {
  readonly decision: ResourceDecision;
  readonly children: readonly ChildPlan[];
}

/** Returns the message about a child that the manager may not read; it has no text of the object. */
function unreadableProblem({ kind, name }: Child, managerName: string): string {
  return `reading ${kind.kind} "${name}" is forbidden: ${rightToGrant(kind, managerName)}`;
}

/** A child that was read, or why it cannot be. */
type ReadChild =
  | { readonly live: KubeObject | undefined }
  | Required<Pick<ChildPlan, "problem">> & Pick<ChildPlan, "retryMs">;

/** Reads a child. Returns a problem if its kind is not served, or may not be read. */
async function readChild(
  { childCaches, managerName }: ReconcilerOptions,
  child: Child,
  how: ChildLookup,
): Promise<ReadChild> {
  try {
    const live = await childCaches.read(child, how);
    return live === NOT_SERVED ? { problem: notServedProblem(child.kind) } : { live };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { problem: unreadableProblem(child, managerName), retryMs: CHILD_RETRY_MS };
  }
}

/** Reads and plans one child. One that cannot be read has a problem, like one of another owner. */
async function planOneChild(
  options: ReconcilerOptions,
  observed: Observed,
  child: Child,
  how: Omit<ChildLookup, "namespace">,
): Promise<ChildPlan> {
  const { trainJob } = observed;
  const { kind, name } = child;
  const read = await readChild(options, child, { ...how, namespace: trainJob.metadata.namespace });
  return "problem" in read
    ? { kind, name, write: { kind: "none" }, ...read }
    : planChild(child, { trainJob, live: read.live, runs: jobSetRuns(observed) });
}

/** Reads and plans the children of policies. If one has a problem, nothing is created. */
async function planChildren(
  options: ReconcilerOptions,
  observed: Observed,
  decision: ResourceDecision,
  how: Omit<ChildLookup, "namespace">,
): Promise<Plans> {
  const children: ChildPlan[] = [];
  for (const child of decision.children) {
    const plan = await planOneChild(options, observed, child, how);
    const { problem, retryMs } = plan;
    if (problem !== undefined) {
      return { decision: withoutCreation(decision, observed, { problem, retryMs }), children: [] };
    }
    children.push(plan);
  }
  return { decision, children };
}

async function actOnResources(
  options: ReconcilerOptions,
  writer: Writer,
  { trainJob }: Observed,
  { decision, children }: Plans,
): Promise<Outcome> {
  const { snapshot, tls, jobSet, problem } = decision;
  const { name } = writer.key;
  let late: unknown;
  try {
    if (snapshot) await writeConfigMap(options, writer, snapshot);
    if (tls) late = await actOnTls(options, writer, trainJob, tls);
    const { track } = options.childCaches;
    for (const plan of children) await writeChild({ ...writer, track }, plan);
    await writeChild(writer, { kind: KINDS.jobSet, name, write: jobSet.plan });
    if (jobSet.plan.kind === "create") recordCreation(options, trainJob);
  } catch (error) {
    if (isRefusal(error)) {
      return { problem: { message: messageOf(error), unsupported: false }, error };
    }
    if (error instanceof KubeError && !isStale(error)) warn(options, trainJob, messageOf(error));
    throw error;
  }
  return { problem, error: late };
}

async function pass(
  options: ReconcilerOptions,
  writer: Writer,
  { observed, fresh }: { observed: Observed; fresh: boolean },
): Promise<ReconcileResult | typeof OUTDATED> {
  const { trainJob } = observed;
  const { policies = POLICIES } = options;
  const wanted = decideResources(observed, policies);
  const plans = await planChildren(options, observed, wanted, { fresh, signal: writer.signal });
  const { decision } = plans;
  if (decision.problem && !fresh) return OUTDATED;
  const resumes = decision.jobSet.plan.kind === "create" && decision.snapshot === undefined;
  if (resumes && !fresh && !(await isCurrent(writer, trainJob))) return OUTDATED;
  const outcome = await actOnResources(options, writer, observed, plans);
  // An admission may refuse a second creation before the API server sees that there is such an object.
  if (outcome.problem && !fresh) return OUTDATED;
  const status = decideStatus(observed, outcome.problem, options.clock.now());
  const written = { next: status.next, signal: writer.signal };
  if (status.changes) {
    await writeStatus(writer, trainJob, status.changes);
    await recordTransitions(options, observed, written);
  }
  if (status.newProblem !== undefined) warn(options, trainJob, status.newProblem);
  warnOfRuntime(options, observed);
  if (outcome.error !== undefined) throw outcome.error;
  const longWaitMs = await reportLongWait(options, observed, written);
  const problem = outcome.problem ?? decision.tls?.problem;
  const retryMs = problem ? outcome.problem?.retryMs ?? PROBLEM_RETRY_MS : Infinity;
  const soonest = Math.min(status.requeueAfterMs ?? Infinity, longWaitMs ?? Infinity, retryMs);
  return { requeueAfterMs: Number.isFinite(soonest) ? soonest : undefined };
}

/**
 * Brings the children and the status of one TrainJob up to date. It may be killed at any instruction and
 * repeated; if nothing changed it writes nothing.
 */
export async function reconcileTrainJob(
  options: ReconcilerOptions,
  key: string,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { client, managerName } = options;
  const writer = { client, key: parseKey(key), managerName, signal };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const fresh = attempt > 0;
    const observed = await observe(options, writer.key, { fresh, signal });
    if (!observed) return;
    if (!isOurs(observed.trainJob)) return warnOfRuntime(options, observed);
    try {
      const result = await pass(options, writer, { observed, fresh });
      if (result !== OUTDATED) return result;
    } catch (error) {
      if (!isStale(error)) throw error;
    }
  }
  return { requeueAfterMs: CONTENDED_MS };
}
