/** Pod group of a job whose pods a gang scheduler places together: kept while the job runs, deleted after. */
import { at, isObject } from "../../platform/base/json.ts";
import { KINDS } from "../../crds/kinds.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { GangScheduler, Members } from "./gang.ts";
import { deleteChild, toldOfChild, writeChild } from "./job_children.ts";
import { type JobWriter, recordJobEvent } from "./replica_writes.ts";
import type { Run } from "./run.ts";

/** A phase of a group whose pods have to wait. */
const WAITS: readonly unknown[] = [undefined, "", "Pending"];

/** Returns the values of the priority classes that the pods name; of one that does not exist it is 0. */
async function prioritiesOf({ client, signal }: JobWriter, run: Run) {
  const names = run.replicas.flatMap(({ template }) => template.spec?.priorityClassName || []);
  const values = new Map<string, number>();
  for (const name of new Set(names)) {
    const found = await getOrUndefined(client, KINDS.priorityClass, { name }, { signal });
    values.set(name, found?.value ?? 0);
  }
  return (name: string) => values.get(name) ?? 0;
}

/** Creates or changes the group of a job. Returns whether its pods may be created; what it throws is told first. */
export function keepGroup(
  writer: JobWriter,
  members: Members,
  gang: GangScheduler,
): Promise<boolean> {
  return toldOfChild(writer, gang.groupKind, () => writeGroup(writer, members, gang));
}

async function writeGroup(
  writer: JobWriter,
  members: Members,
  { groupKind, admitsGroups, group }: GangScheduler,
): Promise<boolean> {
  const { client, signal, metrics } = writer;
  const { run } = members;
  const key = { namespace: run.namespace, name: run.name };
  const live = await getOrUndefined(client, groupKind, key, { signal });
  const wanted = group(members, await prioritiesOf(writer, run));
  const queue = at(live, "spec", "queue");
  const spec = isObject(wanted.spec) && queue ? { ...wanted.spec, queue } : wanted.spec;
  const object = { ...wanted, spec };
  if (!(await writeChild(writer, { kind: groupKind, object, changes: ["spec"] }))) return false;
  if (live === undefined) metrics.created("podGroup");
  return !admitsGroups || !WAITS.includes(at(live, "status", "phase"));
}

/** Deletes the group of a job that does not run. What it throws is told by an event first. */
export async function deleteGroup(
  writer: JobWriter,
  run: Run,
  { groupKind, group }: GangScheduler,
): Promise<void> {
  const object = group({ run, collected: 0 }, () => 0);
  const tell = (reason: string, message: string, type: "Normal" | "Warning" = "Normal") =>
    recordJobEvent(writer, { type, reason, message });
  try {
    if (!(await deleteChild(writer, { kind: groupKind, object }))) return;
  } catch (error) {
    if (!writer.signal.aborted) {
      tell("FailedDeletePodGroup", `Error deleting: ${messageOf(error)}`, "Warning");
    }
    throw error;
  }
  writer.metrics.deleted("podGroup");
  tell("JobTerminated", "Job has been terminated. Deleting PodGroup");
  tell("SuccessfulDeletePodGroup", `Deleted PodGroup: ${run.name}`);
}
