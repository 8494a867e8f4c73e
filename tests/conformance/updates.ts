/** Conformance of updates: conflicts, immutable fields, generations. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap, deployment, job, object, pod } from "./objects.ts";

/** Causes of a 422 as `reason field`. */
function causesOf({ details }: { details: { causes: { reason: string; field: string }[] } }) {
  return details.causes.map(({ reason, field }) => `${reason} ${field}`);
}

export const updates: Case[] = [
  {
    name: "an update with the current resource version is stored and gets a new one",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const next = await api.put("configmaps/a", { ...made, data: { b: "2" } });
      assert.deepEqual(next.data, { b: "2" });
      assert.notEqual(next.metadata.resourceVersion, made.metadata.resourceVersion);
      assert.equal(next.metadata.uid, made.metadata.uid);
      assert.deepEqual(await api.get("configmaps/a"), next);
    },
  },
  {
    name: "an update with an old resource version is 409 Conflict",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      await api.put("configmaps/a", { ...made, data: { b: "2" } });
      const { reason, message, details } = await api.refused(409, "PUT", "configmaps/a", {
        body: { ...made, data: { b: "3" } },
      });
      assert.equal(reason, "Conflict");
      assert.equal(
        message,
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
          "please apply your changes to the latest version and try again",
      );
      assert.deepEqual(details, { name: "a", kind: "configmaps" });
    },
  },
  {
    name: "an update without a resource version wins",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      await api.merge("configmaps/a", { data: { b: "2" } });
      const next = await api.put("configmaps/a", configMap("a", {}, { data: { c: "3" } }));
      assert.deepEqual(next.data, { c: "3" });
    },
  },
  {
    name: "an update of a Lease needs a resource version",
    async run(api) {
      const lease = object("coordination.k8s.io/v1", "Lease", "a", { spec: {} });
      await api.create("coordination.k8s.io/v1/leases", lease);
      const path = "coordination.k8s.io/v1/leases/a";
      const answer = await api.refused(422, "PUT", path, { body: lease });
      assert.deepEqual(causesOf(answer), ["FieldValueInvalid metadata.resourceVersion"]);
    },
  },
  {
    name: "an update that changes nothing keeps the resource version",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const next = await api.put("configmaps/a", made);
      assert.equal(next.metadata.resourceVersion, made.metadata.resourceVersion);
    },
  },
  {
    name: "an update of what does not exist is 404",
    async run(api) {
      const { reason } = await api.refused(404, "PUT", "configmaps/a", { body: configMap("a") });
      assert.equal(reason, "NotFound");
    },
  },
  {
    name: "an update makes a Lease that is not there",
    async run(api) {
      const lease = object("coordination.k8s.io/v1", "Lease", "a", { spec: {} });
      const path = "coordination.k8s.io/v1/leases/a";
      const { status } = await api.call("PUT", path, { body: lease });
      assert.equal(status, 201);
      assert.equal((await api.get(path)).metadata.name, "a");
    },
  },
  {
    name: "an update under another name is a bad request",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const { message } = await api.refused(400, "PUT", "configmaps/a", { body: configMap("b") });
      assert.match(
        message,
        /the name of the object \(b\) does not match the name on the URL \(a\)/,
      );
    },
  },
  {
    name: "an update with another UID is 409 Conflict",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const metadata = { ...made.metadata, uid: "00000000-0000-0000-0000-000000000000" };
      const { reason } = await api.refused(409, "PUT", "configmaps/a", {
        body: { ...made, metadata },
      });
      assert.equal(reason, "Conflict");
    },
  },
  {
    name: "labels that an update leaves out are gone",
    async run(api) {
      await api.create("configmaps", configMap("a", { labels: { x: "y" } }));
      const next = await api.put("configmaps/a", configMap("a"));
      assert.equal(next.metadata.labels, undefined);
    },
  },
  {
    name: "the creation time cannot be changed and need not be sent",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const metadata = { ...made.metadata, creationTimestamp: "2001-01-01T00:00:00Z" };
      const next = await api.put("configmaps/a", { ...made, metadata, data: { b: "2" } });
      assert.equal(next.metadata.creationTimestamp, made.metadata.creationTimestamp);
    },
  },
  {
    name: "an update of the main resource leaves the status of a pod alone",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const metadata = { ...made.metadata, labels: { x: "y" } };
      const next = await api.put("pods/a", { ...made, metadata, status: { phase: "Running" } });
      assert.equal(next.status.phase, "Pending");
      assert.deepEqual(next.metadata.labels, { x: "y" });
    },
  },
  {
    name: "generation counts changes of the spec only",
    async run(api) {
      const path = "batch/v1/jobs/a";
      await api.create("batch/v1/jobs", job("a"));
      const labelled = await api.merge(path, { metadata: { labels: { x: "y" } } });
      assert.equal(labelled.metadata.generation, 1);
      const changed = await api.merge(path, { spec: { parallelism: 2 } });
      assert.equal(changed.metadata.generation, 2);
    },
  },
  {
    name: "generation counts changes of a Deployment",
    async run(api) {
      await api.create("apps/v1/deployments", deployment("a"));
      const changed = await api.merge("apps/v1/deployments/a", { spec: { minReadySeconds: 2 } });
      assert.equal(changed.metadata.generation, 2);
    },
  },
];
