/** Write of the engine's own fields of a job's status; pushes, stops and restarts write the others. */
import { failureOf, fieldText, restartOf } from "../../crds/job_state.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { V1Job, V1Status } from "../../crds/v1/job.ts";
import { compact, mergePatch, sameJson } from "../../platform/base/json.ts";
import { asRead, type MergeFields } from "../../platform/kit/as_read.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import { keyOf, objectKeyOf } from "../../platform/kube/resource.ts";
import type { JobWriter } from "./replica_writes.ts";

/** The fields of the status that the engine writes; of a restart it only says when it was over. */
const engineFields = ({ conditions, replicaStatuses, completedIndexes, ...others }: V1Status) => {
  const { startTime, completionTime, lastReconcileTime, failure, restart } = others;
  const times = { startTime, completionTime, lastReconcileTime };
  return compact({ conditions, replicaStatuses, completedIndexes, ...times, failure, restart });
};

/** Returns a merge patch from one status to the other; undefined if none of the engine's fields differs. */
function statusPatch(old: V1Status, now: V1Status): Record<string, unknown> | undefined {
  const patch = mergePatch(engineFields(old), engineFields(now));
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/**
 * Writes the status of a job that is as it was read. What a definition drops, or holds in an annotation already, is kept
 * there, as that of the progress (docs/decisions/0078).
 */
export async function writeStatus(
  { client, job, resource, jobWrites, signal }: JobWriter & {
    readonly jobWrites: OwnWrites<V1Job>;
  },
  status: V1Status,
): Promise<void> {
  const patch = (read: V1Job, fields: MergeFields, subresource?: "status") => {
    const body = asRead(read, fields);
    const options = { signal, ...(subresource && { subresource }) };
    const key = objectKeyOf(job);
    return jobWrites.track(
      keyOf(job),
      () => client.patch(resource, key, { type: "merge", body }, options),
    );
  };
  const [failure, restart] = [failureOf(job), restartOf(job)];
  const { restart: now, ...others } = status;
  const { uid = "" } = job.metadata;
  const isField = job.status?.restart !== undefined;
  const old = { ...job.status, ...(failure && { failure }) };
  const changes = statusPatch(old, isField ? status : others);
  const written = changes === undefined ? job : await patch(job, { status: changes }, "status");
  const isDropped = written.status?.failure === undefined;
  const annotations = {
    ...(status.failure !== undefined && isDropped && !sameJson(failure, status.failure) &&
      { [ANNOTATIONS.failure]: fieldText(uid, status.failure) }),
    ...(now !== undefined && !isField && !sameJson(restart, now) &&
      { [ANNOTATIONS.restart]: fieldText(uid, now) }),
  };
  if (Object.keys(annotations).length > 0) await patch(written, { metadata: { annotations } });
}
