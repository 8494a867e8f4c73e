/** Kueue and Milepost on one control plane, and what the tests read of them. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_KIND_LIST, v1CrdName } from "../../../crds/v1/kinds.ts";
import { v1CrdManifests } from "../../../crds/v1/manifests.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { isNotFound } from "../../../platform/kube/errors.ts";
import {
  apply,
  type Cluster,
  crdsServed,
  kubectl,
  withCluster,
} from "../../cluster/support/installation.ts";
import { patiently } from "../support/patient.ts";
import type { Daemon } from "../../cluster/control_plane/daemon.ts";
import { startKueue } from "../support/kueue.ts";
import type { Peer } from "../support/peer.ts";
import { createNode, type Player, playPods } from "../support/played_nodes.ts";
import {
  CLUSTER_QUEUES,
  plainRuntime,
  type Queue,
  QUEUES,
  stagedRuntime,
  trainJobOf,
  type TrainJobText,
} from "./objects.ts";

const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const workloadSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    ownerReferences: z.array(z.looseObject({ kind: z.string(), name: z.string() })).optional(),
  }),
  spec: z.looseObject({ active: z.boolean().optional() }),
  status: z.looseObject({
    conditions: z.array(conditionSchema).optional(),
    reclaimablePods: z.array(z.looseObject({ name: z.string(), count: z.number() })).optional(),
  }).default({}),
});
const workloadsSchema = z.looseObject({ items: z.array(workloadSchema) });

/** What the tests read of a Workload. */
export type Workload = z.infer<typeof workloadSchema>;

const usageSchema = z.array(z.looseObject({
  name: z.string(),
  resources: z.array(z.looseObject({ name: z.string(), total: z.union([z.string(), z.number()]) })),
}));
const queueSchema = z.looseObject({
  status: z.looseObject({
    reservingWorkloads: z.number().default(0),
    admittedWorkloads: z.number().default(0),
    flavorsReservation: usageSchema.default([]),
    flavorsUsage: usageSchema.default([]),
  }).default({
    reservingWorkloads: 0,
    admittedWorkloads: 0,
    flavorsReservation: [],
    flavorsUsage: [],
  }),
});

