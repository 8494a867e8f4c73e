/** Conformance of namespaces: lifecycle and default contents. */
import assert from "node:assert/strict";
import type { Case, Sandbox } from "./api.ts";
import { configMap, object, pod } from "./objects.ts";

const NAMESPACES = "/api/v1/namespaces";

function own({ ns }: Sandbox): string {
  return `${NAMESPACES}/${ns}`;
}

export const namespaces: Case[] = [
  {
    name: "a new namespace is active, with its name as a label and a finalizer in its spec",
    async run(api) {
      const { spec, status, metadata } = await api.get(own(api));
      assert.equal(status.phase, "Active");
      assert.deepEqual(spec.finalizers, ["kubernetes"]);
      assert.equal(metadata.labels["kubernetes.io/metadata.name"], api.ns);
    },
  },
  {
    name: "the label of its name cannot be taken off",
    async run(api) {
      await api.merge(own(api), { metadata: { labels: { x: "y" } } });
      const next = await api.merge(own(api), {
        metadata: { labels: { "kubernetes.io/metadata.name": null } },
      });
      assert.deepEqual(next.metadata.labels, { "kubernetes.io/metadata.name": api.ns, x: "y" });
    },
  },
  {
    name: "a namespace gets a default service account and the CA of the server",
    async run(api) {
      const path = "configmaps/kube-root-ca.crt";
      const { body } = await api.until("the CA", path, ({ status }) => status === 200);
      assert.match(body.data["ca.crt"], /BEGIN CERTIFICATE/);
      assert.equal((await api.get("serviceaccounts/default")).metadata.name, "default");
    },
  },
  {
    name: "the default service account comes back",
    async run(api) {
      const first = await api.get("serviceaccounts/default");
      await api.remove("serviceaccounts/default");
      await api.until(
        "another default service account",
        "serviceaccounts/default",
        ({ status, body }) => status === 200 && body.metadata.uid !== first.metadata.uid,
      );
    },
  },
  {
    name: "the CA of the server comes back, and as it was",
    async run(api) {
      const path = "configmaps/kube-root-ca.crt";
      const { body: first } = await api.until("the CA", path, ({ status }) => status === 200);
      await api.remove(path);
      const { body } = await api.until("the CA again", path, ({ status }) => status === 200);
      assert.deepEqual(body.data, first.data);
    },
  },
  {
    name: "deleting a namespace marks it as terminating",
    async run(api) {
      await api.create("configmaps", configMap("a", { finalizers: ["example.com/held"] }));
      const answer = await api.remove(own(api));
      assert.equal(answer.status.phase, "Terminating");
      assert.ok(answer.metadata.deletionTimestamp);
      await api.merge("configmaps/a", { metadata: { finalizers: null } });
    },
  },
  {
    name: "a terminating namespace takes nothing new, and says why",
    async run(api) {
      await api.create("configmaps", configMap("a", { finalizers: ["example.com/held"] }));
      await api.remove(own(api));
      const { reason, message, details } = await api.refused(403, "POST", "secrets", {
        body: object("v1", "Secret", "b"),
      });
      assert.equal(reason, "Forbidden");
      assert.match(message, /because it is being terminated/);
      assert.equal(details.causes[0].reason, "NamespaceTerminating");
      await api.merge("configmaps/a", { metadata: { finalizers: null } });
    },
  },
  {
    name: "a terminating namespace still lets what is there change",
    async run(api) {
      await api.create("configmaps", configMap("a", { finalizers: ["example.com/held"] }));
      await api.remove(own(api));
      await api.merge("configmaps/a", { data: { b: "2" } });
      await api.merge("configmaps/a", { metadata: { finalizers: null } });
    },
  },
  {
    name: "a namespace goes with all that is in it",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      await api.create("pods", pod("p"));
      await api.remove(own(api));
      await api.gone(own(api));
      await api.refused(404, "GET", "pods/p");
    },
  },
  {
    name: "a namespace waits for an object with a finalizer, and goes after it",
    async run(api) {
      await api.create("configmaps", configMap("a", { finalizers: ["example.com/held"] }));
      await api.remove(own(api));
      await api.until(
        "the object to be deleted",
        "configmaps/a",
        ({ body }) => body.metadata?.deletionTimestamp !== undefined,
      );
      assert.equal((await api.get(own(api))).status.phase, "Terminating");
      await api.merge("configmaps/a", { metadata: { finalizers: null } });
      await api.gone(own(api));
    },
  },
  {
    name: "the namespace `default` cannot be deleted",
    async run(api) {
      assert.equal((await api.refused(403, "DELETE", `${NAMESPACES}/default`)).reason, "Forbidden");
    },
  },
  {
    name: "the name of a namespace is a DNS label",
    async run(api) {
      for (const name of ["A", "a.b", "-a", "a".repeat(64)]) {
        await api.refused(422, "POST", NAMESPACES, { body: object("v1", "Namespace", name) });
      }
    },
  },
  {
    name: "the namespaces of Kubernetes are there",
    async run(api) {
      for (const name of ["default", "kube-system", "kube-public"]) {
        assert.equal((await api.get(`${NAMESPACES}/${name}`)).status.phase, "Active");
      }
    },
  },
  {
    name: "a pod whose service account does not exist is refused",
    async run(api) {
      const { reason, message } = await api.refused(403, "POST", "pods", {
        body: pod("a", { serviceAccountName: "none" }),
      });
      assert.equal(reason, "Forbidden");
      assert.match(message, /error looking up service account .*\/none/);
    },
  },
];
