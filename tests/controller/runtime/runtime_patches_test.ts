/** Tests of `controller/runtime/runtime_patches.ts` and of the merge below it. */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { byField, mergeLists, mergeObjects } from "../../../controller/runtime/merge.ts";
import { renderJobSet } from "../../../controller/runtime/render.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import type { Container, PodSpec } from "../../../platform/kube/kubernetes.ts";
import type { PodSpecPatch, RuntimePatch } from "../../../crds/runtime_patch.ts";
import { jobSetOrProblems, nodeJob, replicatedJob, runtime, trainJob } from "../builders.ts";
import { deepFreeze } from "../memory_view.ts";

function patch(spec: PodSpecPatch, manager = "acme.io/x", name = "node"): RuntimePatch {
  const replicatedJobs = [{ name, template: { spec: { template: { spec } } } }];
  return { manager, trainingRuntimeSpec: { template: { spec: { replicatedJobs } } } };
}

function withPod(pod: Partial<PodSpec>, container: Partial<Container> = {}) {
  const node = nodeJob(container);
  const template = node.template.spec?.template;
  if (template?.spec) Object.assign(template.spec, pod);
  return runtime({}, { replicatedJobs: [node] });
}

function render(runtimePatches: RuntimePatch[], from = runtime()): JobSet | string {
  const job = trainJob({ runtimePatches });
  const rendered = renderJobSet(deepFreeze({ trainJob: job, runtime: from, executor: "external" }));
  return jobSetOrProblems(rendered);
}

function podOf(jobSet: JobSet | string): PodSpec | undefined {
  if (typeof jobSet === "string") throw new Error(jobSet);
  return jobSet.spec?.replicatedJobs?.[0]?.template.spec?.template.spec;
}

const SURFACE: Record<
  string,
  { pod: Partial<PodSpec>; patch: PodSpecPatch; want: Partial<PodSpec> }
> = {
  "replaces the service account": {
    pod: { serviceAccountName: "a" },
    patch: { serviceAccountName: "b" },
    want: { serviceAccountName: "b" },
  },
  "replaces the grace period, by 0 too": {
    pod: { terminationGracePeriodSeconds: 30 },
    patch: { terminationGracePeriodSeconds: 0 },
    want: { terminationGracePeriodSeconds: 0 },
  },
  "replaces the whole list of tolerations": {
    pod: { tolerations: [{ key: "a" }] },
    patch: { tolerations: [{ key: "b" }] },
    want: { tolerations: [{ key: "b" }] },
  },
  "leaves tolerations if the patch's list is empty": {
    pod: { tolerations: [{ key: "a" }] },
    patch: { tolerations: [] },
    want: { tolerations: [{ key: "a" }] },
  },
  "merges nodeSelector by key": {
    pod: { nodeSelector: { a: "1", b: "1" } },
    patch: { nodeSelector: { b: "2", c: "2" } },
    want: { nodeSelector: { a: "1", b: "2", c: "2" } },
  },
  "merges securityContext recursively": {
    pod: { securityContext: { runAsUser: 1, seLinuxOptions: { role: "r", user: "u" } } },
    patch: { securityContext: { fsGroup: 2, seLinuxOptions: { user: "v" } } },
    want: {
      securityContext: { runAsUser: 1, fsGroup: 2, seLinuxOptions: { role: "r", user: "v" } },
    },
  },
  "leaves lists inside securityContext if the patch's are empty": {
    pod: { securityContext: { supplementalGroups: [1], sysctls: [{ name: "a", value: "1" }] } },
    patch: { securityContext: { supplementalGroups: [], sysctls: [{ name: "b", value: "2" }] } },
    want: {
      securityContext: { supplementalGroups: [1], sysctls: [{ name: "b", value: "2" }] },
    },
  },
  "sets variables of an init container that is called like a step's container": {
    pod: { initContainers: [{ name: "dataset-initializer" }] },
    patch: { initContainers: [{ name: "dataset-initializer", env: [{ name: "A", value: "1" }] }] },
    want: { initContainers: [{ name: "dataset-initializer", env: [{ name: "A", value: "1" }] }] },
  },
  "replaces lists inside affinity": {
    pod: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}, {}] },
        },
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
      },
    },
    patch: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] },
        },
      },
    },
    want: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] },
        },
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
      },
    },
  },
  "merges volumes by name, new ones first": {
    pod: { volumes: [{ name: "a", emptyDir: {} }, { name: "b", emptyDir: {} }] },
    patch: {
      volumes: [{ name: "c", emptyDir: {} }, { name: "b", emptyDir: { medium: "Memory" } }],
    },
    want: {
      volumes: [
        { name: "c", emptyDir: {} },
        { name: "a", emptyDir: {} },
        { name: "b", emptyDir: { medium: "Memory" } },
      ],
    },
  },
  "merges imagePullSecrets and schedulingGates by name": {
    pod: { imagePullSecrets: [{ name: "a" }], schedulingGates: [{ name: "g" }] },
    patch: { imagePullSecrets: [{ name: "a" }, { name: "b" }], schedulingGates: [{ name: "h" }] },
    want: {
      imagePullSecrets: [{ name: "a" }, { name: "b" }],
      schedulingGates: [{ name: "h" }, { name: "g" }],
    },
  },
};

