/** Tests of the pure decisions about GPUs: which are visible, how many a pod needs, who has which. */
import assert from "node:assert/strict";
import type { Container, PodSpec } from "../../../../platform/kube/kubernetes.ts";
import {
  deviceShares,
  extendedRequests,
} from "../../../../standalone/kubelet/gpus/device_requests.ts";
import { createGpuPool } from "../../../../standalone/kubelet/gpus/gpu_pool.ts";
import { type Gpu, visibleGpus } from "../../../../standalone/kubelet/gpus/visible_gpus.ts";

const gpu = (uuid: string): Gpu => ({ uuid, name: "G", memory: "1 MiB", isDivided: false });
const A = gpu("GPU-aa11");
const B = gpu("GPU-ab22");
const C = gpu("GPU-cc33");

const SETTINGS: Record<string, [setting: string | undefined, want: Gpu[]]> = {
  "all without a setting": [undefined, [A, B, C]],
  "indices, in their order": ["2,0", [C, A]],
  "UUIDs": ["GPU-ab22,GPU-aa11", [B, A]],
  "the beginning of one UUID": ["GPU-c", [C]],
  "none for the beginning of two": ["GPU-a", []],
  "none when empty": ["", []],
  "none for -1": ["-1", []],
  "none for NoDevFiles": ["NoDevFiles", []],
  "those before the first unknown": ["1,7,0", [B]],
  "those before -1": ["0,-1,1", [A]],
  "none when one is named twice": ["0,GPU-aa11", []],
  "none for a MIG device": ["MIG-GPU-aa11/1/0", []],
};
for (const [sentence, [setting, want]] of Object.entries(SETTINGS)) {
  Deno.test(`\`visibleGpus()\` selects ${sentence}`, () => {
    assert.deepEqual(visibleGpus(setting, [A, B, C]), want);
  });
}
Deno.test("`visibleGpus()` counts indices over a GPU that does not respond", () => {
  assert.deepEqual(visibleGpus("2,1", [A, undefined, C]), [C]);
  assert.deepEqual(visibleGpus(undefined, [A, undefined, C]), [A, C]);
});

const NAME = "nvidia.com/gpu";
const asks = (name: string, count: number | string, more: Partial<Container> = {}): Container => ({
  name,
  command: ["x"],
  resources: { limits: { [NAME]: String(count) } },
  ...more,
});
const sidecar = { restartPolicy: "Always" };
const SHARES: Record<string, [PodSpec, number, Record<string, [number, number]>]> = {
  "nothing of a pod that asks for none": [{ containers: [{ name: "a" }] }, 0, { a: [0, 0] }],
  "limits": [{ containers: [asks("a", 2)] }, 2, { a: [0, 2] }],
  "requests": [
    { containers: [{ name: "a", resources: { requests: { [NAME]: "1" } } }] },
    1,
    { a: [0, 1] },
  ],
  "containers apart": [
    { containers: [asks("a", 1), { name: "b" }, asks("c", 2)] },
    3,
    { a: [0, 1], b: [1, 1], c: [1, 3] },
  ],
  "an init container's again for the main one": [
    { initContainers: [asks("i", 2)], containers: [asks("a", 1)] },
    2,
    { i: [0, 2], a: [0, 1] },
  ],
  "a sidecar's beside all that follow": [
    { initContainers: [asks("s", 1, sidecar), asks("i", 3)], containers: [asks("a", 1)] },
    4,
    { s: [0, 1], i: [1, 4], a: [1, 2] },
  ],
};
for (const [sentence, [spec, total, ranges]] of Object.entries(SHARES)) {
  Deno.test(`\`deviceShares()\` counts ${sentence}`, () => {
    const shares = deviceShares(spec, NAME);
    assert.equal(shares.total, total);
    assert.deepEqual(Object.fromEntries(shares.ranges), ranges);
  });
}
Deno.test("`extendedRequests()` has the resources with a slash, and none of which 0 is asked", () => {
  const resources = { requests: { cpu: "8", "a.com/x": "2k" }, limits: { "b.com/y": "0" } };
  const found = extendedRequests({ containers: [{ name: "a", resources }, asks("b", 1)] });
  assert.deepEqual([...found], [["a.com/x", 2000], [NAME, 1]]);
});

const podOf = (uid: string, ...containers: Container[]) => ({
  metadata: { uid },
  spec: { containers },
});

Deno.test("a GPU pool gives a GPU to one pod at a time, and to a pod always the same", () => {
  const pool = createGpuPool([A, B]);
  const [one, two, three] = [1, 2, 3].map((n) => podOf(`${n}`, asks("main", 1)));
  assert.ok(one && two && three);
  const seen = (restrict: ReturnType<typeof pool.take>, env = {}) =>
    restrict?.("main", { PATH: "/bin", ...env }).CUDA_VISIBLE_DEVICES;
  assert.equal(seen(pool.take(one)), A.uuid);
  assert.equal(seen(pool.take(two)), B.uuid);
  assert.equal(pool.take(three), undefined);
  assert.equal(seen(pool.take(one)), A.uuid);
  pool.release(one);
  pool.release(one);
  assert.equal(seen(pool.take(three)), A.uuid);
  assert.equal(pool.take(one), undefined);
});

Deno.test("a container sees its own GPUs alone, whatever it sets itself", () => {
  const pool = createGpuPool([A, B, C]);
  const restrict = pool.take(podOf("p", asks("a", 1), asks("b", 2), { name: "none" }));
  assert.ok(restrict);
  const seen = (container: string, setting?: string) =>
    restrict(container, setting === undefined ? {} : { CUDA_VISIBLE_DEVICES: setting })
      .CUDA_VISIBLE_DEVICES;
  assert.equal(seen("a"), A.uuid);
  assert.equal(seen("b"), `${B.uuid},${C.uuid}`);
  assert.equal(seen("b", "1"), C.uuid);
  assert.equal(seen("b", A.uuid), "");
  assert.equal(seen("none"), "");
  assert.equal(seen("none", "0"), "");
});
