/** Objects of a job beside its pods and Services: created, kept as the job wants them, and deleted. */
import { asRead } from "../../platform/kit/as_read.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import { apiVersionOf, objectKeyOf } from "../../platform/kube/resource.ts";
import { isNotServed, isStale, messageOf } from "../../platform/kube/errors.ts";
import { isControlledBy, isOfPredecessor } from "../../platform/kube/owner_references.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { covers } from "../../platform/base/json.ts";
import type { JobChild } from "./kind_rules.ts";
import { type JobWriter, recordJobEvent } from "./replica_writes.ts";

/** The fields that follow the job, as they are wanted. */
function followed({ object, changes = [] }: JobChild): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => changes.includes(name)));
}

/**
 * The same without the event. Returns whether the name was free, or the job's: an earlier job's object goes by itself,
 * and its name is then waited for.
 */
export async function writeChild(writer: JobWriter, child: JobChild): Promise<boolean> {
  const { client, job, resource, signal } = writer;
  const { kind, object } = child;
  const key = objectKeyOf(object);
  const live = await getOrUndefined(client, kind, key, { signal });
  if (live === undefined) {
    if (!child.isOnlyChanged) await client.create(kind, object, { signal });
    return true;
  }
  if (isOfPredecessor(live.metadata, resource, job.metadata)) return child.isOnlyChanged ?? false;
  if (!isControlledBy(live.metadata, job.metadata.uid ?? "")) {
    if (child.isOnlyChanged) return true;
    throw new Error(`${kind.kind} "${live.metadata?.name}" exists and is not the job's; delete it`);
  }
  const wanted = followed(child);
  if (covers(live, wanted)) return true;
  await client.patch(kind, key, { type: "merge", body: asRead(live, wanted) }, { signal });
  return true;
}

/** Does what a child of a kind needs. What it throws is told by an event first. */
export async function toldOfChild<T>(
  writer: JobWriter,
  kind: Pick<JobChild["kind"], "kind" | "group" | "version">,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Another write came between: the pass is repeated.
    if (!isStale(error) && !writer.signal.aborted) {
      const why = isNotServed(error)
        ? `the API server does not serve ${kind.kind} of ${apiVersionOf(kind)}`
        : messageOf(error);
      const reason = `FailedCreate${kind.kind}`;
      recordJobEvent(writer, { type: "Warning", reason, message: `Error creating: ${why}` });
    }
    throw error;
  }
}

/**
 * Brings a child to what the job wants. Returns whether it is so; not while an earlier job's object has its name. Throws
 * if that is not possible, after an event that says why.
 */
export function keepChild(writer: JobWriter, child: JobChild): Promise<boolean> {
  return toldOfChild(writer, child.kind, () => writeChild(writer, child));
}

/** Deletes a child, if the job controls it. Returns whether there was one. */
export async function deleteChild(
  { client, job, signal }: JobWriter,
  { kind, object }: JobChild,
): Promise<boolean> {
  const live = await getOrUndefined(client, kind, objectKeyOf(object), { signal });
  return live !== undefined && isControlledBy(live.metadata, job.metadata.uid ?? "") &&
    await deleteExactly(client, kind, live, { signal });
}
