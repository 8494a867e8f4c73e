/** Writes of the JobSet executor: the execution of a plan. */
import { isDeepStrictEqual } from "node:util";
import type { JobSet } from "../../crds/jobset.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Job } from "../../platform/kube/kubernetes.ts";
import { JOBSET_API_VERSION, JOBSET_REASONS } from "../../crds/jobset_names.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { isAlreadyExists, isConflict, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { controllerOf, isControlledBy } from "../../platform/kube/owner_references.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { createClaims } from "./claim_calls.ts";
import type { Plan, StatusPlan } from "./decide.ts";
import { recordEvent } from "./jobset_events.ts";
import { type JobPatch, suspendJobs } from "./policy/suspension.ts";
import { renderJob } from "./render.ts";

/** Concurrent calls to the API server in one pass. */
const MAX_CALLS = 50;

/** Dependencies of {@link act}. */
export interface Actor {
  readonly client: KubeClient;
  readonly managerName: string;
  readonly events: Pick<EventRecorder, "record">;
  readonly jobWrites: OwnWrites<WatchedJob>;
  readonly jobSetWrites: OwnWrites<JobSet>;
}

/** Result of a pass: as planned, or given up because the plan was made from outdated objects. */
export type ActResult = "done" | "outdated";

interface Pass extends Actor {
  readonly jobSet: JobSet;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

function nameOf(object: { metadata?: { namespace?: string; name?: string } }) {
  return { namespace: object.metadata?.namespace, name: object.metadata?.name ?? "" };
}

/** Runs the calls and waits for all. Returns the errors. */
function callAll<T>(
  items: readonly T[],
  call: (item: T) => Promise<unknown>,
  { signal }: Pick<Pass, "signal">,
): Promise<unknown[]> {
  return inParallel(items, call, { limit: MAX_CALLS, signal });
}

async function deleteJob(pass: Pass, job: WatchedJob): Promise<void> {
  const { client, jobWrites, now, signal } = pass;
  try {
    await jobWrites.trackDeletion(job, rfc3339(now), () =>
      client.delete(KINDS.job, nameOf(job), {
        propagationPolicy: "Foreground",
        preconditions: { uid: job.metadata?.uid },
        signal,
      }));
  } catch (error) {
    // It was deleted already, or another Job has the name now.
    if (!isNotFound(error) && !isConflict(error)) throw error;
    jobWrites.forget(keyOf(job));
  }
}

/** Reports whether the Job belongs to an earlier JobSet of the same name. */
function isPredecessors(job: WatchedJob, { jobSet }: Pass): boolean {
  const owner = controllerOf(job.metadata);
  return owner?.kind === "JobSet" && owner.name === jobSet.metadata.name &&
    owner.apiVersion === JOBSET_API_VERSION;
}

/**
 * Creates a Job, or accepts an existing one of this JobSet: the response to an earlier creation was
 * lost, or the cache is outdated. A Job that is being deleted, of an earlier attempt or of an earlier
 * JobSet of the same name, is waited for; its deletion triggers the next pass.
 */
async function createJob(pass: Pass, job: Job): Promise<void> {
  const { client, jobWrites, jobSet, signal } = pass;
  const key = keyOf(job);
  try {
    await jobWrites.track(key, () => client.create(KINDS.job, job, { signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const live = await jobWrites.track(key, () => client.get(KINDS.job, nameOf(job), { signal }));
    if (isControlledBy(live.metadata, jobSet.metadata.uid ?? "")) return;
    jobWrites.forget(key);
    if (!isPredecessors(live, pass)) throw error;
  }
}

async function createJobs(pass: Pass, lists: Plan["createJobs"]): Promise<unknown[]> {
  for (const jobs of lists) {
    const errors = await callAll(jobs, async (request) => {
      const job = renderJob(request);
      try {
        await createJob(pass, job);
      } catch (error) {
        if (!pass.signal.aborted) {
          recordEvent(pass, {
            type: "Warning",
            reason: JOBSET_REASONS.jobCreationFailed,
            message: `job "${job.metadata?.name}" creation failed with error: ${messageOf(error)}`,
          });
        }
        throw error;
      }
    }, pass);
    if (errors.length > 0) return errors;
  }
  return [];
}

async function createService(pass: Pass, service: Plan["createService"]): Promise<void> {
  if (service === undefined) return;
  try {
    await pass.client.create(KINDS.service, service, { signal: pass.signal });
  } catch (error) {
    if (isAlreadyExists(error)) return;
    recordEvent(pass, {
      type: "Warning",
      reason: JOBSET_REASONS.serviceCreationFailed,
      message: messageOf(error),
    });
    throw error;
  }
}

async function patchJob(
  { client, jobWrites, signal }: Pick<Pass, "client" | "jobWrites" | "signal">,
  patch: JobPatch,
): Promise<void> {
  const { job, clearStartTime, body } = patch;
  const key = keyOf(job);
  // The uid protects a newer Job of the same name.
  const metadata = { uid: job.metadata?.uid };
  try {
    if (clearStartTime) {
      await client.patch(KINDS.job, nameOf(job), {
        type: "merge",
        body: { metadata, status: { startTime: null } },
      }, { subresource: "status", signal });
    }
    await jobWrites.track(key, () =>
      client.patch(KINDS.job, nameOf(job), {
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
  const live = await getOrUndefined(client, KINDS.jobSet, nameOf(jobSet), { signal });
  if (live === undefined) return false;
  return live.metadata.uid === jobSet.metadata.uid &&
    live.metadata.deletionTimestamp === undefined &&
    (live.status?.restarts ?? 0) === (jobSet.status?.restarts ?? 0) &&
    isDeepStrictEqual(jobRestartsOf(live), jobRestartsOf(jobSet)) &&
    live.status?.terminalState === jobSet.status?.terminalState &&
    (live.spec?.suspend ?? false) === (jobSet.spec?.suspend ?? false);
}

async function writeStatus(pass: Pass, { status, events }: StatusPlan): Promise<void> {
  const { client, jobSet, jobSetWrites, signal } = pass;
  if (status !== undefined) {
    await jobSetWrites.track(
      keyOf(jobSet),
      () =>
        client.replace(KINDS.jobSet, { ...jobSet, status }, {
          subresource: "status",
          signal,
        }),
    );
  }
  for (const event of events) recordEvent(pass, event);
}

async function deleteJobSet({ client, jobSet, signal }: Pass): Promise<void> {
  try {
    await client.delete(KINDS.jobSet, nameOf(jobSet), {
      propagationPolicy: "Foreground",
      preconditions: { uid: jobSet.metadata.uid },
      signal,
    });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Suspends the Jobs of a JobSet that is suspended. Returns the errors. */
export async function suspend(
  actor: Actor,
  { jobSet, jobs, signal }: {
    readonly jobSet: JobSet;
    readonly jobs: readonly WatchedJob[];
    readonly signal: AbortSignal;
  },
): Promise<unknown[]> {
  const pass = { ...actor, signal };
  return await callAll(suspendJobs(jobSet, jobs), (patch) => patchJob(pass, patch), pass);
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

/** Starts Jobs: creates and resumes them. Returns the errors. */
async function start(pass: Pass, plan: Plan): Promise<"outdated" | readonly unknown[]> {
  try {
    if (await prepare(pass, plan) === "outdated") return "outdated";
  } catch (error) {
    return [error];
  }
  const errors = await createJobs(pass, plan.createJobs);
  return [...errors, ...await callAll(plan.resumeJobs, (patch) => patchJob(pass, patch), pass)];
}

/**
 * Executes the plan in its order, after the errors `before` of what has been taken away. No error keeps the rest from
 * being done, but that no Job starts without its Service and its claims; the first one is thrown at the end. After an
 * error a first status is not written. Every step may be repeated.
 */
export async function act(
  actor: Actor,
  { jobSet, plan, before, signal, now }: {
    jobSet: JobSet;
    plan: Plan;
    before: readonly unknown[];
    signal: AbortSignal;
    now: number;
  },
): Promise<ActResult> {
  const pass: Pass = { ...actor, jobSet, signal, now };
  const deletions = await callAll(plan.deleteJobs, (job) => deleteJob(pass, job), pass);
  const started = await start(pass, plan);
  if (started === "outdated") return started;
  signal.throwIfAborted();
  const errors = [...before, ...deletions, ...started];
  if (errors.length === 0) await writeStatus(pass, plan);
  else if (jobSet.status !== undefined) await writeStatus(pass, plan.undone);
  if (plan.deleteJobSet) await deleteJobSet(pass);
  if (errors.length > 0) throw errors[0];
  return "done";
}
