/** Conformance of immutable fields. */
import assert from "node:assert/strict";
import { type Case, MERGE } from "./api.ts";
import { configMap, job, object, pod, service } from "./objects.ts";

/** Causes of a 422 as `reason field`. */
function causesOf({ details }: { details: { causes: { reason: string; field: string }[] } }) {
  return details.causes.map(({ reason, field }) => `${reason} ${field}`);
}

const HEADLESS = { selector: { app: "a" }, ports: [{ port: 80 }] };

export const immutableFields: Case[] = [
  {
    name: "the selector of a Job cannot change",
    async run(api) {
      await api.create("batch/v1/jobs", job("a"));
      const answer = await api.refused(422, "PATCH", "batch/v1/jobs/a", {
        type: MERGE,
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
        type: MERGE,
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
        type: MERGE,
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
        api.refused(422, "PATCH", "configmaps/a", { type: MERGE, body });
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
