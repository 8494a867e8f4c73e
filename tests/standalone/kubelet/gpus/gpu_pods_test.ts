/** Tests of pods that ask for GPUs, with scheduler and kubelet. */
import assert from "node:assert/strict";
import type { Container } from "../../../../platform/kube/kubernetes.ts";
import { KINDS } from "../../../../crds/kinds.ts";
import type { Gpu } from "../../../../standalone/kubelet/gpus/visible_gpus.ts";
import { NODE, pod, type Rig, shell, withKubelet } from "../rig.ts";

const gpus: readonly Gpu[] = ["GPU-aa", "GPU-bb"].map((uuid) => ({
  uuid,
  name: "G",
  memory: "1 MiB",
  isDivided: false,
}));

/** A container that prints what it sees, and ends when the file is there. */
const watcher = (count: number, gate = "/dev/null", name = "main"): Container =>
  shell(`echo "sees [$CUDA_VISIBLE_DEVICES]"; until [ -e ${gate} ]; do sleep 0.05; done`, {
    name,
    ...count > 0 ? { resources: { limits: { "nvidia.com/gpu": String(count) } } } : {},
  });
const unbound = (name: string, ...containers: Container[]) =>
  pod(name, containers, { nodeName: undefined });
const seenBy = async (rig: Rig, name: string) => /sees \[(.*)\]/.exec(await rig.logs(name))?.[1];
const isWaiting = (rig: Rig, name: string) =>
  rig.wait(
    name,
    "waits for a GPU",
    ({ status }) =>
      status?.conditions?.some(({ message }) =>
        message === "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
      ) ?? false,
  );

Deno.test("pods have a GPU each, none is shared, and one that waits starts when one is free", async () => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  const open = (gate: string) => Deno.writeTextFile(`${folder}/${gate}`, "");
  try {
    await withKubelet(async (rig) => {
      for (const name of ["a", "b", "c"]) {
        rig.create(unbound(name, watcher(1, `${folder}/${name}`)));
        if (name !== "c") await rig.phase(name, "Running");
      }
      rig.create(unbound("none", watcher(0)));
      rig.create(unbound("many", watcher(3)));
      await Promise.all([
        isWaiting(rig, "c"),
        isWaiting(rig, "many"),
        rig.phase("none", "Succeeded"),
      ]);
      assert.equal(await seenBy(rig, "none"), "");
      // One of each, though later rounds find the same.
      const failures = rig.events.filter(({ reason }) => reason === "FailedScheduling");
      const message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
      assert.deepEqual(failures.map((it) => it.message), [message, message]);
      await open("b");
      await rig.phase("c", "Running");
      await open("a");
      await open("c");
      for (const name of ["a", "b", "c"]) await rig.phase(name, "Succeeded");
      const seen = await Promise.all(["a", "b", "c"].map((name) => seenBy(rig, name)));
      assert.deepEqual(seen, ["GPU-aa", "GPU-bb", "GPU-bb"]);
      assert.equal(rig.read("many")?.status?.phase ?? "Pending", "Pending");
      const node = KINDS.node.parse(rig.server.read(KINDS.node, { name: NODE }));
      assert.equal(node.status?.capacity?.["nvidia.com/gpu"], "2");
      assert.equal(node.status?.allocatable?.["nvidia.com/gpu"], "2");
    }, { gpus, schedule: true });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a pod that was bound past the scheduler waits for the processes of the one before", () =>
  withKubelet(async (rig) => {
    rig.create(pod("first", [watcher(2, "/nowhere")]));
    await rig.phase("first", "Running");
    rig.create(pod("second", [watcher(1)]));
    await rig.wait(
      "second",
      "waits",
      ({ status }) =>
        status?.containerStatuses?.[0]?.state?.waiting?.message ===
          "waiting for GPUs that other pods have",
    );
    rig.server.remove(KINDS.pod, { namespace: "ns", name: "first" });
    await rig.phase("second", "Succeeded");
    assert.equal(await seenBy(rig, "second"), "GPU-aa");
  }, { gpus }));

Deno.test("without NVIDIA's driver CUDA_VISIBLE_DEVICES is the container's own", () =>
  withKubelet(async (rig) => {
    rig.create(
      pod("own", [{ ...watcher(0), env: [{ name: "CUDA_VISIBLE_DEVICES", value: "7" }] }]),
    );
    await rig.phase("own", "Succeeded");
    assert.equal(await seenBy(rig, "own"), "7");
  }));

Deno.test("a node that has lost its GPUs says 0", async () => {
  let server: Rig["server"] | undefined;
  await withKubelet((rig) => Promise.resolve(void (server = rig.server)), { gpus });
  await withKubelet((rig) => {
    const node = KINDS.node.parse(rig.server.read(KINDS.node, { name: NODE }));
    assert.equal(node.status?.capacity?.["nvidia.com/gpu"], "0");
    return Promise.resolve();
  }, { server, gpus: [] });
});
