/** Writes of pods and Services: creation, deletion, adoption and release, with events. */
import type { V1Job } from "../../crds/v1/job.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { ignoring, isAlreadyExists, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import type { Attempts } from "../../platform/kit/attempts.ts";
import { isControlledBy, isOfPredecessor } from "../../platform/kube/owner_references.ts";
import {
  keyOf,
  type Kind,
  type KubeMeta,
  type KubeObject,
  objectKeyOf,
} from "../../platform/kube/resource.ts";
import { type Claimant, hasLabelsOf } from "./job_claims.ts";
import type { JobMetrics } from "./job_metrics.ts";
import { ownerOf } from "./owner.ts";
import type { ObjectsOfJobs, ReplicaObjects } from "./replica_objects.ts";

/** The job that is written for, and what its writes need. */
export interface JobWriter extends ObjectsOfJobs {
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly metrics: JobMetrics;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly attempts: Attempts;
  readonly kind: V1Kind;
  readonly resource: Kind<V1Job>;
  readonly job: V1Job;
  readonly signal: AbortSignal;
}

/**
 * Result of a creation: `outdated` if the cache does not show an object of the job that is there, `taken` if what has the
 * name is about to go.
 */
export type Creation = "created" | "outdated" | "taken";

/** Records an event about the job, from the controller that upstream names. */
export function recordJobEvent(
  { events, kind, resource, job }: JobWriter,
  event: EventText,
): void {
  events.record(subjectOf(resource, job), { ...event, component: kind.operatorName });
}

const titled = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`;

const claimantOf = ({ kind, job }: JobWriter) => ({
  kind,
  name: job.metadata.name ?? "",
  uid: job.metadata.uid ?? "",
});

/** Whether the cache will show the live object for the replica's; never one whose index somebody has changed. */
const isShownLater = (claimant: Claimant, live: KubeObject, object: KubeObject) =>
  live.metadata?.deletionTimestamp === undefined && isControlledBy(live.metadata, claimant.uid) &&
  hasLabelsOf(claimant, live.metadata) &&
  SLOT_LABELS.every((it) => labelOf(live, it) === labelOf(object, it));

/** Decides about an object that has the name already. Throws if the name cannot become free by itself. */
async function existing<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjects<T>,
  object: T,
  error: unknown,
): Promise<Creation> {
  const { client, signal } = writer;
  const key = objectKeyOf(object);
  const read = () => client.get(of.resource, key, { signal });
  // Tracked, so that one whose removal the cache tells meanwhile is not taken for one that is there.
  const live = await of.writes.track(keyOf(object), read).catch(ignoring(isNotFound));
  if (live === undefined) return "outdated";
  const claimant = claimantOf(writer);
  if (isShownLater(claimant, live, object)) return "outdated";
  of.writes.forget(keyOf(live));
  if (live.metadata?.deletionTimestamp !== undefined) return "taken";
  if (!isControlledBy(live.metadata, claimant.uid)) {
    if (isOfPredecessor(live.metadata, writer.resource, writer.job.metadata)) return "taken";
    throw error;
  }
  if (hasLabelsOf(claimant, live.metadata)) throw error;
  if (labelOf(live, V1_LABELS.jobName) === undefined) {
    // An operator before version 1.4 made it: by the labels the caches show it.
    await changeObject(writer, of, live, { labels: object.metadata?.labels ?? {} });
    return "outdated";
  }
  await releaseObject(writer, of, live);
  throw error;
}

/** The labels that say which replica an object is. */
const SLOT_LABELS = [V1_LABELS.replicaType, V1_LABELS.replicaIndex];
const labelOf = ({ metadata }: KubeObject, key: string) => metadata?.labels?.[key];

/** Changes the metadata of an object as it was read. */
function changeObject<T extends KubeObject>(
  { client, signal }: JobWriter,
  { resource, writes }: ReplicaObjects<T>,
  object: T,
  metadata: Pick<KubeMeta, "labels" | "ownerReferences">,
): Promise<T> {
  const patch = { type: "merge", body: asRead(object, { metadata }) } as const;
  const key = objectKeyOf(object);
  return writes.track(keyOf(object), () => client.patch(resource, key, patch, { signal }));
}

/** Creates the object of a replica, unless it is there. Throws if it cannot be created, after the event that says so. */
export async function createObject<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjects<T>,
  object: T,
): Promise<Creation> {
  const { client, metrics, signal } = writer;
  const reason = titled(of.word);
  try {
    await of.writes.track(keyOf(object), async () => {
      const { metadata } = await client.create(of.created, object, { signal });
      return { ...object, metadata: { ...object.metadata, ...metadata } };
    });
  } catch (error) {
    try {
      if (isAlreadyExists(error)) return await existing(writer, of, object, error);
      throw error;
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.creationFailed(of.word);
      const message = `Error creating: ${messageOf(error)}`;
      recordJobEvent(writer, { type: "Warning", reason: `FailedCreate${reason}`, message });
      throw error;
    }
  }
  metrics.created(of.word);
  const message = `Created ${of.word}: ${object.metadata?.name}`;
  recordJobEvent(writer, { type: "Normal", reason: `SuccessfulCreate${reason}`, message });
  return "created";
}

/** Deletes the object of a replica; that it does not exist any more is no error. */
export async function deleteObject<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjects<T>,
  object: T,
): Promise<void> {
  const { client, metrics, clock, signal } = writer;
  const reason = titled(of.word);
  const call = () => deleteExactly(client, of.resource, object, { signal });
  try {
    if (!(await of.writes.trackDeletion(object, rfc3339(clock.now()), call))) return;
  } catch (error) {
    if (!signal.aborted) {
      const message = `Error deleting: ${messageOf(error)}`;
      recordJobEvent(writer, { type: "Warning", reason: `FailedDelete${reason}`, message });
    }
    throw error;
  }
  metrics.deleted(of.word);
  const message = `Deleted ${of.word}: ${object.metadata?.name}`;
  recordJobEvent(writer, { type: "Normal", reason: `SuccessfulDelete${reason}`, message });
}

/** The owners of the object beside the job. */
const otherOwners = ({ job }: JobWriter, { metadata }: KubeObject) =>
  (metadata?.ownerReferences ?? []).filter(({ uid }) => uid !== job.metadata.uid);

/** Makes the job the controller of an orphan. Returns undefined if the orphan has gone meanwhile. */
export async function adoptObject<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjects<T>,
  object: T,
): Promise<T | undefined> {
  const ownerReferences = [...otherOwners(writer, object), ownerOf(claimantOf(writer))];
  return await changeObject(writer, of, object, { ownerReferences }).catch(ignoring(isNotFound));
}

/** Removes the job from the owners of an object whose labels are no longer its own. */
export async function releaseObject<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjects<T>,
  object: T,
): Promise<void> {
  const ownerReferences = otherOwners(writer, object);
  await changeObject(writer, of, object, { ownerReferences }).catch(ignoring(isNotFound));
}
