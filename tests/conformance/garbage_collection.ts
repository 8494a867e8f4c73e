/** Conformance of garbage collection: owners, dependents, propagation. */
import assert from "node:assert/strict";
import type { Answer, Case, Sandbox } from "./api.ts";
import { configMap, job, ownedBy, pod } from "./objects.ts";

const SEEN = { kind: "ConfigMap", apiVersion: "v1" };

/** An owner and a dependent of it. */
async function family(api: Sandbox, more: Record<string, unknown> = {}): Promise<Answer> {
  const owner = await api.create("configmaps", configMap("owner"));
  await api.create("configmaps", configMap("child", ownedBy(owner, more)));
  return owner;
}

export const garbageCollection: Case[] = [
  {
    name: "dependents go in the background",
    async run(api) {
      await family(api);
      await api.remove("configmaps/owner", { propagationPolicy: "Background" });
      await api.refused(404, "GET", "configmaps/owner");
      await api.gone("configmaps/child");
    },
  },
  {
    name: "background is what happens unasked",
    async run(api) {
      await family(api);
      await api.remove("configmaps/owner");
      await api.gone("configmaps/child");
    },
  },
  {
    name: "dependents of dependents go too",
    async run(api) {
      await family(api);
      const child = await api.get("configmaps/child");
      await api.create("configmaps", configMap("grandchild", ownedBy(child)));
      await api.remove("configmaps/owner");
      await api.gone("configmaps/grandchild");
    },
  },
  {
    name: "orphans stay, without their owner",
    async run(api) {
      await family(api);
      await api.remove("configmaps/owner", { propagationPolicy: "Orphan" });
      await api.gone("configmaps/owner");
      const { metadata } = await api.get("configmaps/child");
      assert.equal(metadata.ownerReferences, undefined);
    },
  },
  {
    name: "a foreground owner waits for the dependents that block it",
    async run(api) {
      const owner = await api.create("configmaps", configMap("owner"));
      const metadata = {
        ...ownedBy(owner, { blockOwnerDeletion: true }),
        finalizers: ["example.com/held"],
      };
      await api.create("configmaps", configMap("child", metadata));
      await api.remove("configmaps/owner", { propagationPolicy: "Foreground" });
      await api.until(
        "the child to be deleted",
        "configmaps/child",
        ({ body }) => body.metadata.deletionTimestamp !== undefined,
      );
      assert.equal((await api.get("configmaps/owner")).kind, "ConfigMap");
      await api.merge("configmaps/child", { metadata: { finalizers: null } });
      await api.gone("configmaps/owner");
    },
  },
  {
    name: "a foreground owner without dependents goes",
    async run(api) {
      await api.create("configmaps", configMap("owner"));
      await api.remove("configmaps/owner", { propagationPolicy: "Foreground" });
      await api.gone("configmaps/owner");
    },
  },
  {
    name: "what names an owner that never was goes",
    async run(api) {
      const owner = {
        ...SEEN,
        metadata: { name: "none", uid: "00000000-0000-0000-0000-000000000001" },
      };
      await api.create("configmaps", configMap("child", ownedBy(owner)));
      await api.gone("configmaps/child");
    },
  },
  {
    name: "what names its owner's name with another UID goes",
    async run(api) {
      await api.create("configmaps", configMap("owner"));
      const owner = {
        ...SEEN,
        metadata: { name: "owner", uid: "00000000-0000-0000-0000-000000000001" },
      };
      await api.create("configmaps", configMap("child", ownedBy(owner)));
      await api.gone("configmaps/child");
      assert.equal((await api.get("configmaps/owner")).kind, "ConfigMap");
    },
  },
  {
    name: "a dependent of two owners stays while one is there",
    async run(api) {
      const one = await api.create("configmaps", configMap("one"));
      const two = await api.create("configmaps", configMap("two"));
      const ownerReferences = [one, two].flatMap((owner) => ownedBy(owner).ownerReferences);
      await api.create("configmaps", configMap("child", { ownerReferences }));
      await api.remove("configmaps/one");
      const { body } = await api.until(
        "the first owner to be forgotten",
        "configmaps/child",
        ({ body }) => body.metadata?.ownerReferences?.length === 1,
      );
      assert.equal(body.metadata.ownerReferences[0].name, "two");
    },
  },
  {
    name: "pods of a Job go with it",
    async run(api) {
      const owner = await api.create("batch/v1/jobs", job("a"));
      await api.create("pods", pod("p", {}, ownedBy(owner, { controller: true })));
      await api.remove("batch/v1/jobs/a", { propagationPolicy: "Background" });
      await api.gone("pods/p");
    },
  },
  {
    name: "pods of a Job stay when nothing is said about them",
    async run(api) {
      const owner = await api.create("batch/v1/jobs", job("a"));
      await api.create("pods", pod("p", {}, ownedBy(owner)));
      await api.remove("batch/v1/jobs/a");
      await api.gone("batch/v1/jobs/a");
      assert.equal((await api.get("pods/p")).metadata.ownerReferences, undefined);
    },
  },
  {
    name: "a Job that goes with its owner takes its pods along",
    async run(api) {
      const owner = await api.create("configmaps", configMap("owner"));
      const made = await api.create("batch/v1/jobs", job("a", {}, ownedBy(owner)));
      await api.create("pods", pod("p", {}, ownedBy(made)));
      await api.remove("configmaps/owner");
      await api.gone("batch/v1/jobs/a");
      await api.gone("pods/p");
    },
  },
  {
    name: "a Job that goes with its owner leaves its pods where its finalizer says so",
    async run(api) {
      const owner = await api.create("configmaps", configMap("owner"));
      const metadata = { ...ownedBy(owner), finalizers: ["orphan"] };
      const made = await api.create("batch/v1/jobs", job("a", {}, metadata));
      await api.create("pods", pod("p", {}, ownedBy(made)));
      await api.remove("configmaps/owner");
      await api.gone("batch/v1/jobs/a");
      assert.equal((await api.get("pods/p")).metadata.ownerReferences, undefined);
    },
  },
];
