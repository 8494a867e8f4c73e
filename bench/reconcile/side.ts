/** Sides of the reconcile benchmark: upstream's Trainer and Milepost, each alone on a fresh control plane. */
import { type AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import {
  type ControlPlane,
  startControlPlane,
} from "../../tests/cluster/control_plane/control_plane.ts";
import { moduleFolder } from "../../tests/cluster/control_plane/programs.ts";
import { install as installObjects } from "../../tests/cluster/parity/answers.ts";
import { readManifests } from "../../tests/cluster/parity/loopback_webhooks.ts";
import { installPodGroupCrds } from "../../tests/cluster/parity/pod_group_crds.ts";
import { startUpstreamTrainer } from "../../tests/cluster/parity/upstream_trainer.ts";
import { install } from "../../tests/cluster/support/installation.ts";
import { shellRuntime } from "../../tests/support/standalone.ts";

/** A manager under measurement. */
export interface Side {
  readonly plane: ControlPlane;
  /** Whom the API server takes it for. */
  readonly user: string;
  /** Its process now. */
  pid(): number;
  /** Ends it and starts it again. Returns after how many milliseconds it was ready. */
  restart(): Promise<number>;
  stop(): Promise<void>;
}

/** Who can be measured. */
export type SideName = "upstream" | "milepost";

/** The bench's own requests, which are many, are not written to the audit log. */
const AUDIT = [{ level: "None", users: ["admin"] }, {
  level: "Metadata",
  verbs: [
    "get",
    "list",
    "create",
    "update",
    "patch",
    "delete",
  ],
}];

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function startUpstream(plane: ControlPlane): Promise<Side> {
  const user = "upstream";
  const kubeconfig = await plane.kubeconfigFor(user, { user, groups: ["system:masters"] });
  const daemon = await startUpstreamTrainer({ ...plane, kubeconfig });
  return {
    plane,
    user,
    pid: () => daemon.pid ?? 0,
    async restart() {
      await daemon.stop();
      return await timed(() => daemon.start());
    },
    stop: () => daemon.stop(),
  };
}

async function startMilepost(plane: ControlPlane): Promise<Side> {
  const installation = await install(plane, { jobSetCrd: false });
  const manager = await installation.startManager({
    // As upstream here: without progress and election. No controller executes the JobSets.
    flags: { featureGates: "TrainJobProgress=false", jobset: "external", leaderElect: "false" },
  });
  return {
    plane,
    user: `system:serviceaccount:${MANAGER.namespace}:${MANAGER.name}`,
    pid: () => manager.pid ?? 0,
    async restart() {
      await manager.kill();
      return await timed(() => manager.restart());
    },
    stop: () => manager.kill(),
  };
}

/** The name of the runtime that is installed. */
export const RUNTIME = "bench";

/**
 * Runs `work` with one of the two on a control plane of its own, which is gone afterwards. With `gang` the runtime
 * asks for pod groups of coscheduling.
 */
export async function withSide<T>(
  name: SideName,
  work: (side: Side) => Promise<T>,
  { gang = false } = {},
): Promise<T> {
  const plane = await startControlPlane({
    audit: AUDIT,
    scheduler: false,
    controllerManager: false,
  });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => plane.stop());
  const jobSet = await moduleFolder("trainer", "sigs.k8s.io/jobset");
  const crd = `${jobSet}/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml`;
  await installObjects(plane.client, await readManifests(crd));
  await installPodGroupCrds(plane);
  const side = name === "upstream" ? await startUpstream(plane) : await startMilepost(plane);
  cleanup.defer(() => side.stop());
  const runtime: AnyTrainingRuntime = shellRuntime(RUNTIME, "true");
  if (gang && runtime.spec) runtime.spec.podGroupPolicy = { coscheduling: {} };
  await plane.client.create(KINDS.clusterTrainingRuntime, runtime);
  return await work(side);
}
