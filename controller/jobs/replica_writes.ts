/** Writes of pods and Services: creation, deletion, adoption and release, with events and expectations. */
import type { V1Job } from "../../crds/v1/job.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { V1_API_VERSION, V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { identityOf } from "../../crds/watched.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isAlreadyExists, isNotFound, KubeError, messageOf } from "../../platform/kube/errors.ts";
import { subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder, EventText } from "../../platform/kube/events.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import {
  controllerReference,
  isControlledBy,
  isOfPredecessor,
} from "../../platform/kube/owner_references.ts";
import { type KubeMeta, type KubeObject, objectKeyOf } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { hasLabelsOf } from "./job_claims.ts";
import type { Expectations } from "./expectations.ts";
import type { JobMetrics } from "./job_metrics.ts";
import { expectationKey, type ReplicaObjectKind } from "./replica_objects.ts";

/** The job that is written for, and what its writes need. */
export interface JobWriter {
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly expectations: Expectations;
  readonly metrics: JobMetrics;
  readonly kind: V1Kind;
  readonly job: V1Job;
  readonly signal: AbortSignal;
}

/**
 * Result of a creation: `outdated` if the cache does not show an object of the job that is there, `taken` if what has the
 * name is about to go.
 */
export type Creation = "created" | "outdated" | "taken";

/** Records an event about the job, from the controller that upstream names. */
export function recordJobEvent({ events, kind, job }: JobWriter, event: EventText): void {
  const about = subjectOf(V1_RESOURCES[kind.kind], job);
  events.record(about, { ...event, component: kind.operatorName });
}

const titled = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`;

const claimantOf = ({ kind, job }: JobWriter) => ({
  kind,
  name: job.metadata.name ?? "",
  uid: job.metadata.uid ?? "",
});

/** Reports whether the server gave up on the call, which may take effect still. */
function isTimeout(error: unknown): boolean {
  return error instanceof KubeError && (error.code === 504 || error.reason === "Timeout");
}

/** Decides about an object that has the name already. Throws if the name cannot become free by itself. */
async function existing<T extends KubeObject>(
  writer: JobWriter,
  { resource }: ReplicaObjectKind<T>,
  object: T,
  error: unknown,
): Promise<Creation> {
  const { client, signal } = writer;
  const live = await getOrUndefined(client, resource, objectKeyOf(object), { signal });
  if (live === undefined) return "outdated";
  if (live.metadata?.deletionTimestamp !== undefined) return "taken";
  const claimant = claimantOf(writer);
  if (!isControlledBy(live.metadata, claimant.uid)) {
    const { kind, job } = writer;
    if (isOfPredecessor(live.metadata, V1_RESOURCES[kind.kind], job.metadata)) return "taken";
    throw error;
  }
  if (hasLabelsOf(claimant, live.metadata)) {
    // One whose index somebody has changed is never shown for this one.
    if (SLOT_LABELS.some((it) => labelOf(live, it) !== labelOf(object, it))) throw error;
    return "outdated";
  }
  if (labelOf(live, V1_LABELS.jobName) === undefined) {
    // An operator before version 1.4 made it.
    await labelObject(writer, { resource }, live, object.metadata?.labels ?? {});
    return "outdated";
  }
  await releaseObject(writer, { resource }, live);
  throw error;
}

/** The labels that say which replica an object is. */
const SLOT_LABELS = [V1_LABELS.replicaType, V1_LABELS.replicaIndex];
const labelOf = ({ metadata }: KubeObject, key: string) => metadata?.labels?.[key];

/** Adds labels to an object, by which the caches show it. */
async function labelObject<T extends KubeObject>(
  { client, signal }: JobWriter,
  { resource }: Pick<ReplicaObjectKind<T>, "resource">,
  object: T,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const body = asRead(object, { metadata: { labels } });
  await client.patch(resource, objectKeyOf(object), { type: "merge", body }, { signal });
}

/** Creates the object of a replica, unless it is there. Throws if it cannot be created, after the event that says so. */
export async function createObject<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjectKind<T>,
  object: T,
): Promise<Creation> {
  const { client, expectations, metrics, job, signal } = writer;
  const key = expectationKey(of, object, job.metadata.uid ?? "");
  const name = object.metadata?.name ?? "";
  const reason = titled(of.word);
  expectations.expectCreation(key, name);
  try {
    await client.create(identityOf(of.resource), object, { signal });
  } catch (error) {
    if (!isTimeout(error)) expectations.creationObserved(key, name);
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
  const message = `Created ${of.word}: ${name}`;
  recordJobEvent(writer, { type: "Normal", reason: `SuccessfulCreate${reason}`, message });
  return "created";
}

/** Deletes the object of a replica; that it does not exist any more is no error. */
export async function deleteObject<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjectKind<T>,
  object: T,
): Promise<void> {
  const { client, expectations, metrics, job, signal } = writer;
  const { uid = "", name = "" } = object.metadata ?? {};
  const key = expectationKey(of, object, job.metadata.uid ?? "");
  const reason = titled(of.word);
  // A Service that is deleted twice does no harm; a pod would be counted twice.
  if (of.of === "pods") expectations.expectDeletion(key, uid);
  try {
    if (!(await deleteExactly(client, of.resource, object, { signal }))) {
      expectations.deletionObserved(key, uid);
      return;
    }
  } catch (error) {
    expectations.deletionObserved(key, uid);
    if (!signal.aborted) {
      const message = `Error deleting: ${messageOf(error)}`;
      recordJobEvent(writer, { type: "Warning", reason: `FailedDelete${reason}`, message });
    }
    throw error;
  }
  metrics.deleted(of.word);
  const message = `Deleted ${of.word}: ${name}`;
  recordJobEvent(writer, { type: "Normal", reason: `SuccessfulDelete${reason}`, message });
}

type OwnerReferences = NonNullable<KubeMeta["ownerReferences"]>;

async function patchOwners<T extends KubeObject>(
  { client, signal }: JobWriter,
  { resource }: Pick<ReplicaObjectKind<T>, "resource">,
  object: T,
  change: (owners: OwnerReferences) => OwnerReferences,
): Promise<T> {
  const ownerReferences = change(object.metadata?.ownerReferences ?? []);
  const body = asRead(object, { metadata: { ownerReferences } });
  return await client.patch(resource, objectKeyOf(object), { type: "merge", body }, { signal });
}

/** Makes the job the controller of an orphan. Returns undefined if the orphan has gone meanwhile. */
export async function adoptObject<T extends KubeObject>(
  writer: JobWriter,
  of: Pick<ReplicaObjectKind<T>, "resource">,
  object: T,
): Promise<T | undefined> {
  const { name = "", uid = "" } = writer.job.metadata;
  const owner = { apiVersion: V1_API_VERSION, kind: writer.kind.kind, name, uid };
  try {
    return await patchOwners(writer, of, object, (owners) => [
      ...owners.filter((it) => it.uid !== uid),
      controllerReference(owner),
    ]);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Removes the job from the owners of an object whose labels are no longer its own. */
export async function releaseObject<T extends KubeObject>(
  writer: JobWriter,
  of: Pick<ReplicaObjectKind<T>, "resource">,
  object: T,
): Promise<void> {
  try {
    const { uid } = writer.job.metadata;
    await patchOwners(writer, of, object, (owners) => owners.filter((it) => it.uid !== uid));
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
