/** The two sides of a comparison, each on a control plane of its own. */
import { type ControlPlane, startControlPlane } from "../control_plane/control_plane.ts";
import { install } from "../support/installation.ts";
import { startUpstreamJobSet } from "../support/upstream_jobset.ts";
import { install as installObjects } from "./answers.ts";
import type { CaseTable } from "./case.ts";
import { PRIORITY_CLASSES } from "./cases/gangs.ts";
import { watchCluster, type WatchedKind } from "./cluster_view.ts";
import { performAll, type Run } from "./perform.ts";
import { installPodGroupCrds } from "./pod_group_crds.ts";
import { startUpstreamTrainer } from "./upstream_trainer.ts";

const OF_JOBSETS: readonly WatchedKind[] = [
  "jobSets",
  "jobs",
  "pods",
  "services",
  "configMaps",
  "secrets",
  "events",
  "serviceAccounts",
  "persistentVolumeClaims",
];
const OF_TRAINERS: readonly WatchedKind[] = [
  "trainJobs",
  "coschedulingGroups",
  "volcanoGroups",
  ...OF_JOBSETS,
];

/** Options of {@link performOn}. */
export interface SideOptions {
  /** What is put on the control plane before its controllers start, so that they know it at once. */
  readonly beforeControllers?: (plane: ControlPlane) => Promise<void>;
  /** How long nothing may change at the end of a case. */
  readonly endQuietMs?: number;
}

/** Performs the cases on fresh data, with what `start` puts on the control plane. */
export async function performOn(
  cases: CaseTable,
  kinds: readonly WatchedKind[],
  atOnce: number,
  start: (plane: ControlPlane, cleanup: AsyncDisposableStack) => Promise<void>,
  { endQuietMs, ...options }: SideOptions = {},
): Promise<Run> {
  await using cleanup = new AsyncDisposableStack();
  // Nothing plays the node: pods stay where a case puts them.
  const plane = await startControlPlane({ scheduler: false, ...options });
  cleanup.defer(() => plane.stop());
  await start(plane, cleanup);
  const watching = new AbortController();
  const cluster = await watchCluster(plane.client, kinds, watching.signal);
  try {
    return await performAll(cluster, cases, atOnce, endQuietMs);
  } finally {
    watching.abort();
    await cluster.ended;
  }
}

/** Installs what the cases about gangs need; upstream looks for the CRDs when it starts. */
async function prepareGangs(plane: ControlPlane): Promise<void> {
  await installPodGroupCrds(plane);
  await installObjects(plane.client, PRIORITY_CLASSES);
}

/** Upstream's Trainer over upstream's JobSet controller. */
export function performOnUpstreamTrainer(cases: CaseTable, atOnce: number): Promise<Run> {
  return performOn(cases, OF_TRAINERS, atOnce, async (plane, cleanup) => {
    await prepareGangs(plane);
    const executor = await startUpstreamJobSet(plane);
    cleanup.defer(() => executor.stop());
    const trainer = await startUpstreamTrainer(plane);
    cleanup.defer(() => trainer.stop());
  });
}

/** Milepost, without progress, over upstream's JobSet controller. */
export function performOnMilepost(cases: CaseTable, atOnce: number): Promise<Run> {
  return performOn(cases, OF_TRAINERS, atOnce, async (plane, cleanup) => {
    await prepareGangs(plane);
    const executor = await startUpstreamJobSet(plane);
    cleanup.defer(() => executor.stop());
    const installation = await install(plane, { jobSetCrd: false });
    cleanup.defer(() => installation.stop());
    await installation.startManager({ flags: { featureGates: "TrainJobProgress=false" } });
  });
}

/** Upstream's JobSet controller alone, with those feature gates on. */
export function performOnUpstreamJobSet(
  cases: CaseTable,
  atOnce: number,
  gates: readonly string[] = [],
): Promise<Run> {
  return performOn(cases, OF_JOBSETS, atOnce, async (plane, cleanup) => {
    const executor = await startUpstreamJobSet(plane, gates);
    cleanup.defer(() => executor.stop());
  });
}

/** Milepost's built-in executor alone. */
export function performOnBuiltInJobSet(cases: CaseTable, atOnce: number): Promise<Run> {
  return performOn(cases, OF_JOBSETS, atOnce, async (plane, cleanup) => {
    const installation = await install(plane);
    cleanup.defer(() => installation.stop());
    const flags = { featureGates: "TrainJobProgress=false", jobset: "builtin" };
    await installation.startManager({ flags });
  });
}
