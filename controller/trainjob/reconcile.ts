/** Reconciliation of a TrainJob: observes, decides and acts. */
import { soonest } from "../../platform/base/soonest.ts";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { Attempts } from "../../platform/kit/attempts.ts";
import { readAgain } from "../../platform/kit/fresh_read.ts";
import type { ReconcileResult } from "../../platform/kube/controller.ts";
import { isStale, messageOf } from "../../platform/kube/errors.ts";
import { parseKey } from "../../platform/kube/resource.ts";
import { POLICIES } from "../runtime/policies/table.ts";
import { isRefusal, writeChild, type Writer, writeStatus } from "./act.ts";
import type { ChildPlan } from "./children.ts";
import {
  type JobEventOptions,
  recordCreation,
  recordEvent,
  recordTransitions,
  reportLongWait,
  warnOnce,
} from "./job_events.ts";
import { expire, type RunSearches } from "./expiry.ts";
import { keepStart, withStart } from "./dropped_start.ts";
import { missingRuntimeOfKueue, refusedDeletionOfKueue } from "./kueue_runtime.ts";
import {
  isManaged,
  isOurs,
  isRestarting,
  type Observed,
  type ObservedInputs,
  type ObservedJob,
  ownJobSet,
} from "./observed.ts";
import { type Look, observeInputs, observeJob, type Sources, trialOf } from "./observe.ts";
import { type Outcome, outcomeOf, resourcesWarning } from "./write_outcome.ts";
import { planChildren, type Plans } from "./planned_children.ts";
import { planRestart } from "./restart_plan.ts";
import { carryOn, tellRestart } from "./restarting.ts";
import { planRemoval } from "./taken_away.ts";
import { decideResources } from "./resources.ts";
import { decideStatus, type OwnStatus } from "./status.ts";

/** Attempts of one reconciliation; the first reads the caches, the others the API server. */
const ATTEMPTS = 4;
/**
 * Delay after a problem, in milliseconds: not every cause of a problem is watched, such as a change of
 * the JobSet executor, or a ConfigMap of another owner that has no label of ours.
 */
const PROBLEM_RETRY_MS = 300_000;

/** Options of {@link reconcileTrainJob}. */
export interface ReconcilerOptions
  extends Sources, RunSearches, Omit<JobEventOptions, "client" | "failures" | "runningPods"> {
  /** The name of the manager, with which the names of its roles begin. */
  readonly managerName: string;
}

/** Result of a pass that read outdated objects: the next one reads the API server. */
const OUTDATED = Symbol("outdated");

/**
 * Reports whether the cached TrainJob is current: a job that has ended must not be started again. There
 * is no need to ask if the snapshot is created in the same pass: a job that began before has one, and
 * its creation fails.
 */
async function isCurrent({ client, signal }: Writer, trainJob: TrainJob): Promise<boolean> {
  const live = await readAgain(client, KINDS.trainJob, trainJob, { signal });
  return live?.metadata.resourceVersion === trainJob.metadata.resourceVersion;
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
  const warnOfIt = (text: string) => warnOnce(options, trainJob, resourcesWarning(text));
  if (plan.problem !== undefined) warnOfIt(plan.problem);
  try {
    await writeConfigMap(options, writer, plan);
    return undefined;
  } catch (error) {
    if (isStale(error)) throw error;
    if (isRefusal(error)) warnOfIt(messageOf(error));
    return error;
  }
}

/** Warns of a runtime that is gone, if Kueue needs it. */
function warnOfRuntime(options: ReconcilerOptions, observed: ObservedInputs): void {
  const message = missingRuntimeOfKueue(observed) ?? refusedDeletionOfKueue(observed);
  warnOnce(options, observed.trainJob, { reason: EVENT_REASONS.runtimeMissing, message });
}

/**
 * Writes the children, and then the JobSet, which is made or resumed when all else is there. One that cannot be written
 * does not hold back the others, nor the end of a restart, but of a job that has no JobSet nothing more is made.
 */
