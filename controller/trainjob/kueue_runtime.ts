/** Warning about a runtime that was deleted while Kueue manages a TrainJob of it (docs/decisions/0003). Pure. */
import { childNames, FOREGROUND_FINALIZER, KUEUE_PATCH_MANAGER } from "../../crds/names.ts";
import { runtimeRefOf, type TrainJob } from "../../crds/trainjob.ts";
import { isFinished, isManaged, isOurs, type ObservedInputs, ownJobSet } from "./observed.ts";

/** Reports whether Kueue's webhook has seen the job: it adds a patch of its own to each. */
export function isSeenByKueue({ spec }: TrainJob): boolean {
  return spec.runtimePatches?.some(({ manager }) => manager === KUEUE_PATCH_MANAGER) ?? false;
}

/**
 * Returns the warning about a job that has begun and whose runtime is gone: it runs on with its snapshot,
 * but Kueue reads the runtime itself for every decision, to the last one.
 */
export function missingRuntimeOfKueue(observed: ObservedInputs): string | undefined {
  const { trainJob, runtime } = observed;
  const hasBegun = ownJobSet(observed) !== undefined;
  const isOver = !isOurs(trainJob) || isFinished(trainJob.status);
  if (runtime !== undefined || !hasBegun || isOver || !isSeenByKueue(trainJob)) return undefined;
  const { kind, name } = runtimeRefOf(trainJob);
  const snapshot = childNames.runtimeSnapshot(trainJob.metadata.name ?? "");
  return `${kind} "${name}" is gone. The job goes on with its copy, but Kueue refuses every change of ` +
    "the job without the runtime, and does not give its quota back when it ends: create the runtime " +
    `again (ConfigMap "${snapshot}" holds it), or delete the job`;
}

/**
 * Returns the warning about a job whose deletion in the foreground cannot end: its last step is an update, which
 * Kueue refuses without the runtime. A deletion in the background has no such step.
 */
export function refusedDeletionOfKueue({ trainJob, runtime }: ObservedInputs): string | undefined {
  const { deletionTimestamp, finalizers = [] } = trainJob.metadata;
  const isDeleted = deletionTimestamp !== undefined && finalizers.includes(FOREGROUND_FINALIZER);
  const isRefused = isManaged(trainJob) && isSeenByKueue(trainJob) && runtime === undefined;
  if (!isDeleted || !isRefused) return undefined;
  const runtimeRef = runtimeRefOf(trainJob);
  return `${runtimeRef.kind} "${runtimeRef.name}" is gone, and without it Kueue refuses the last step of a deletion ` +
    "in the foreground: delete the job again with --cascade=background";
}
