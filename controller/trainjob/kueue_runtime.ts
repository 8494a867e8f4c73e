/** Warning about a runtime that was deleted while Kueue manages a TrainJob of it (docs/decisions/0047). Pure. */
import { childNames, KUEUE_PATCH_MANAGER } from "../../crds/names.ts";
import { runtimeRefOf, type TrainJob } from "../../crds/trainjob.ts";
import { isFinished, type Observed, ownJobSet } from "./observed.ts";

/** Reports whether Kueue's webhook has seen the job: it adds a patch of its own to each. */
export function isSeenByKueue({ spec }: TrainJob): boolean {
  return spec.runtimePatches?.some(({ manager }) => manager === KUEUE_PATCH_MANAGER) ?? false;
}

/**
 * Returns the warning about a job that has begun and whose runtime is gone: it runs on with its snapshot,
 * but Kueue reads the runtime itself for every decision, to the last one.
 */
export function missingRuntimeOfKueue(observed: Observed): string | undefined {
  const { trainJob, runtime } = observed;
  const hasBegun = ownJobSet(observed) !== undefined;
  const isOver = isFinished(trainJob.status);
  if (runtime !== undefined || !hasBegun || isOver || !isSeenByKueue(trainJob)) return undefined;
  const { kind, name } = runtimeRefOf(trainJob);
  const snapshot = childNames.runtimeSnapshot(trainJob.metadata.name ?? "");
  return `${kind} "${name}" is gone. The job goes on with its copy, but Kueue refuses every change of ` +
    "the job without the runtime, and does not give its quota back when it ends: create the runtime " +
    `again (ConfigMap "${snapshot}" holds it), or delete the job`;
}