/** Kueue and Milepost, while they run. */
export interface KueueWorld extends Cluster {
  readonly kueue: Daemon;
  readonly player: Player;
  create(name: string, text?: TrainJobText): Promise<TrainJob>;
  trainJob(name: string): Promise<TrainJob>;
  /** Waits until a TrainJob is as wanted, and returns it. */
  trainJobThat(name: string, what: string, is: (job: TrainJob) => boolean): Promise<TrainJob>;
  workload(trainJob: string): Promise<Workload | undefined>;
  /** Waits until the Workload of a TrainJob has a condition with this status. */
  workloadIs(trainJob: string, type: string, status?: "True" | "False"): Promise<Workload>;
  /** Waits until nothing of a queue's quota is in use. */
  quotaIsFree(queue?: Queue): Promise<void>;
  /** Waits until so much processor time of a flavor is reserved, as Kueue writes it. */
  reserved(flavor: string, cpu: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Whether a condition of a Workload has this status. */
export function hasCondition(workload: Workload | undefined, type: string, status = "True") {
  return workload?.status.conditions?.some((one) => one.type === type && one.status === status) ??
    false;
}

/** Writes of Kueue and creations by users are audited with their contents. */
const AUDIT = [
  {
    level: "Request",
    verbs: ["create", "update", "patch"],
    resources: [{ group: "trainer.kubeflow.org", resources: ["trainjobs"] }],
    omitStages: ["RequestReceived"],
  },
  { level: "None" },
];

async function readQueue({ plane }: Cluster, queue: Queue) {
  const name = CLUSTER_QUEUES[queue];
  return queueSchema.parse(
    JSON.parse(await kubectl(plane, ["get", "clusterqueue", name, "-o", "json"])),
  ).status;
}

/** The kinds whose jobs have Workloads. */
const OWNERS: readonly string[] = ["TrainJob", "PyTorchJob", "TFJob"];

function createWorld(cluster: Cluster, kueue: Daemon, player: Player): KueueWorld {
  const { client } = cluster.plane;
  const key = (name: string) => ({ namespace: "default", name });
  const trainJob = (name: string) => client.get(KINDS.trainJob, key(name));
  /** Of a TrainJob, or of a v1 job; no two of a test have one name. */
  async function workload(name: string) {
    const path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
    const { items } = workloadsSchema.parse(JSON.parse((await client.read(path)).text));
    return items.find(({ metadata }) =>
      metadata.ownerReferences?.some((owner) => OWNERS.includes(owner.kind) && owner.name === name)
    );
  }
  return {
    ...cluster,
    kueue,
    player,
    trainJob,
    workload,
    create: (name, text = {}) => client.create(KINDS.trainJob, trainJobOf(name, text)),
    trainJobThat: (name, what, is) =>
      patiently(`TrainJob ${name} ${what}`, async () => {
        const job = await trainJob(name);
        return is(job) && job;
      }),
    workloadIs: (name, type, status = "True") =>
      patiently(`Workload of ${name}: ${type} ${status}`, async () => {
        const one = await workload(name);
        return hasCondition(one, type, status) && one;
      }),
    async quotaIsFree(queue = "team") {
      const wanted = { reserving: 0, admitted: 0, totals: [] };
      let seen: unknown;
      await patiently(`no quota of ${queue} is in use`, async () => {
        const status = await readQueue(cluster, queue);
        const totals = [...status.flavorsReservation, ...status.flavorsUsage]
          .flatMap(({ resources }) => resources).filter(({ total }) => String(total) !== "0");
        const { reservingWorkloads: reserving, admittedWorkloads: admitted } = status;
        seen = { reserving, admitted, totals };
        return totals.length + reserving + admitted === 0;
      });
      assert.deepEqual(seen, wanted);
    },
    async reserved(flavor, cpu) {
      await patiently(`${cpu} of flavor ${flavor} are reserved`, async () => {
        const { flavorsReservation } = await readQueue(cluster, "team");
        const found = flavorsReservation.find(({ name }) => name === flavor);
        return String(found?.resources[0]?.total) === cpu;
      });
    },
    async remove(name) {
      try {
        await client.delete(KINDS.trainJob, key(name), { propagationPolicy: "Background" });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      await patiently(
        `Workload of ${name} is gone`,
        async () => await workload(name) === undefined,
      );
      player.keep(name);
    },
  };
}

/** Nodes without kubelets renew no leases: they must not become NotReady for that. */
const PLAYED = ["--controllers=*,-nodelifecycle"];

/** Runs `work` with a control plane, Milepost, Kueue, its queues, runtimes and nodes. */
export async function withKueue(
  peer: Peer,
  work: (world: KueueWorld) => Promise<void>,
): Promise<void> {
  await withCluster(async (cluster) => {
    const { plane } = cluster;
    const kueue = await startKueue(plane, peer);
    try {
      for (const object of QUEUES) {
        const args = ["apply", "--server-side", "--validate=false", "-f", "-"];
        // The webhooks answer some moments after they are registered.
        await patiently("Kueue's webhooks answer", async () => {
          await kubectl(plane, args, JSON.stringify(object));
          return true;
        });
      }
      for (const runtime of [plainRuntime("plain"), stagedRuntime("staged")]) {
        await plane.client.create(KINDS.clusterTrainingRuntime, runtime);
      }
      for (const pool of ["spot", "demand", "racks"]) {
        for (const index of [0, 1]) {
          await createNode(plane.client, `${pool}-${index}`, { pool, zone: pool });
        }
      }
      const player = playPods(plane.client);
      try {
        await work(createWorld(cluster, kueue, player));
      } finally {
        await player.stop();
      }
    } finally {
      await kueue.stop();
    }
  }, {
    node: false,
    plane: { audit: AUDIT, flags: { controllerManager: PLAYED } },
    async beforeManager({ plane }) {
      await apply(plane, v1CrdManifests());
      await crdsServed(plane, V1_KIND_LIST.map((kind) => `crd/${v1CrdName(kind)}`));
    },
  });
}
