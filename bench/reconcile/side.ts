/** Sides of the reconcile benchmark: upstream's controllers and Milepost, each alone on a fresh control plane. */
import { type AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { KINDS } from "../../crds/kinds.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
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
import { apply, crdsServed, install } from "../../tests/cluster/support/installation.ts";
import { findPeer, type Peer } from "../../tests/peers/support/peer.ts";
import {
  installOperatorCrds,
  startTrainingOperator,
  TRAINING_OPERATOR,
} from "../../tests/peers/training_operator/operator.ts";
import { shellRuntime } from "../../tests/support/standalone.ts";
import { NAMESPACE, RUNTIME } from "./load.ts";

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

/** Those that are compared. */
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

/** A side from its daemon. */
function sideOf(
  plane: ControlPlane,
  user: string,
  daemon: { readonly pid: number | undefined; start(): Promise<unknown>; stop(): Promise<unknown> },
): Side {
  return {
    plane,
    user,
    pid: () => daemon.pid ?? 0,
    async restart() {
      await daemon.stop();
      return await timed(() => daemon.start());
    },
    async stop() {
      await daemon.stop();
    },
  };
}

const UPSTREAM = { user: "upstream", groups: ["system:masters"] } as const;

/** The control plane with a kubeconfig of upstream's own, by which the audit log tells its requests. */
async function asUpstream(plane: ControlPlane): Promise<ControlPlane> {
  const kubeconfig = await plane.kubeconfigFor(UPSTREAM.user, { ...UPSTREAM });
  return { ...plane, kubeconfig };
}

/** Milepost as upstream is here: without progress and election. No controller executes the JobSets. */
async function startMilepost(plane: ControlPlane): Promise<Side> {
  const installation = await install(plane, { jobSetCrd: false });
  const manager = await installation.startManager({
    flags: { featureGates: "TrainJobProgress=false", jobset: "external", leaderElect: "false" },
  });
  const user = `system:serviceaccount:${MANAGER.namespace}:${MANAGER.name}`;
  return sideOf(plane, user, {
    get pid() {
      return manager.pid;
    },
    start: () => manager.restart(),
    stop: () => manager.kill(),
  });
}

/** Start of a side: what it needs on the control plane, and its program. */
export type SideStart = (plane: ControlPlane) => Promise<Side>;

async function installJobSets(plane: ControlPlane): Promise<void> {
  const jobSet = await moduleFolder("trainer", "sigs.k8s.io/jobset");
  const crd = `${jobSet}/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml`;
  await installObjects(plane.client, await readManifests(crd));
}

/** The sides of TrainJobs. With `gang` the runtime asks for pod groups of coscheduling. */
export function trainJobSides({ gang = false } = {}): Readonly<Record<SideName, SideStart>> {
  const prepared = (start: SideStart): SideStart => async (plane) => {
    await installJobSets(plane);
    await installPodGroupCrds(plane);
    const side = await start(plane);
    const runtime: AnyTrainingRuntime = shellRuntime(RUNTIME, "true");
    if (gang && runtime.spec) runtime.spec.podGroupPolicy = { coscheduling: {} };
    await plane.client.create(KINDS.clusterTrainingRuntime, runtime);
    return side;
  };
  return {
    milepost: prepared(startMilepost),
    upstream: prepared(async (plane) => {
      const daemon = await startUpstreamTrainer(await asUpstream(plane));
      return sideOf(plane, UPSTREAM.user, daemon);
    }),
  };
}

/** More requests a second than an API server has answers for, and more workers than the one of its default. */
const UNLIMITED = [
  "--kube-api-qps=100000",
  "--kube-api-burst=100000",
  "--controller-threads=10",
];

async function operatorOrThrow(): Promise<Peer> {
  const found = await findPeer(TRAINING_OPERATOR);
  if ("peer" in found) return found.peer;
  throw new Error(`there is no Training Operator ${found.version}: ${found.reason}`);
}

/** The sides of PyTorchJobs. */
export const V1_SIDES: Readonly<Record<SideName, SideStart>> = {
  async milepost(plane) {
    await installJobSets(plane);
    await apply(plane, v1CrdManifests());
    await crdsServed(plane, []);
    return await startMilepost(plane);
  },
  async upstream(plane) {
    const operator = await operatorOrThrow();
    await installOperatorCrds(plane, operator);
    const daemon = await startTrainingOperator(await asUpstream(plane), operator, {
      args: UNLIMITED,
    });
    return sideOf(plane, UPSTREAM.user, daemon);
  },
};

/** Runs `work` with a side on a control plane of its own, which is gone afterwards. */
export async function withSide<T>(
  start: SideStart,
  work: (side: Side) => Promise<T>,
): Promise<T> {
  const plane = await startControlPlane({
    audit: AUDIT,
    scheduler: false,
    controllerManager: false,
  });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => plane.stop());
  await apply(plane, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    // The controller that would make it does not run, and no pod is admitted without.
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default", namespace: NAMESPACE },
    },
  ]);
  const side = await start(plane);
  cleanup.defer(() => side.stop());
  return await work(side);
}
