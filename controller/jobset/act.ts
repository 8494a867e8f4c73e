/** Carries out a plan: the only writes of the JobSet executor. */
import type { JobSet } from "../../crds/jobset.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Job } from "../../crds/kubernetes.ts";
import { JOBSET_API_VERSION, JOBSET_REASONS } from "../../crds/names.ts";
import type { WatchedJob } from "../../crds/watched.ts";
import type { KubeClient } from "../../kube/client.ts";
import { rfc3339 } from "../../crds/timestamps.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import type { EventRecorder, EventText } from "../../kube/events.ts";
import { controllerOf, isControlledBy } from "../../kube/ownership.ts";
import type { OwnWrites } from "../../kube/own_writes.ts";
import { inParallel } from "../../kube/parallel.ts";
import { keyOf } from "../../kube/resource.ts";
import { getOrUndefined } from "../../kube/upsert.ts";
import type { Plan } from "./decide.ts";
import type { JobPatch } from "./policy/suspension.ts";

/** Calls to the API server that one pass has under way at a time. */
const MAX_CALLS = 50;

/** What acting needs. */
export interface Actor {
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly jobWrites: OwnWrites<WatchedJob>;
  readonly jobSetWrites: OwnWrites<JobSet>;
}

/** How a pass ended: as planned, or given up because what it was planned from is out of date. */
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

function tell({ events, jobSet }: Pass, event: EventText): void {
  const { name = "", namespace, uid } = jobSet.metadata;
  events.record({ apiVersion: JOBSET_API_VERSION, kind: "JobSet", namespace, name, uid }, event);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs the calls, waits for all, and throws the first error. */
async function callAll<T>(
  items: readonly T[],
  call: (item: T) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const [error] = await inParallel(items, call, { limit: MAX_CALLS, signal });
  if (error !== undefined) throw error;
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
    // Gone already, or another Job has the name by now.
    if (!isNotFound(error) && !isConflict(error)) throw error;
    jobWrites.forget(keyOf(job));
  }
}

/** Whether the Job belongs to a JobSet of the same name that was there before this one. */
function isPredecessors(job: WatchedJob, { jobSet }: Pass): boolean {
  const owner = controllerOf(job.metadata);
  return owner?.kind === "JobSet" && owner.name === jobSet.metadata.name &&
    owner.apiVersion === JOBSET_API_VERSION;
}

/**
 * Creates a Job, or takes the one that is there where it is this JobSet's: the answer to an earlier
 * creation was lost, or the cache is behind. One that is going, of an earlier attempt or of a JobSet
 * of the same name that is gone, is waited for; its deletion brings the next pass.
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

async function createJobs(pass: Pass, lists: Plan["createJobs"]): Promise<void> {
  for (const jobs of lists) {
    await callAll(jobs, async (job) => {
      try {
        await createJob(pass, job);
      } catch (error) {
        if (!pass.signal.aborted) {
          tell(pass, {
            type: "Warning",
            reason: JOBSET_REASONS.jobCreationFailed,
            message: `job "${job.metadata?.name}" creation failed with error: ${messageOf(error)}`,
          });
        }
        throw error;
      }
    }, pass.signal);
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
  // The uid makes sure that a Job of the same name that came since is left alone.
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
        body: { metadata, ...body },
      }, { signal }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    jobWrites.forget(key);
  }
}

/**
 * Whether the JobSet is still as the plan takes it to be. A cache that is behind must not make Jobs
 * again for one that is being deleted or has restarted.
 */
async function isUpToDate({ client, jobSet, signal }: Pass): Promise<boolean> {
  const live = await getOrUndefined(client, KINDS.jobSet, nameOf(jobSet), { signal });
  if (live === undefined) return false;
  return live.metadata.uid === jobSet.metadata.uid &&
    live.metadata.deletionTimestamp === undefined &&
    (live.status?.restarts ?? 0) === (jobSet.status?.restarts ?? 0) &&
    live.status?.terminalState === jobSet.status?.terminalState &&
    (live.spec?.suspend ?? false) === (jobSet.spec?.suspend ?? false);
}

async function writeStatus(pass: Pass, status: Plan["status"]): Promise<void> {
  if (status === undefined) return;
  const { client, jobSet, jobSetWrites, signal } = pass;
  await jobSetWrites.track(
    keyOf(jobSet),
    () =>
      client.replace(KINDS.jobSet, { ...jobSet, status }, {
        subresource: "status",
        signal,
      }),
  );
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

/**
 * Does what the plan says, in its order. An error of any step is thrown after the calls under way
 * have ended, and the status is not written. Every step may be repeated.
 */
export async function act(
  actor: Actor,
  { jobSet, plan, signal, now }: {
    jobSet: JobSet;
    plan: Plan;
    signal: AbortSignal;
    now: number;
  },
): Promise<ActResult> {
  const pass: Pass = { ...actor, jobSet, signal, now };
  await callAll(plan.deleteJobs, (job) => deleteJob(pass, job), signal);
  const creates = plan.createJobs.length > 0 || plan.createService !== undefined;
  // The first pass of a new JobSet has no earlier state to be behind of.
  if (creates && jobSet.status !== undefined && !(await isUpToDate(pass))) return "outdated";
  await createService(pass, plan.createService);
  await createJobs(pass, plan.createJobs);
  await callAll(plan.patchJobs, (patch) => patchJob(pass, patch), signal);
  signal.throwIfAborted();
  await writeStatus(pass, plan.status);
  for (const event of plan.events) tell(pass, event);
  if (plan.deleteJobSet) await deleteJobSet(pass);
  return "done";
}
