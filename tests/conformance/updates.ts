/** Replacing objects: conflicts, what cannot change, generations. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap, deployment, job, object, pod, service } from "./objects.ts";

/** Causes of a 422 as `reason field`. */
function causesOf({ details }: { details: { causes: { reason: string; field: string }[] } }) {
  return details.causes.map(({ reason, field }) => `${reason} ${field}`);
}

const HEADLESS = { selector: { app: "a" }, ports: [{ port: 80 }] };

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
  {
    name: "the selector of a Job cannot change",
    async run(api) {
      await api.create("batch/v1/jobs", job("a"));
      const answer = await api.refused(422, "PATCH", "batch/v1/jobs/a", {
        type: "application/merge-patch+json",
        body: { spec: { selector: { matchLabels: { x: "y" } } } },
      });
      assert.ok(causesOf(answer).includes("FieldValueInvalid spec.selector"), answer.message);
    },
  },
  {
    name: "the completions of a Job that is not indexed cannot change",
    async run(api) {
      await api.create("batch/v1/jobs", job("a"));
      const answer = await api.refused(422, "PATCH", "batch/v1/jobs/a", {
        type: "application/merge-patch+json",
        body: { spec: { completions: 4 } },
      });
      assert.deepEqual(causesOf(answer), ["FieldValueInvalid spec.completions"]);
    },
  },
  {
    name: "completions of an indexed Job change together with its parallelism",
    async run(api) {
      const spec = { completionMode: "Indexed", completions: 2, parallelism: 2 };
      await api.create("batch/v1/jobs", job("a", spec));
      const next = await api.merge("batch/v1/jobs/a", { spec: { completions: 3, parallelism: 3 } });
      assert.equal(next.spec.completions, 3);
    },
  },
  {
    name: "the pod template of a suspended Job that never started takes scheduling directives",
    async run(api) {
      await api.create("batch/v1/jobs", job("a"));
      const spec = { template: { spec: { nodeSelector: { x: "y" } } } };
      const next = await api.merge("batch/v1/jobs/a", { spec });
      assert.deepEqual(next.spec.template.spec.nodeSelector, { x: "y" });
    },
  },
  {
    name: "the pod template of a Job cannot get another service account",
    async run(api) {
      await api.create("batch/v1/jobs", job("a"));
      const spec = { template: { spec: { serviceAccountName: "other" } } };
      const answer = await api.refused(422, "PATCH", "batch/v1/jobs/a", {
        type: "application/merge-patch+json",
        body: { spec },
      });
      assert.deepEqual(causesOf(answer), ["FieldValueInvalid spec.template.spec"]);
    },
  },
  {
    name: "the command of a pod's container cannot change, its image can",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const [container] = made.spec.containers;
      const withContainer = (more: Record<string, unknown>) => ({
        ...made,
        spec: { ...made.spec, containers: [{ ...container, ...more }] },
      });
      const answer = await api.refused(422, "PUT", "pods/a", {
        body: withContainer({ command: ["other"] }),
      });
      assert.deepEqual(causesOf(answer), ["FieldValueForbidden spec"]);
      const next = await api.put("pods/a", withContainer({ image: "example.com/j:2" }));
      assert.equal(next.spec.containers[0].image, "example.com/j:2");
    },
  },
  {
    name: "data of an immutable ConfigMap cannot change, and it stays immutable",
    async run(api) {
      await api.create("configmaps", configMap("a", {}, { immutable: true }));
      const change = (body: unknown) =>
        api.refused(422, "PATCH", "configmaps/a", { type: "application/merge-patch+json", body });
      assert.deepEqual(causesOf(await change({ data: { a: "2" } })), ["FieldValueForbidden data"]);
      assert.deepEqual(causesOf(await change({ immutable: false })), [
        "FieldValueForbidden immutable",
      ]);
    },
  },
  {
    name: "the type of a Secret cannot change",
    async run(api) {
      const made = await api.create("secrets", object("v1", "Secret", "a"));
      const answer = await api.refused(422, "PUT", "secrets/a", {
        body: { ...made, type: "example.com/other" },
      });
      assert.deepEqual(causesOf(answer), ["FieldValueInvalid type"]);
    },
  },
  {
    name: "a headless Service cannot get an address",
    async run(api) {
      const made = await api.create("services", service("a", HEADLESS));
      const spec = { ...made.spec, clusterIP: "10.0.77.7", clusterIPs: ["10.0.77.7"] };
      const answer = await api.refused(422, "PUT", "services/a", { body: { ...made, spec } });
      assert.deepEqual(causesOf(answer), ["FieldValueInvalid spec.clusterIPs[0]"]);
    },
  },
  {
    name: "the role of a binding cannot change",
    async run(api) {
      const path = "rbac.authorization.k8s.io/v1/rolebindings";
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" };
      const kind = object("rbac.authorization.k8s.io/v1", "RoleBinding", "a", { roleRef });
      const made = await api.create(path, kind);
      const answer = await api.refused(422, "PUT", `${path}/a`, {
        body: { ...made, roleRef: { ...roleRef, name: "b" } },
      });
      assert.deepEqual(causesOf(answer), ["FieldValueInvalid roleRef"]);
    },
  },
];
