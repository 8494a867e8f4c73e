/** Defaults of TrainJobs beyond the schema's: when each runtime patch was last changed, what rules compare. Pure. */
import { sameJson } from "../platform/base/json.ts";
import type { RuntimePatch } from "../crds/runtime_patch.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { withCompared } from "./trial_annotations.ts";

/** The patch without its time, by which changes are detected. */
function withoutTime(patch: RuntimePatch): Omit<RuntimePatch, "time"> {
  const { time: _time, ...rest } = patch;
  return rest;
}

/** Whether two lists of patches say the same, whenever they were written. */
export function samePatches(
  one: readonly RuntimePatch[] | undefined,
  other: readonly RuntimePatch[] | undefined,
): boolean {
  return sameJson((one ?? []).map(withoutTime), (other ?? []).map(withoutTime));
}

function timed(patch: RuntimePatch, old: RuntimePatch | undefined, now: string): RuntimePatch {
  if (old === undefined) return { ...patch, time: patch.time ?? now };
  const isSame = sameJson(withoutTime(patch), withoutTime(old));
  return { ...patch, time: isSame ? old.time ?? patch.time ?? now : now };
}

/**
 * Returns the TrainJob with what its rules compare, and the time of each runtime patch: a new one has its own or
 * `now`, a changed one `now`, an unchanged one keeps the time it had. `now` is RFC 3339.
 */
export function defaultTrainJob(made: TrainJob, old: TrainJob | undefined, now: string): TrainJob {
  const job = { ...made, metadata: withCompared(made, old) };
  const patches = job.spec.runtimePatches;
  if (patches === undefined) return job;
  const before = new Map(old?.spec.runtimePatches?.map((patch) => [patch.manager, patch]));
  const runtimePatches = patches.map((patch) => timed(patch, before.get(patch.manager), now));
  return { ...job, spec: { ...job.spec, runtimePatches } };
}
