/** Execution of a plan: the only writes of the Job controller. */
import { KINDS } from "../../crds/kinds.ts";
import type { Job, Pod } from "../../platform/kube/kubernetes.ts";
import { JOB_KEYS, JOB_REASONS } from "../../crds/job_names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { sameJson } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { isConflict, isInvalid, isNotFound } from "../../platform/kube/errors.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import type { Attempts } from "../../platform/kit/attempts.ts";
import { keyOf, objectKeyOf } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { type JobPlan, withActive } from "./job_decision.ts";
import { isTracked } from "./pods.ts";
import { randomSuffix } from "../../platform/base/random_suffix.ts";
import { renderPod } from "./pod_rendering.ts";

/** Reads and retries of a finalizer that changes under the controller's hands. */
const RELEASE_ATTEMPTS = 3;

/** A pass over a Job, and what it writes by. */
export interface Pass {
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly podWrites: OwnWrites<Pod>;
  readonly jobWrites: OwnWrites<Job>;
  /** Numbers from 0 up to 1. */
  readonly random: () => number;
  readonly attempts: Attempts;
  readonly job: Job;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

function tell({ events, job }: Pass, event: EventText): void {
  events.record(subjectOf(KINDS.job, job), event);
}

async function createPod(pass: Pass, index: number | undefined): Promise<void> {
  const { client, podWrites, job, signal, random } = pass;
  const pod = renderPod(job, randomSuffix(random), index);
  try {
    await podWrites.track(keyOf(pod), () => client.create(KINDS.pod, pod, { signal }));
  } catch (error) {
    if (!signal.aborted) {
      const reason = JOB_REASONS.eventPodCreationFailed;
      const message = `Error creating: ${error instanceof Error ? error.message : error}`;
      tell(pass, { type: "Warning", reason, message });
    }
    throw error;
  }
  const reason = JOB_REASONS.eventPodCreated;
  tell(pass, { type: "Normal", reason, message: `Created pod: ${pod.metadata?.name}` });
}

/** Operations that take the tracking finalizer away from just this pod, or fail. */
function releaseOperations(pod: Pod) {
  const at = pod.metadata?.finalizers?.indexOf(JOB_KEYS.trackingFinalizer) ?? -1;
  const path = `/metadata/finalizers/${at}`;
  return [
    { op: "test", path: "/metadata/uid", value: pod.metadata?.uid },
    { op: "test", path, value: JOB_KEYS.trackingFinalizer },
    { op: "remove", path },
  ] as const;
}

/**
 * Takes the tracking finalizer away and returns the pod without it; undefined if the pod is gone.
 */
export async function releasePod(
  { client, podWrites, signal }: Pick<Pass, "client" | "podWrites" | "signal">,
  cached: Pod,
): Promise<Pod | undefined> {
  const key = keyOf(cached);
  let pod = cached;
  for (let attempt = 1; isTracked(pod); attempt++) {
    const operations = [...releaseOperations(pod)];
    try {
      return await podWrites.track(
        key,
        () => client.patch(KINDS.pod, objectKeyOf(pod), { type: "json", operations }, { signal }),
      );
    } catch (error) {
      if (isNotFound(error)) return void podWrites.forget(key);
      if (attempt >= RELEASE_ATTEMPTS || !(isConflict(error) || isInvalid(error))) throw error;
    }
    const live = await getOrUndefined(client, KINDS.pod, objectKeyOf(pod), { signal });
    if (live === undefined) return void podWrites.forget(key);
    pod = await podWrites.track(key, () => Promise.resolve(live));
    if (pod.metadata?.uid !== cached.metadata?.uid) return undefined;
  }
  return pod;
}

async function deletePod(pass: Pass, pod: Pod): Promise<void> {
  const { client, podWrites, signal, now } = pass;
  const call = { propagationPolicy: "Background", signal } as const;
  const existed = await podWrites.trackDeletion(
    pod,
    rfc3339(now),
    () => deleteExactly(client, KINDS.pod, pod, call),
  );
  if (!existed) return;
  const reason = JOB_REASONS.eventPodDeleted;
  tell(pass, { type: "Normal", reason, message: `Deleted pod: ${pod.metadata?.name}` });
}

async function writeStatus(pass: Pass, status: NonNullable<Job["status"]>): Promise<boolean> {
  const { client, job, jobWrites, signal } = pass;
  if (sameJson(job.status ?? {}, status)) return false;
  await jobWrites.track(
    keyOf(job),
    () => client.replace(KINDS.job, { ...job, status }, { subresource: "status", signal }),
  );
  return true;
}

/**
 * Executes the plan in its order; every step may be repeated. No error keeps the rest from being done, but that no pod
 * is released before the status that counts it is written. Returns whether another pass has something to do at once.
 */
export async function act(pass: Pass, plan: JobPlan): Promise<boolean> {
  const { client, job, attempts, signal } = pass;
  await attempts.each(plan.discard, async (pod) => {
    const released = await releasePod(pass, pod);
    if (released !== undefined) await deletePod(pass, released);
  });
  await attempts.each(plan.remove, (pod) => deletePod(pass, pod));
  let created = 0;
  await attempts.each(plan.create, async (index) => {
    await createPod(pass, index);
    created++;
  });
  const status = withActive(plan.status, (plan.status.active ?? 0) + created);
  const wrote = await attempts.one(() => writeStatus(pass, status));
  if (wrote === undefined) return false;
  for (const event of plan.events) tell(pass, event);
  await attempts.each(plan.release, (pod) => releasePod(pass, pod));
  if (plan.deleteJob) {
    const call = { propagationPolicy: "Foreground", signal } as const;
    await attempts.one(() => deleteExactly(client, KINDS.job, job, call));
  }
  return wrote && plan.release.length > 0;
}
