/** A gang scheduler and Milepost on one control plane, and what the tests read of them. */
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { getOrUndefined } from "../../../platform/kube/upsert.ts";
import { type Cluster, withCluster } from "../../cluster/support/installation.ts";
import type { Daemon } from "../../cluster/control_plane/daemon.ts";
import type { GangScheduler } from "../support/gang_scheduler.ts";
import { patiently } from "../support/patient.ts";
import type { Peer } from "../support/peer.ts";
import { createNode, type Player, playPods } from "../support/played_nodes.ts";
import { gangOf, type RuntimeName, runtimesOf } from "./objects.ts";

const groupSchema = z.looseObject({
  spec: z.looseObject({ minMember: z.number() }),
  status: z.looseObject({
    phase: z.string().optional(),
    conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
  }).default({ conditions: [] }),
});

/** What the tests read of a pod group of either scheduler. */
export type PodGroup = z.infer<typeof groupSchema>;

/** The scheduler and Milepost, while they run. */
export interface GangWorld extends Cluster {
  readonly scheduler: GangScheduler;
  readonly player: Player;
  /** The scheduler's programs, once they run. */
  readonly daemons: readonly Daemon[];
  startScheduler(): Promise<void>;
  create(name: string, runtime?: RuntimeName): Promise<void>;
  trainJob(name: string): Promise<TrainJob>;
  /** The group of a TrainJob; undefined if there is none. */
  group(name: string): Promise<PodGroup | undefined>;
  /** The pods of a TrainJob that are not being deleted; of one of its replicated jobs if `job` is given. */
  pods(name: string, job?: string): Promise<Pod[]>;
  /** Waits until so many pods exist and all of them run. */
  run(name: string, count: number, job?: string): Promise<void>;
  /** Waits until so many pods exist and the scheduler has found no room for them; none of them is bound. */
  wait(name: string, count: number, job?: string): Promise<void>;
  hasMembers(name: string, minMember: number): Promise<void>;
  /** Lets the nodes end and waits for the end of the TrainJob. */
  finish(name: string): Promise<void>;
  /** Deletes the TrainJob and waits until its group and its pods are gone. */
  remove(name: string): Promise<void>;
}

const hasCondition = (
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
  status: string,
) => conditions?.some((one) => one.type === type && one.status === status) ?? false;

function createWorld(
  cluster: Cluster,
  { scheduler, peer, player }: {
    readonly scheduler: GangScheduler;
    readonly peer: Peer;
    readonly player: Player;
  },
): GangWorld {
  const { plane } = cluster;
  const { client } = plane;
  const key = (name: string) => ({ namespace: "default", name });
  const trainJob = (name: string) => client.get(KINDS.trainJob, key(name));

  async function group(name: string): Promise<PodGroup | undefined> {
    const found = await getOrUndefined(client, scheduler.podGroup, key(name));
    return found && groupSchema.parse(found);
  }

  async function pods(name: string, job?: string): Promise<Pod[]> {
    const { items } = await client.list(KINDS.pod, {
      namespace: "default",
      labelSelector: `${JOBSET_KEYS.jobSetName}=${name}`,
    });
    return items.filter(({ metadata }) =>
      metadata?.deletionTimestamp === undefined &&
      (job === undefined || metadata?.labels?.[JOBSET_KEYS.replicatedJobName] === job)
    );
  }

  /** Reports whether the scheduler has looked at the pods of a group and left them. */
  async function isRefused(name: string, all: readonly Pod[]): Promise<boolean> {
    if (all.every(({ status }) => hasCondition(status?.conditions, "PodScheduled", "False"))) {
      return true;
    }
    // Volcano says nothing of the pods of a group that it does not admit to its queue.
    return hasCondition((await group(name))?.status.conditions, "Unschedulable", "True");
  }

  const world: GangWorld = {
    ...cluster,
    scheduler,
    player,
    daemons: [],
    trainJob,
    group,
    pods,
    async startScheduler() {
      Object.assign(world, { daemons: await scheduler.start(plane, peer) });
    },
    async create(name, runtime = "nodes") {
      await client.create(KINDS.trainJob, gangOf(name, runtime));
    },
    async run(name, count, job) {
      await patiently(`${count} pods of ${name} run`, async () => {
        const all = await pods(name, job);
        return all.length === count && all.every(({ status }) => status?.phase === "Running");
      });
    },
    async wait(name, count, job) {
      await patiently(`${count} pods of ${name} find no room`, async () => {
        const all = await pods(name, job);
        const bound = all.filter(({ spec }) => spec?.nodeName !== undefined).length;
        if (bound > 0) throw new Error(`${bound} of ${all.length} are bound`);
        return all.length === count && await isRefused(name, all);
      });
    },
    async hasMembers(name, minMember) {
      await patiently(
        `the group of ${name} has ${minMember} members`,
        async () => (await group(name))?.spec.minMember === minMember,
      );
    },
    async finish(name) {
      player.end(name, "node");
      player.end(name, "launcher");
      await patiently(`TrainJob ${name} is complete`, async () => {
        const { status } = await trainJob(name);
        return hasCondition(status?.conditions, "Complete", "True");
      });
    },
    async remove(name) {
      await client.delete(KINDS.trainJob, key(name), { propagationPolicy: "Background" });
      await patiently(
        `the group and the pods of ${name} are gone`,
        async () => await group(name) === undefined && (await pods(name)).length === 0,
      );
    },
  };
  return world;
}

/** Nodes without kubelets renew no leases: they must not become NotReady for that. */
export const PLAYED = ["--controllers=*,-nodelifecycle"];

/** Runs `work` with a control plane, Milepost, runtimes and nodes; it starts the scheduler. */
export async function withGangScheduler(
  scheduler: GangScheduler,
  peer: Peer,
  work: (world: GangWorld) => Promise<void>,
): Promise<void> {
  await withCluster(async (cluster) => {
    const { client } = cluster.plane;
    for (const runtime of runtimesOf(scheduler)) {
      await client.create(KINDS.clusterTrainingRuntime, runtime);
    }
    for (const name of ["one", "two"]) await createNode(client, name, {});
    const player = playPods(client);
    const world = createWorld(cluster, { scheduler, peer, player });
    try {
      await work(world);
    } finally {
      await player.stop();
      for (const daemon of world.daemons) await daemon.stop();
    }
  }, { node: false, plane: { flags: { controllerManager: PLAYED } } });
}