for (const [sentence, { pod, patch: spec, want }] of Object.entries(SURFACE)) {
  Deno.test(`runtimePatches ${sentence}`, () => {
    const found = podOf(render([patch(spec)], withPod(pod)));
    for (const [field, value] of Object.entries(want)) {
      deepEqual(Object.entries(found ?? {}).find(([name]) => name === field)?.[1], value);
    }
  });
}

Deno.test("runtimePatches merges containers by name, mounts by path, variables as whole entries", () => {
  const from = withPod({}, {
    volumeMounts: [{ name: "v", mountPath: "/a" }, { name: "v", mountPath: "/b" }],
    securityContext: { runAsUser: 1 },
  });
  const sidecar = { name: "sidecar", env: [{ name: "A", value: "1" }, { name: "B", value: "1" }] };
  from.spec?.template.spec?.replicatedJobs?.[0]?.template.spec?.template.spec?.containers
    .push(sidecar);
  const fieldRef = { fieldPath: "metadata.name" };
  const containers = [
    {
      name: "node",
      volumeMounts: [{ name: "v", mountPath: "/b", subPath: "x" }, { name: "v", mountPath: "/c" }],
      securityContext: { privileged: true },
    },
    { name: "sidecar", env: [{ name: "B", valueFrom: { fieldRef } }] },
  ];
  deepEqual(podOf(render([patch({ containers })], from))?.containers, [
    {
      name: "node",
      image: "acme/base:1",
      volumeMounts: [
        { name: "v", mountPath: "/a" },
        { name: "v", mountPath: "/b", subPath: "x" },
        { name: "v", mountPath: "/c" },
      ],
      securityContext: { runAsUser: 1, privileged: true },
    },
    {
      name: "sidecar",
      env: [{ name: "A", value: "1" }, { name: "B", valueFrom: { fieldRef } }],
    },
  ]);
});

Deno.test("runtimePatches merges labels and annotations on each level, and nothing else of metadata", () => {
  const metadata = {
    labels: { a: "1" },
    annotations: { b: "2" },
    name: "evil",
    finalizers: ["x/y"],
  };
  const replicatedJobs = [{
    name: "node",
    template: { metadata, spec: { template: { metadata } } },
  }];
  const template = { metadata, spec: { replicatedJobs } };
  const jobSet = render([{ manager: "acme.io/x", trainingRuntimeSpec: { template } }]);
  if (typeof jobSet === "string") throw new Error(jobSet);
  equal(jobSet.metadata.name, "tj");
  equal(jobSet.metadata.finalizers, undefined);
  deepEqual([jobSet.metadata.labels, jobSet.metadata.annotations], [{ a: "1" }, { b: "2" }]);
  const job = jobSet.spec?.replicatedJobs?.[0]?.template;
  deepEqual(job?.metadata, {
    labels: { "trainer.kubeflow.org/trainjob-ancestor-step": "trainer", a: "1" },
    annotations: { b: "2" },
  });
  deepEqual(job?.spec?.template.metadata, {
    labels: { a: "1", "trainer.kubeflow.org/trainjob-name": "tj" },
    annotations: { b: "2" },
  });
});

