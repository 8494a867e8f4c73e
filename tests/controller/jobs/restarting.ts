/** Restarts of v1 jobs, as their owner stores them, for tests. */
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { type JobRestart, jobRestartSchema } from "../../../crds/job_restart.ts";
import { fieldText, restartOf } from "../../../crds/job_state.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { JobWorld } from "./job_world.ts";

/** Stores a restart of a job, in its status or in the annotation. */
export function storeRestart(
  world: JobWorld,
  kind: V1KindName,
  { count = 1, at = "status", pods }: {
    count?: number;
    at?: "status" | "annotation";
    pods?: readonly string[];
  } = {},
): void {
  const time = rfc3339(world.clock.now());
  const restart = jobRestartSchema.parse({
    count,
    reason: "Asked",
    message: "by a test",
    time,
    pods,
  });
  const annotations = {
    [ANNOTATIONS.restart]: fieldText(world.job(kind).metadata.uid ?? "", restart),
  };
  // The merge of a patch would keep the end of the one before.
  const body = at === "status"
    ? { status: { restart: { ...restart, endTime: null } } }
    : { metadata: { annotations } };
  world.cluster.edit(V1_RESOURCES[kind], "ml/j", body);
}

/** The restart of the job as its object has it. */
export function storedRestart(world: JobWorld, kind: V1KindName): JobRestart | undefined {
  return restartOf(world.job(kind));
}

/** From now on the pods that are there stay when they are deleted, until they are {@link letGo}. */
export function linger(world: JobWorld): void {
  const metadata = { finalizers: ["kubernetes.io/ending"] };
  for (const name of world.pods) world.cluster.edit(KINDS.pod, `ml/${name}`, { metadata });
}

/** Lets those pods go that are being deleted, or the named ones of them. */
export async function letGo(world: JobWorld, names: readonly string[] = world.pods): Promise<void> {
  const body = { metadata: { finalizers: null } };
  for (const name of names) {
    if (world.pod(name).metadata?.deletionTimestamp === undefined) continue;
    await world.cluster.client().patch(KINDS.pod, { namespace: "ml", name }, {
      type: "merge",
      body,
    });
  }
}

/** After which restart each pod was made, by its name. */
export function countsOf(world: JobWorld): Record<string, string> {
  const all = world.cluster.all(KINDS.pod).map(({ metadata }): [string, string] => [
    metadata?.name ?? "",
    metadata?.annotations?.[ANNOTATIONS.restartCount] ?? "",
  ]);
  return Object.fromEntries(all.sort(([one], [other]) => one < other ? -1 : 1));
}

/** Watches over the pods: returns what was there when pods of before and after a restart were there together. */
export function watchGenerations(world: JobWorld): string[] {
  const mixed: string[] = [];
  world.fault((call, phase) => {
    const counts = countsOf(world);
    if (call.verb === "create" && phase === "after" && new Set(Object.values(counts)).size > 1) {
      mixed.push(JSON.stringify(counts));
    }
    return undefined;
  });
  return mixed;
}
