/** Conformance of deletion: grace periods, finalizers, collections, options. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { configMap, job, object, pod } from "./objects.ts";

const HELD = { finalizers: ["example.com/held"] };
const FREE = { metadata: { finalizers: null } };

export const deletion: Case[] = [
  {
    name: "a deleted object is answered with a Status that names it, and is gone",
    async run(api) {
      const { metadata } = await api.create("configmaps", configMap("a"));
      const answer = await api.remove("configmaps/a");
      assert.equal(answer.kind, "Status");
      assert.equal(answer.status, "Success");
      assert.deepEqual(answer.details, { name: "a", kind: "configmaps", uid: metadata.uid });
      await api.refused(404, "GET", "configmaps/a");
    },
  },
  {
    name: "what does not exist cannot be deleted",
    async run(api) {
      assert.equal((await api.refused(404, "DELETE", "configmaps/a")).reason, "NotFound");
    },
  },
  {
    name: "a finalizer keeps an object, marked with the time of its deletion",
    async run(api) {
      await api.create("configmaps", configMap("a", HELD));
      const { status, body } = await api.call("DELETE", "configmaps/a");
      assert.equal(status, 200);
      assert.equal(body.kind, "ConfigMap");
      assert.match(body.metadata.deletionTimestamp, /Z$/);
      assert.equal(body.metadata.deletionGracePeriodSeconds, 0);
      await api.merge("configmaps/a", FREE);
      await api.refused(404, "GET", "configmaps/a");
    },
  },
  {
    name: "deleting twice keeps the first time",
    async run(api) {
      await api.create("configmaps", configMap("a", HELD));
      const first = await api.remove("configmaps/a");
      const second = await api.remove("configmaps/a");
      assert.equal(second.metadata.deletionTimestamp, first.metadata.deletionTimestamp);
      await api.merge("configmaps/a", FREE);
    },
  },
  {
    name: "an object that is being deleted takes no new finalizers",
    async run(api) {
      await api.create("configmaps", configMap("a", HELD));
      await api.remove("configmaps/a");
      const finalizers = [...HELD.finalizers, "example.com/more"];
      const { details } = await api.refused(422, "PATCH", "configmaps/a", {
        type: "application/merge-patch+json",
        body: { metadata: { finalizers } },
      });
      assert.equal(details.causes[0].reason, "FieldValueForbidden");
      assert.equal(details.causes[0].field, "metadata.finalizers");
      await api.merge("configmaps/a", FREE);
    },
  },
  {
    name: "an object that is being deleted can change otherwise",
    async run(api) {
      await api.create("configmaps", configMap("a", HELD));
      await api.remove("configmaps/a");
      const next = await api.merge("configmaps/a", { data: { b: "2" } });
      assert.equal(next.data.b, "2");
      await api.merge("configmaps/a", FREE);
    },
  },
  {
    name: "the last of two finalizers lets it go",
    async run(api) {
      const finalizers = ["example.com/a", "example.com/b"];
      await api.create("configmaps", configMap("a", { finalizers }));
      await api.remove("configmaps/a");
      const path = "/metadata/finalizers/0";
      await api.json("configmaps/a", [{ op: "remove", path }]);
      const left = await api.get("configmaps/a");
      assert.deepEqual(left.metadata.finalizers, ["example.com/b"]);
      await api.json("configmaps/a", [{ op: "remove", path }]);
      await api.refused(404, "GET", "configmaps/a");
    },
  },
  {
    name: "a name is free again for another object, with another UID",
    async run(api) {
      const first = await api.create("configmaps", configMap("a"));
      await api.remove("configmaps/a");
      const second = await api.create("configmaps", configMap("a"));
      assert.notEqual(second.metadata.uid, first.metadata.uid);
    },
  },
  {
    name: "a pod without a node goes at once",
    async run(api) {
      await api.create("pods", pod("a"));
      const answer = await api.remove("pods/a");
      assert.equal(answer.kind, "Pod");
      await api.refused(404, "GET", "pods/a");
    },
  },
  {
    name: "a pod on a node gets its own grace, and stays",
    async run(api) {
      await api.create("pods", pod("a", { nodeName: "n", terminationGracePeriodSeconds: 7 }));
      const { metadata } = await api.remove("pods/a");
      assert.equal(metadata.deletionGracePeriodSeconds, 7);
      const left = Date.parse(metadata.deletionTimestamp) - Date.parse(metadata.creationTimestamp);
      assert.ok(left >= 7000, `${left}`);
      assert.equal(
        (await api.get("pods/a")).metadata.deletionTimestamp,
        metadata.deletionTimestamp,
      );
      await api.remove("pods/a", { gracePeriodSeconds: 0 });
    },
  },
  {
    name: "grace that is asked for wins, and a later deletion can shorten it",
    async run(api) {
      await api.create("pods", pod("a", { nodeName: "n" }));
      const first = await api.remove("pods/a", { gracePeriodSeconds: 20 });
      assert.equal(first.metadata.deletionGracePeriodSeconds, 20);
      const second = await api.remove("pods/a", { gracePeriodSeconds: 5 });
      assert.equal(second.metadata.deletionGracePeriodSeconds, 5);
      const third = await api.remove("pods/a", { gracePeriodSeconds: 10 });
      assert.equal(third.metadata.deletionGracePeriodSeconds, 5);
      await api.remove("pods/a?gracePeriodSeconds=0");
      await api.refused(404, "GET", "pods/a");
    },
  },
  {
    name: "a pod that has ended goes at once",
    async run(api) {
      await api.create("pods", pod("a", { nodeName: "n" }));
      await api.merge("pods/a/status", { status: { phase: "Succeeded" } });
      await api.remove("pods/a");
      await api.refused(404, "GET", "pods/a");
    },
  },
  {
    name: "a negative grace is one second",
    async run(api) {
      await api.create("pods", pod("a", { nodeName: "n" }));
      const { metadata } = await api.remove("pods/a", { gracePeriodSeconds: -5 });
      assert.equal(metadata.deletionGracePeriodSeconds, 1);
      await api.remove("pods/a", { gracePeriodSeconds: 0 });
    },
  },
  {
    name: "an unknown propagation policy is invalid",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const { reason } = await api.refused(422, "DELETE", "configmaps/a", {
        body: { propagationPolicy: "Sideways" },
      });
      assert.equal(reason, "Invalid");
    },
  },
  {
    name: "orphanDependents and propagationPolicy exclude each other",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      await api.refused(422, "DELETE", "configmaps/a", {
        body: { propagationPolicy: "Background", orphanDependents: true },
      });
    },
  },
  {
    name: "deletion options come with their kind or without, in the body or in the query",
    async run(api) {
      for (const name of ["a", "b"]) await api.create("configmaps", configMap(name));
      await api.remove("configmaps/a", {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: "Background",
      });
      await api.remove("configmaps/b?propagationPolicy=Background");
      await api.gone("configmaps/a");
      await api.gone("configmaps/b");
    },
  },
  {
    name: "foreground deletion marks the object with its finalizer",
    async run(api) {
      await api.create("batch/v1/jobs", job("a", {}, HELD));
      const answer = await api.remove("batch/v1/jobs/a", { propagationPolicy: "Foreground" });
      assert.ok(answer.metadata.finalizers.includes("foregroundDeletion"));
      await api.merge("batch/v1/jobs/a", FREE);
      await api.gone("batch/v1/jobs/a");
    },
  },
  {
    name: "a collection is deleted by its selector, and answered with what went",
    async run(api) {
      for (const name of ["a", "b"]) {
        await api.create("configmaps", configMap(name, { labels: { go: "yes" } }));
      }
      await api.create("configmaps", configMap("c"));
      const answer = await api.remove("configmaps?labelSelector=go=yes");
      assert.equal(answer.kind, "ConfigMapList");
      assert.deepEqual(answer.items.map(({ metadata }: Answer) => metadata.name), ["a", "b"]);
      const left = (await api.get("configmaps")).items.map(({ metadata }: Answer) => metadata.name);
      assert.ok(left.includes("c") && !left.includes("a"));
    },
  },
  {
    name: "a collection is deleted whole",
    async run(api) {
      await api.create("secrets", object("v1", "Secret", "a"));
      await api.remove("secrets");
      assert.deepEqual((await api.get("secrets")).items, []);
    },
  },
  {
    name: "an eviction is a deletion",
    async run(api) {
      await api.create("pods", pod("a"));
      const body = object("policy/v1", "Eviction", "a");
      const answer = await api.create("pods/a/eviction", body);
      assert.equal(answer.status, "Success");
      await api.gone("pods/a");
    },
  },
];
