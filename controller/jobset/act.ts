/** Writes of the JobSet executor: the execution of a plan. */
import type { JobSet } from "../../crds/jobset.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Job } from "../../platform/kube/kubernetes.ts";
import { JOBSET_REASONS } from "../../crds/jobset_names.ts";
import { WATCHED, type WatchedJob } from "../../crds/watched.ts";
import { sameJson } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { isAlreadyExists, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import { isControlledBy, isOfPredecessor } from "../../platform/kube/owner_references.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import { readAgain } from "../../platform/kit/fresh_read.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import { keyOf, objectKeyOf } from "../../platform/kube/resource.ts";
import type { Attempts } from "../../platform/kit/attempts.ts";
import { type ClaimCalls, createClaims } from "./claim_calls.ts";
import type { Plan, StatusPlan } from "./decide.ts";
import { type JobPatch, suspendJobs } from "./policy/suspension.ts";
import { renderJob } from "./render.ts";

/** A pass over a JobSet, and what it writes by. */
export interface Pass extends ClaimCalls {
  readonly jobWrites: OwnWrites<WatchedJob>;
  readonly jobSetWrites: OwnWrites<JobSet>;
  readonly attempts: Attempts;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Result of a pass: as planned, or given up because the plan was made from outdated objects. */
export type ActResult = "done" | "outdated";

/** Records an event about the JobSet. */
function tell({ events, jobSet }: Pick<Pass, "events" | "jobSet">, event: EventText): void {
  events.record(subjectOf(KINDS.jobSet, jobSet), event);
}

function deleteJob({ client, jobWrites, now, signal }: Pass, job: WatchedJob): Promise<boolean> {
  const call = { propagationPolicy: "Foreground", signal } as const;
  return jobWrites.trackDeletion(
    job,
    rfc3339(now),
    () => deleteExactly(client, WATCHED.job, job, call),
  );
}

/**
 * Creates a Job, or accepts an existing one of this JobSet: the response to an earlier creation was
 * lost, or the cache is outdated. A Job that is being deleted, of an earlier attempt or of an earlier
 * JobSet of the same name, is waited for; its deletion triggers the next pass.
 */
async function createOrAccept(pass: Pass, job: Job): Promise<void> {
  const { client, jobWrites, jobSet, signal } = pass;
  const key = keyOf(job);
  try {
    await jobWrites.track(key, () => client.create(WATCHED.job, job, { signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const live = await jobWrites.track(
      key,
      () => client.get(WATCHED.job, objectKeyOf(job), { signal }),
    );
    if (isControlledBy(live.metadata, jobSet.metadata.uid ?? "")) return;
    jobWrites.forget(key);
    if (!isOfPredecessor(live.metadata, KINDS.jobSet, jobSet.metadata)) throw error;
  }
}

async function createJob(pass: Pass, job: Job): Promise<void> {
  try {
    await createOrAccept(pass, job);
  } catch (error) {
    if (!pass.signal.aborted) {
      const message = `job "${job.metadata?.name}" creation failed with error: ${messageOf(error)}`;
      tell(pass, { type: "Warning", reason: JOBSET_REASONS.jobCreationFailed, message });
    }
    throw error;
  }
}

async function createService(pass: Pass, service: Plan["createService"]): Promise<void> {
  if (service === undefined) return;
  try {
    await pass.client.create(KINDS.service, service, { signal: pass.signal });
  } catch (error) {
    if (isAlreadyExists(error)) return;
    tell(pass, {
      type: "Warning",
      reason: JOBSET_REASONS.serviceCreationFailed,
      message: messageOf(error),
    });
    throw error;
  }
}

async function patchJob({ client, jobWrites, signal }: Pass, patch: JobPatch): Promise<void> {
  const { job, clearStartTime, body } = patch;
  const key = keyOf(job);
  // The uid protects a newer Job of the same name.
  const metadata = { uid: job.metadata?.uid };
  try {
    if (clearStartTime) {
      await client.patch(WATCHED.job, objectKeyOf(job), {
        type: "merge",
        body: { metadata, status: { startTime: null } },
      }, { subresource: "status", signal });
    }
    await jobWrites.track(key, () =>
      client.patch(WATCHED.job, objectKeyOf(job), {
        type: "merge",
        body: { ...body, metadata: { ...body.metadata, ...metadata } },
      }, { signal }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    jobWrites.forget(key);
  }
}

function jobRestartsOf({ status }: JobSet) {
  return status?.replicatedJobsStatus?.map(({ name, jobRestarts = [] }) => [name, jobRestarts]);
}

/**
 * Reports whether the JobSet is still the one that was planned for. An outdated cache must not lead to
 * new Jobs for a JobSet that is being deleted or has restarted.
 */
async function isUpToDate({ client, jobSet, signal }: Pass): Promise<boolean> {
  const live = await readAgain(client, KINDS.jobSet, jobSet, { signal });
  return live !== undefined &&
    (live.status?.restarts ?? 0) === (jobSet.status?.restarts ?? 0) &&
    sameJson(jobRestartsOf(live), jobRestartsOf(jobSet)) &&
    live.status?.terminalState === jobSet.status?.terminalState &&
    (live.spec?.suspend ?? false) === (jobSet.spec?.suspend ?? false);
}

async function writeStatus(pass: Pass, { status, events }: StatusPlan): Promise<void> {
  const { client, jobSet, jobSetWrites, signal } = pass;
  if (status !== undefined) {
    const key = keyOf(jobSet);
    const options = { subresource: "status", signal };
    try {
      const write = () => client.replace(KINDS.jobSet, { ...jobSet, status }, options);
      await jobSetWrites.track(key, write);
    } catch (error) {
      // One that was deleted meanwhile, such as that of a job that was stopped, has nothing to say.
      if (isNotFound(error)) return jobSetWrites.forget(key);
      throw error;
    }
  }
  for (const event of events) tell(pass, event);
}

/** Suspends the Jobs of a JobSet that is suspended. */
export async function suspend(pass: Pass, jobs: readonly WatchedJob[]): Promise<void> {
  await pass.attempts.each(suspendJobs(pass.jobSet, jobs), (patch) => patchJob(pass, patch));
}

/** Makes what Jobs need: an outdated cache must not lead to it, nor to Jobs. */
async function prepare(pass: Pass, plan: Plan): Promise<ActResult> {
  const creates = plan.createJobs.length > 0 || plan.createService !== undefined ||
    plan.createClaims.length > 0;
  // The first pass of a new JobSet has no earlier state that could be outdated.
  if (creates && pass.jobSet.status !== undefined && !(await isUpToDate(pass))) return "outdated";
  await createService(pass, plan.createService);
  return await createClaims(pass, plan.createClaims) ? "done" : "outdated";
}

/** Starts Jobs: creates and resumes them. */
async function start(pass: Pass, { createJobs, resumeJobs }: Plan): Promise<void> {
  for (const jobs of createJobs) {
    if (!(await pass.attempts.each(jobs, (it) => createJob(pass, renderJob(it))))) break;
  }
  await pass.attempts.each(resumeJobs, (patch) => patchJob(pass, patch));
}

/**
 * Executes the plan in its order. No error keeps the rest from being done, but that no Job starts without its Service
 * and its claims. After an error a first status is not written. Every step may be repeated.
 */
export async function act(pass: Pass, plan: Plan): Promise<ActResult> {
  const { client, jobSet, attempts, signal } = pass;
  await attempts.each(plan.deleteJobs, (job) => deleteJob(pass, job));
  const prepared = await attempts.one(() => prepare(pass, plan));
  if (prepared === "outdated") return "outdated";
  if (prepared === "done") await start(pass, plan);
  if (!attempts.failed || jobSet.status !== undefined) {
    await attempts.one(() => writeStatus(pass, attempts.failed ? plan.undone : plan));
  }
  if (plan.deleteJobSet) {
    const call = { propagationPolicy: "Foreground", signal } as const;
    await attempts.one(() => deleteExactly(client, KINDS.jobSet, jobSet, call));
  }
  return "done";
}