async function writeResources(
  options: ReconcilerOptions,
  writer: Writer,
  observed: Observed,
  { decision: { snapshot, tls, jobSet, problem }, children }: Plans,
): Promise<Outcome> {
  const { trainJob } = observed;
  const { attempts } = writer;
  let late: unknown;
  const steps = [
    ...(snapshot ? [() => writeConfigMap(options, writer, snapshot)] : []),
    ...(tls ? [async () => void (late = await actOnTls(options, writer, trainJob, tls))] : []),
    ...children.map((plan) => () => writeChild(writer, plan)),
  ];
  let isWhole = true;
  for (const step of steps) {
    isWhole = await attempts.each([step], (it) => it()) && isWhole;
    if (!isWhole && ownJobSet(observed) === undefined) break;
  }
  if (!isWhole && !isRestarting(observed)) return {};
  await writeChild(writer, { kind: KINDS.jobSet, name: writer.key.name, write: jobSet.plan });
  if (jobSet.plan.kind === "create") recordCreation(options, trainJob);
  return isWhole ? { problem, error: late } : {};
}

/** What has become of the children. */
interface Kept extends Outcome {
  readonly retryMs?: number | undefined;
  /** What they are made from; undefined if it could not be read. */
  readonly inputs: ObservedInputs | undefined;
}

/** Brings the children up to date. */
async function keepResources(
  options: ReconcilerOptions,
  writer: Writer,
  { job, fresh }: { readonly job: ObservedJob; readonly fresh: boolean },
): Promise<Kept | typeof OUTDATED> {
  const { trainJob } = job;
  const { policies = POLICIES } = options;
  const look = { fresh, signal: writer.signal };
  const { attempts } = writer;
  const inputs = await attempts.one(() => observeInputs(options, job, look));
  if (inputs === undefined) return { inputs };
  warnOfRuntime(options, inputs);
  const kept = await attempts.one(async () => {
    const observed = { ...inputs, trial: await trialOf(options, job, look.signal) };
    const wanted = decideResources(observed, policies);
    const plans = await planChildren(options, observed, wanted, look);
    const { decision } = plans;
    if (decision.problem && !fresh) return OUTDATED;
    const resumes = decision.jobSet.plan.kind === "create" && decision.snapshot === undefined;
    if (resumes && !fresh && !(await isCurrent(writer, trainJob))) return OUTDATED;
    const outcome = await writeResources(options, writer, observed, plans);
    return { ...outcome, ...(decision.tls?.problem && { retryMs: PROBLEM_RETRY_MS }) };
  });
  return kept === OUTDATED ? OUTDATED : { ...kept, inputs };
}

/** Takes away what the job shall not have any more; returns the job as it is then, and the time until the next look. */
async function takeAway(
  options: ReconcilerOptions,
  writer: Writer,
  job: ObservedJob,
): Promise<{ readonly job: ObservedJob; readonly requeueAfterMs?: number | undefined }> {
  const { write, requeueAfterMs } = planRemoval(job, options.clock.now());
  const jobSet = await writer.attempts.one(async () => {
    const written = await writeChild(writer, { kind: KINDS.jobSet, name: writer.key.name, write });
    return written && KINDS.jobSet.parse(written);
  });
  return { job: jobSet ? { ...job, jobSet } : job, requeueAfterMs };
}

/** Remembers a failure that is not in the status although it was written: it would be written, and told, again and again. */
function rememberFailure(
  { failures: { dropped } }: ReconcilerOptions,
  { metadata: { uid = "" }, status }: TrainJob,
  { failure }: OwnStatus,
): void {
  if (failure === undefined || status?.failure !== undefined) dropped.delete(uid);
  else dropped.set(uid, failure);
}

