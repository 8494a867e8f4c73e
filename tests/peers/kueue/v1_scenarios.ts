/** Scenes with Kueue about v1 jobs: it admits, evicts, readmits and finishes them by `runPolicy.suspend`. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { isConditionTrue } from "../../../platform/kube/conditions.ts";
import { patiently } from "../support/patient.ts";
import { KUEUE_LABELS, POD_CPU, teams } from "./objects.ts";
import type { KueueWorld } from "./world.ts";
import { kubectl } from "../../cluster/support/installation.ts";

const keyOf = (name: string) => ({ namespace: "default", name });

/** What a scene says of a v1 job. */
interface V1Text {
  readonly queue?: string;
  readonly priority?: "low" | "high";
}

/** Creates a job as its user writes it: without a word about suspension. */
async function create(
  { plane: { client } }: KueueWorld,
  kind: V1KindName,
  name: string,
  types: Readonly<Record<string, number>>,
  { queue, priority }: V1Text = {},
) {
  const { container, specsKey } = V1_KINDS[kind];
  const resources = { requests: { cpu: POD_CPU } };
  const containers = [{ name: container, image: "none", command: ["sleep", "600"], resources }];
  const specs = Object.entries(types).map(([type, replicas]) => [type, {
    replicas,
    template: { spec: { containers } },
  }]);
  const labels = {
    ...(queue !== undefined && { [KUEUE_LABELS.queue]: queue }),
    ...(priority !== undefined && { [KUEUE_LABELS.priority]: priority }),
  };
  return await client.create(
    V1_RESOURCES[kind],
    V1_RESOURCES[kind].parse({
      apiVersion: "kubeflow.org/v1",
      kind,
      metadata: { ...keyOf(name), labels },
      spec: { [specsKey]: Object.fromEntries(specs), runPolicy: { cleanPodPolicy: "None" } },
    }),
  );
}

const read = ({ plane: { client } }: KueueWorld, kind: V1KindName, name: string) =>
  client.get(V1_RESOURCES[kind], keyOf(name));

/** Waits until a condition of the job is True. */
function jobIs(world: KueueWorld, kind: V1KindName, name: string, type: string) {
  return patiently(`${kind} ${name} is ${type}`, async () => {
    const job = await read(world, kind, name);
    return isConditionTrue(job.status?.conditions, type) && job;
  });
}

async function podsOf({ plane: { client } }: KueueWorld, name: string) {
  const labelSelector = `${V1_LABELS.jobName}=${name}`;
  const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
  return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

async function podsRunOn(world: KueueWorld, name: string, pool: string, count: number) {
  await patiently(`${count} pods of ${name} on nodes of ${pool}`, async () => {
    const pods = await podsOf(world, name);
    return pods.length === count && pods.every(({ spec }) => spec?.nodeName?.startsWith(pool));
  });
}

/** Deletes a job, and waits until its Workload is gone. */
export async function remove(world: KueueWorld, kind: V1KindName, name: string): Promise<void> {
  await world.plane.client.delete(V1_RESOURCES[kind], keyOf(name), {
    propagationPolicy: "Background",
  });
  await patiently(
    `Workload of ${name} is gone`,
    async () => await world.workload(name) === undefined,
  );
  world.player.keep(name);
}

/** Created suspended by Kueue, admitted with its flavor, ready and finished, for two kinds. */
export async function v1Admitted(world: KueueWorld): Promise<void> {
  const scenes = [
    ["PyTorchJob", "torched", { Master: 1, Worker: 1 }, "master"],
    ["TFJob", "flowing", { PS: 1, Worker: 1 }, "worker"],
  ] as const;
  for (const [kind, name, types, decisive] of scenes) {
    const created = await create(world, kind, name, types, { queue: "team" });
    assert.equal(created.spec.runPolicy?.suspend, true, "Kueue holds it back");
    await world.workloadIs(name, "Admitted");
    await podsRunOn(world, name, "spot", 2);
    for (const { spec } of await podsOf(world, name)) {
      assert.equal(spec?.nodeSelector?.["pool"], "spot");
    }
    await jobIs(world, kind, name, "Running");
    await world.reserved("spot", "200m");
    world.player.end(name, decisive);
    await jobIs(world, kind, name, "Succeeded");
    const finished = await world.workloadIs(name, "Finished");
    const end = finished.status.conditions?.find(({ type }) => type === "Finished");
    assert.equal(end?.reason, "Succeeded");
    await remove(world, kind, name);
  }
}

/** Without a queue a job runs at once. */
export async function v1WithoutQueue(world: KueueWorld): Promise<void> {
  await create(world, "PyTorchJob", "unqueued", { Worker: 1 });
  await jobIs(world, "PyTorchJob", "unqueued", "Running");
  assert.equal(await world.workload("unqueued"), undefined);
  await remove(world, "PyTorchJob", "unqueued");
}

/** A low priority is evicted by a high one, its pods go, and it is readmitted with another flavor. */
export async function v1Preempted(world: KueueWorld): Promise<void> {
  const { plane } = world;
  const four = { Master: 1, Worker: 3 };
  await create(world, "PyTorchJob", "humble", four, { queue: "team", priority: "low" });
  await podsRunOn(world, "humble", "spot", 4);
  await create(world, "PyTorchJob", "proud", four, { queue: "team", priority: "high" });
  await world.workloadIs("humble", "Evicted");
  await patiently("no pod of the evicted job is left", async () => {
    const { spec } = await read(world, "PyTorchJob", "humble");
    return spec.runPolicy?.suspend === true && (await podsOf(world, "humble")).length === 0;
  });
  await jobIs(world, "PyTorchJob", "humble", "Suspended");
  await podsRunOn(world, "proud", "spot", 4);
  const apply = ["apply", "--server-side", "--force-conflicts", "--validate=false", "-f", "-"];
  await kubectl(plane, apply, JSON.stringify(teams("400m")));
  await podsRunOn(world, "humble", "demand", 4);
  await jobIs(world, "PyTorchJob", "humble", "Running");
  await kubectl(plane, apply, JSON.stringify(teams("0")));
  for (const name of ["proud", "humble"]) {
    world.player.end(name, "master");
    await world.workloadIs(name, "Finished");
    await remove(world, "PyTorchJob", name);
  }
}
