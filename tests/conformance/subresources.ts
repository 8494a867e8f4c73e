/** Conformance of subresources: status, scale, binding, unknown ones. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap, deployment, job, object, pod } from "./objects.ts";

const NODE = { apiVersion: "v1", kind: "Node" };

export const subresources: Case[] = [
  {
    name: "a status write changes the status and nothing else",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const next = await api.merge("pods/a/status", {
        status: { phase: "Running", podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] },
        spec: { nodeName: "elsewhere" },
      });
      assert.equal(next.status.phase, "Running");
      assert.equal(next.spec.nodeName, undefined);
      assert.notEqual(next.metadata.resourceVersion, made.metadata.resourceVersion);
    },
  },
  {
    name: "a status is got through its subresource: the whole object",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      assert.deepEqual(await api.get("pods/a/status"), made);
    },
  },
  {
    name: "a status written with PUT needs the current version",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const next = await api.put("pods/a/status", { ...made, status: { phase: "Running" } });
      assert.equal(next.status.phase, "Running");
      const { reason } = await api.refused(409, "PUT", "pods/a/status", { body: made });
      assert.equal(reason, "Conflict");
    },
  },
  {
    name: "conditions of a pod merge by type in a strategic patch",
    async run(api) {
      await api.create("pods", pod("a"));
      const condition = (type: string, status: string) => ({ type, status });
      await api.strategic("pods/a/status", {
        status: { conditions: [condition("Ready", "False")] },
      });
      await api.strategic("pods/a/status", {
        status: { conditions: [condition("Other", "True")] },
      });
      const next = await api.strategic("pods/a/status", {
        status: { conditions: [condition("Ready", "True")] },
      });
      const shown = next.status.conditions.map((one: { type: string; status: string }) =>
        `${one.type} ${one.status}`
      );
      assert.deepEqual(shown.toSorted(), ["Other True", "Ready True"]);
    },
  },
  {
    name: "a status write does not count as a generation",
    async run(api) {
      await api.create("batch/v1/jobs", job("a"));
      const next = await api.merge("batch/v1/jobs/a/status", {
        status: { conditions: [{ type: "Suspended", status: "True" }] },
      });
      assert.equal(next.metadata.generation, 1);
    },
  },
  {
    name: "a kind without a status has no such subresource",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const { reason } = await api.refused(404, "GET", "configmaps/a/status");
      assert.equal(reason, "NotFound");
    },
  },
  {
    name: "scale of a Deployment is read",
    async run(api) {
      await api.create("apps/v1/deployments", deployment("a"));
      const scale = await api.get("apps/v1/deployments/a/scale");
      assert.equal(scale.kind, "Scale");
      assert.equal(scale.apiVersion, "autoscaling/v1");
      assert.equal(scale.metadata.name, "a");
      assert.deepEqual(scale.spec, {});
      assert.equal(scale.status.selector, "app=a");
    },
  },
  {
    name: "scale of a ReplicaSet is changed by a patch, and changes it",
    async run(api) {
      const { spec } = deployment("a");
      const { replicas, selector, template } = spec;
      const held = { ...template, spec: { ...template.spec, schedulerName: "none" } };
      await api.create("apps/v1/replicasets", {
        ...object("apps/v1", "ReplicaSet", "a"),
        spec: { replicas, selector, template: held },
      });
      const scale = await api.merge("apps/v1/replicasets/a/scale", { spec: { replicas: 2 } });
      assert.equal(scale.spec.replicas, 2);
      const next = await api.get("apps/v1/replicasets/a");
      assert.equal(next.spec.replicas, 2);
      assert.equal(next.metadata.generation, 2);
      await api.merge("apps/v1/replicasets/a/scale", { spec: { replicas: 0 } });
    },
  },
  {
    name: "a negative scale is invalid",
    async run(api) {
      await api.create("apps/v1/deployments", deployment("a"));
      await api.refused(422, "PATCH", "apps/v1/deployments/a/scale", {
        type: "application/merge-patch+json",
        body: { spec: { replicas: -1 } },
      });
    },
  },
  {
    name: "scale with an old resource version is 409",
    async run(api) {
      await api.create("apps/v1/deployments", deployment("a"));
      const scale = await api.get("apps/v1/deployments/a/scale");
      await api.merge("apps/v1/deployments/a", { metadata: { labels: { x: "y" } } });
      await api.merge("apps/v1/deployments/a", { metadata: { labels: { x: "z" } } });
      const { reason } = await api.refused(409, "PUT", "apps/v1/deployments/a/scale", {
        body: {
          ...scale,
          spec: { replicas: 0 },
          metadata: { ...scale.metadata, resourceVersion: "1" },
        },
      });
      assert.equal(reason, "Conflict");
    },
  },
  {
    name: "a binding puts a pod on a node, once",
    async run(api) {
      await api.create("pods", pod("a"));
      const target = { ...NODE, name: "n1" };
      const body = { ...object("v1", "Binding", "a"), target };
      const { status } = await api.call("POST", "pods/a/binding", { body });
      assert.equal(status, 201);
      assert.equal((await api.get("pods/a")).spec.nodeName, "n1");
      const again = await api.refused(409, "POST", "pods/a/binding", { body });
      assert.equal(again.reason, "Conflict");
    },
  },
  {
    name: "a binding tells when the pod was scheduled",
    async run(api) {
      await api.create("pods", pod("a"));
      await api.create("pods/a/binding", {
        ...object("v1", "Binding", "a"),
        target: { ...NODE, name: "n1" },
      });
      const { status } = await api.get("pods/a");
      const scheduled = status.conditions.find(({ type }: { type: string }) =>
        type === "PodScheduled"
      );
      assert.equal(scheduled.status, "True");
    },
  },
  {
    name: "an unknown subresource is 404",
    async run(api) {
      await api.create("pods", pod("a"));
      await api.refused(404, "GET", "pods/a/nothing");
    },
  },
  {
    name: "a resource that nobody serves is 404",
    async run(api) {
      for (
        const path of ["/apis/example.com/v1/things", "/apis/batch/v1/things", "/api/v1/things"]
      ) {
        assert.equal((await api.call("GET", path)).status, 404, path);
      }
    },
  },
  {
    name: "finalizers and labels may be written with the status of a built-in kind",
    async run(api) {
      await api.create("pods", pod("a"));
      const next = await api.merge("pods/a/status", { metadata: { labels: { x: "y" } } });
      assert.deepEqual(next.metadata.labels, { x: "y" });
    },
  },
];