Deno.test("runtimePatches lets later patches win and keeps the order of the jobs", () => {
  const jobs = [replicatedJob("prepare", undefined), nodeJob()];
  const from = runtime({}, { replicatedJobs: jobs });
  const jobSet = render([
    patch({ nodeSelector: { a: "1" } }, "acme.io/x", "node"),
    patch({ nodeSelector: { a: "2" } }, "acme.io/y", "node"),
    patch({ nodeSelector: { a: "3" } }, "acme.io/z", "prepare"),
  ], from);
  if (typeof jobSet === "string") throw new Error(jobSet);
  deepEqual(
    jobSet.spec?.replicatedJobs?.map(({ name, template }) => [
      name,
      template.spec?.template.spec?.nodeSelector,
    ]),
    [["prepare", { a: "3" }], ["node", { a: "2" }]],
  );
});

const REFUSED: Record<string, { patches: RuntimePatch[]; want: RegExp }> = {
  "an unknown replicated job (G25)": {
    patches: [patch({}, "acme.io/x", "ghost")],
    want:
      /^spec\.runtimePatches: must not have replicated job that doesn't exist in the runtime job template$/,
  },
  "an unknown container": {
    patches: [patch({ containers: [{ name: "ghost" }] })],
    want: /must not have container that doesn't exist in the runtime job node/,
  },
  "an unknown init container": {
    patches: [patch({ initContainers: [{ name: "ghost" }] })],
    want: /must not have initContainer that doesn't exist in the runtime job node/,
  },
  "variables of the container node": {
    patches: [patch({ containers: [{ name: "node", env: [{ name: "A", value: "1" }] }] })],
    want: /must not have envs for the dataset-initializer, model-initializer, node containers/,
  },
  "another type of a volume": {
    patches: [patch({ volumes: [{ name: "a", hostPath: { path: "/" } }] })],
    want: /must not change the type of volume a of the runtime job node/,
  },
};

for (const [what, { patches, want }] of Object.entries(REFUSED)) {
  Deno.test(`runtimePatches refuses ${what}`, () => {
    const text = render(patches, withPod({ volumes: [{ name: "a", emptyDir: {} }] }));
    ok(typeof text === "string" && want.test(text), JSON.stringify(text));
  });
}

Deno.test("runtimePatches changes nothing by empty and null fields", () => {
  const spec: PodSpecPatch = JSON.parse(
    '{"nodeSelector": null, "volumes": null, "affinity": null}',
  );
  const plain = render([]);
  deepEqual(render([patch(spec)]), plain);
  deepEqual(render([{ manager: "acme.io/x" }]), plain);
});

Deno.test("mergeLists() holds every item once, the patch's in the patch's order", () => {
  const keys = fc.uniqueArray(fc.constantFrom(..."abcdefgh"));
  fc.assert(fc.property(keys, keys, (target, own) => {
    const item = (key: string) => ({ key });
    const merged = mergeLists(target.map(item), own.map(item), byField(({ key }) => key)) ?? [];
    const order = merged.map(({ key }) => key);
    deepEqual([...order].sort(), [...new Set([...target, ...own])].sort());
    deepEqual(order.filter((key) => own.includes(key)), own);
    const others = target.filter((key) => !own.includes(key));
    deepEqual(order.filter((key) => !own.includes(key)), others);
  }));
});

Deno.test("mergeObjects() takes an empty name for none, as definitions give references one", () => {
  const target = { configMap: { name: "a", items: ["c"] } };
  const merged = mergeObjects(target, { configMap: { name: "", items: ["b"] } });
  deepEqual(merged, { configMap: { name: "a", items: ["b"] } });
});

Deno.test("mergeObjects() takes __proto__ for a name like any other", () => {
  const evil: Record<string, string> = JSON.parse('{"__proto__": "x"}');
  const merged = mergeObjects({ a: "1" }, evil);
  deepEqual(Object.keys(merged), ["a", "__proto__"]);
  equal(Object.getPrototypeOf(merged), Object.prototype);
});
