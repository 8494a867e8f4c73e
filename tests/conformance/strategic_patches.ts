/** Conformance of strategic merge patches. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap, podTemplate } from "./objects.ts";

function containers(...names: string[]) {
  return { containers: names.map((name) => ({ name, image: `example.com/${name}:1` })) };
}

const DEPLOYMENTS = "apps/v1/deployments";

function twoContainers() {
  const labels = { app: "a" };
  const template = podTemplate(containers("one", "two"), labels);
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec };
}

/** Strategic patches of a pod template with the containers `one` and `two`, by image then. */
const TEMPLATES: Record<string, { patch: unknown; want: unknown }> = {
  "a strategic patch merges containers by their name": {
    patch: { containers: [{ name: "two", image: "example.com/new:1" }] },
    want: ["one example.com/one:1", "two example.com/new:1"],
  },
  "a strategic patch puts a new container first": {
    patch: { containers: [{ name: "three", image: "example.com/three:1" }] },
    want: ["three example.com/three:1", "one example.com/one:1", "two example.com/two:1"],
  },
  "a strategic patch deletes a container that says so": {
    patch: { containers: [{ name: "one", $patch: "delete" }] },
    want: ["two example.com/two:1"],
  },
  "a strategic patch replaces a list that says so": {
    patch: { containers: [{ $patch: "replace" }, { name: "four", image: "example.com/four:1" }] },
    want: ["four example.com/four:1"],
  },
  "a strategic patch orders containers by $setElementOrder": {
    patch: { "$setElementOrder/containers": [{ name: "two" }, { name: "one" }] },
    want: ["two example.com/two:1", "one example.com/one:1"],
  },
};

export const strategicPatches: Case[] = [
  ...Object.entries(TEMPLATES).map(([name, { patch, want }]): Case => ({
    name,
    async run(api) {
      await api.create(DEPLOYMENTS, twoContainers());
      const body = { spec: { template: { spec: patch } } };
      const { spec } = await api.strategic(`${DEPLOYMENTS}/a`, body);
      const shown = spec.template.spec.containers.map(
        ({ name, image }: { name: string; image: string }) => `${name} ${image}`,
      );
      assert.deepEqual(shown, want);
    },
  })),
  {
    name: "a strategic patch adds a finalizer to those that are there; a merge patch replaces them",
    async run(api) {
      await api.create("configmaps", configMap("a", { finalizers: ["x.io/a"] }));
      const path = "configmaps/a";
      const both = await api.strategic(path, { metadata: { finalizers: ["x.io/b"] } });
      assert.deepEqual(both.metadata.finalizers.toSorted(), ["x.io/a", "x.io/b"]);
      const one = await api.merge(path, { metadata: { finalizers: ["x.io/b"] } });
      assert.deepEqual(one.metadata.finalizers, ["x.io/b"]);
      await api.strategic(path, {
        metadata: { "$deleteFromPrimitiveList/finalizers": ["x.io/b"] },
      });
      assert.equal((await api.get(path)).metadata.finalizers, undefined);
    },
  },
];
