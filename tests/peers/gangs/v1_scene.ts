/** The scene of a v1 job with a gang scheduler: a PyTorchJob of three pods waits whole, and is then bound as a whole. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { v1CrdManifests } from "../../../crds/v1/manifests.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { type Daemon, endOfLog } from "../../cluster/control_plane/daemon.ts";
import {
  apply,
  type Cluster,
  crdsServed,
  withCluster,
} from "../../cluster/support/installation.ts";
import type { GangScheduler } from "../support/gang_scheduler.ts";
import { patiently } from "../support/patient.ts";
import { findPeer, type Peer, testWithPeer } from "../support/peer.ts";
import { createNode } from "../support/played_nodes.ts";
import { PLAYED } from "./world.ts";

const groupSchema = z.looseObject({
  spec: z.looseObject({ minMember: z.number() }),
  status: z.looseObject({
    conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
  }).default({ conditions: [] }),
});

const key = (name: string) => ({ namespace: "default", name });

/** A master and two workers, of which the two nodes have room for four pods. */
async function create({ plane: { client } }: Cluster, name: string): Promise<void> {
  const container = { name: "pytorch", image: "none", resources: { requests: { cpu: "4" } } };
  const template = { spec: { containers: [container] } };
  const resource = V1_RESOURCES.PyTorchJob;
  await client.create(
    resource,
    resource.parse({
      apiVersion: "kubeflow.org/v1",
      kind: "PyTorchJob",
      metadata: key(name),
      spec: { pytorchReplicaSpecs: { Master: { template }, Worker: { replicas: 2, template } } },
    }),
  );
}

/** The pods of a job, and which of them have nodes. */
async function podsOf({ plane: { client } }: Cluster, name: string) {
  const labelSelector = `${V1_LABELS.jobName}=${name}`;
  const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
  return { items, bound: items.filter(({ spec }) => spec?.nodeName !== undefined).length };
}

/** Waits until the job's three pods are bound. */
async function isBound(cluster: Cluster, { schedulerName }: GangScheduler, name: string) {
  await patiently(`three pods of ${name} are bound`, async () => {
    const { items, bound } = await podsOf(cluster, name);
    assert.ok(items.every(({ spec }) => spec?.schedulerName === schedulerName));
    return bound === 3;
  });
}

/** Waits until the scheduler has looked at the job and left it; no pod of it may be bound till then. */
async function waitsWhole(cluster: Cluster, scheduler: GangScheduler, name: string) {
  await patiently(`the scheduler leaves ${name}`, async () => {
    const { items, bound } = await podsOf(cluster, name);
    assert.equal(bound, 0, `${bound} pods of ${name} are bound`);
    const told = items.filter(({ status }) =>
      status?.conditions?.some((one) => one.type === "PodScheduled" && one.status === "False")
    );
    if (told.length === 3) return true;
    // Until Volcano admits a group to its queue, it has no pods, and only the group tells that.
    const group = await cluster.plane.client.get(scheduler.podGroup, key(name));
    return groupSchema.parse(group).status.conditions
      .some((one) => one.type === "Unschedulable" && one.status === "True");
  });
}

async function play(cluster: Cluster, scheduler: GangScheduler): Promise<void> {
  const { client } = cluster.plane;
  await create(cluster, "first");
  await isBound(cluster, scheduler, "first");
  const group = groupSchema.parse(await client.get(scheduler.podGroup, key("first")));
  assert.equal(group.spec.minMember, 3);
  await create(cluster, "second");
  await waitsWhole(cluster, scheduler, "second");
  await client.delete(V1_RESOURCES.PyTorchJob, key("first"), { propagationPolicy: "Background" });
  // Bound pods wait for a kubelet to end them, and there is none.
  for (const { metadata: { name = "" } = {} } of (await podsOf(cluster, "first")).items) {
    await client.delete(KINDS.pod, key(name), { gracePeriodSeconds: 0 });
  }
  await isBound(cluster, scheduler, "second");
}

async function withScheduler(scheduler: GangScheduler, peer: Peer): Promise<void> {
  const daemons: Daemon[] = [];
  await withCluster(async (cluster) => {
    const { client } = cluster.plane;
    for (const name of ["one", "two"]) await createNode(client, name, {});
    try {
      await play(cluster, scheduler);
    } catch (cause) {
      const ends = await Promise.all(daemons.map(({ logFile }) => endOfLog(logFile, 30)));
      throw new Error(`the scheduler's logs end with:\n${ends.join("\n\n")}`, { cause });
    } finally {
      for (const daemon of daemons) await daemon.stop();
    }
  }, {
    node: false,
    flags: { gangSchedulerName: scheduler.schedulerName },
    plane: {
      flags: { controllerManager: PLAYED },
      async beforeControllers(plane) {
        await apply(plane, v1CrdManifests());
        await crdsServed(plane, []);
      },
    },
    async beforeManager({ plane }) {
      daemons.push(...await scheduler.start(plane, peer));
    },
  });
}

/** Registers the test of a scheduler: it is skipped, and says why, if the scheduler cannot be had. */
export async function testV1Gang(scheduler: GangScheduler): Promise<void> {
  const found = await findPeer(scheduler.peer);
  testWithPeer(
    found,
    `${scheduler.peer.goModule} ${found.version} schedules a PyTorchJob as a gang`,
    (peer) => withScheduler(scheduler, peer),
  );
}