async function pass(
  options: ReconcilerOptions,
  writer: Writer,
  { observed, fresh }: { observed: ObservedJob; fresh: boolean },
): Promise<ReconcileResult | typeof OUTDATED> {
  const taken = await takeAway(options, writer, observed);
  const step = planRestart(taken.job);
  // Outdated caches must not lead to a restart that is over, nor to pods beside others.
  if ((step.kind === "suspend" || step.kind === "look") && !fresh) return OUTDATED;
  const restarting = await writer.attempts.one(() =>
    carryOn(options, writer, { job: taken.job, step })
  );
  const { job } = restarting ?? taken;
  const kept = await keepResources(options, writer, { job, fresh });
  if (kept === OUTDATED) return OUTDATED;
  const { inputs } = kept;
  const trainJob = withStart(job.trainJob, inputs?.snapshot);
  const { errors } = writer.attempts;
  const { problem, error } = outcomeOf(options, job.trainJob, { errors, found: kept });
  const isKnown = typeof problem === "object";
  // An admission may refuse a second creation before the API server sees that there is such an object.
  if (isKnown && !fresh) return OUTDATED;
  const known = { ...job, trainJob, hasUnreadStart: inputs === undefined };
  const status = decideStatus(known, problem, options.clock.now());
  const written = { next: status.next, signal: writer.signal };
  // After an error that says nothing about the children a first status is not written.
  if (status.changes && (problem !== "unknown" || trainJob.status !== undefined)) {
    const now = await writeStatus(writer, trainJob, status.changes);
    rememberFailure(options, now, status.next);
    tellRestart(options, trainJob, status.restarting);
    await recordTransitions(options, job, status, writer.signal);
    if ("startTime" in status.changes) {
      const kept = { snapshot: inputs?.snapshot, startTime: status.next.startTime };
      const message = await keepStart(writer, now, kept);
      warnOnce(options, trainJob, { reason: EVENT_REASONS.startTimeNotKept, message });
    }
  }
  if (status.newProblem !== undefined) {
    recordEvent(options, trainJob, resourcesWarning(status.newProblem));
  }
  const due = [status.requeueAfterMs, taken.requeueAfterMs, restarting?.requeueAfterMs];
  if (error !== undefined) return { error, requeueAfterMs: soonest(due) };
  const longWaitMs = await reportLongWait(options, job, written);
  const ended = { job: { ...trainJob, status: status.next }, runtime: inputs?.runtime };
  const expiryMs = await expire(options, writer, ended);
  const retryMs = isKnown ? problem.retryMs ?? PROBLEM_RETRY_MS : kept.retryMs;
  return { requeueAfterMs: soonest([...due, longWaitMs, retryMs, expiryMs]) };
}

/** Leaves a job that is not managed here, or is being deleted, to others; the pods of the latter may have to end. */
async function leave(
  options: ReconcilerOptions,
  writer: Writer,
  job: ObservedJob,
  look: Look,
): Promise<ReconcileResult> {
  if (isManaged(job.trainJob)) await takeAway(options, writer, job);
  const { error } = outcomeOf(options, job.trainJob, writer.attempts);
  warnOfRuntime(options, await observeInputs(options, job, look));
  return error === undefined ? undefined : { error };
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
  const { client, managerName, childCaches: { track } } = options;
  let last: ObservedJob | undefined;
  let error: unknown;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const look = { fresh: attempt > 0, signal };
    const attempts = new Attempts(signal, isStale);
    const writer = { client, key: parseKey(key), managerName, track, attempts, signal };
    try {
      const observed = await observeJob(options, writer.key, look);
      if (!observed) return;
      if (!isOurs(observed.trainJob)) return await leave(options, writer, observed, look);
      last = observed;
      const result = await pass(options, writer, { observed, fresh: look.fresh });
      if (result !== OUTDATED) return result;
    } catch (thrown) {
      error = thrown;
      if (!isStale(thrown)) break;
    }
  }
  // The deadline holds whatever goes wrong.
  const { requeueAfterMs } = last ? decideStatus(last, "unknown", options.clock.now()) : {};
  return { error, requeueAfterMs };
}
