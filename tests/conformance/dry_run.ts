/** Conformance of dry runs, generated names and field validation. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap, job, object, pod } from "./objects.ts";

const GENERATED = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "job-" } };

export const dryRun: Case[] = [
  {
    name: "a dry creation answers what would be, and stores nothing",
    async run(api) {
      const { status, body } = await api.call("POST", "batch/v1/jobs?dryRun=All", {
        body: job("a"),
      });
      assert.equal(status, 201);
      assert.ok(body.metadata.uid);
      assert.equal(body.spec.backoffLimit, 6);
      await api.refused(404, "GET", "batch/v1/jobs/a");
    },
  },
  {
    name: "a dry creation is validated",
    async run(api) {
      const body = job("a", { backoffLimit: -1 });
      await api.refused(422, "POST", "batch/v1/jobs?dryRun=All", { body });
    },
  },
  {
    name: "a dry creation of what exists is 409",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      await api.refused(409, "POST", "configmaps?dryRun=All", { body: configMap("a") });
    },
  },
  {
    name: "a dry update and a dry patch change nothing",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const put = await api.put("configmaps/a?dryRun=All", { ...made, data: { b: "2" } });
      assert.deepEqual(put.data, { b: "2" });
      const patched = await api.merge("configmaps/a?dryRun=All", { data: { c: "3" } });
      assert.equal(patched.data.c, "3");
      assert.deepEqual(await api.get("configmaps/a"), made);
    },
  },
  {
    name: "a dry deletion deletes nothing, by its query or by its options",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      await api.remove("configmaps/a?dryRun=All");
      await api.remove("configmaps/a", { dryRun: ["All"] });
      assert.equal((await api.get("configmaps/a")).kind, "ConfigMap");
    },
  },
  {
    name: "a dry deletion of a collection deletes nothing",
    async run(api) {
      await api.create("secrets", object("v1", "Secret", "a"));
      await api.remove("secrets?dryRun=All");
      assert.equal((await api.get("secrets")).items.length, 1);
    },
  },
  {
    name: "another value of dryRun is refused",
    async run(api) {
      const { reason } = await api.refused(422, "POST", "configmaps?dryRun=Some", {
        body: configMap("a"),
      });
      assert.equal(reason, "Invalid");
    },
  },
  {
    name: "a generated name is the prefix and five letters or digits",
    async run(api) {
      const { metadata } = await api.create("configmaps", GENERATED);
      assert.match(metadata.name, /^job-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      assert.equal(metadata.generateName, "job-");
    },
  },
  {
    name: "generated names differ",
    async run(api) {
      const made = await Promise.all([1, 2, 3].map(() => api.create("configmaps", GENERATED)));
      assert.equal(new Set(made.map(({ metadata }) => metadata.name)).size, 3);
    },
  },
  {
    name: "a name wins over a prefix",
    async run(api) {
      const metadata = { name: "a", generateName: "b-" };
      const made = await api.create("configmaps", { ...GENERATED, metadata });
      assert.equal(made.metadata.name, "a");
    },
  },
  {
    name: "a long prefix is cut so that the name is a name",
    async run(api) {
      const metadata = { generateName: "a".repeat(70) };
      const made = await api.create("configmaps", { ...GENERATED, metadata });
      assert.equal(made.metadata.name.length, 63);
    },
  },
  {
    name: "unknown fields are dropped with a warning",
    async run(api) {
      const body = { ...configMap("a"), colour: "red" };
      const { status, headers, body: made } = await api.call("POST", "configmaps", { body });
      assert.equal(status, 201);
      assert.equal(headers.get("warning"), '299 - "unknown field \\"colour\\""');
      assert.equal(made.colour, undefined);
    },
  },
  {
    name: "unknown fields are refused where fields are read strictly",
    async run(api) {
      const body = { ...pod("a"), colour: "red" };
      const { reason, message } = await api.refused(400, "POST", "pods?fieldValidation=Strict", {
        body,
      });
      assert.equal(reason, "BadRequest");
      assert.match(message, /strict decoding error: unknown field "colour"/);
    },
  },
  {
    name: "unknown fields inside lists are named with their place",
    async run(api) {
      const body = pod("a", {
        containers: [{ name: "c", image: "example.com/i:1", colour: "red" }],
      });
      const { message } = await api.refused(400, "POST", "pods?fieldValidation=Strict", { body });
      assert.match(message, /unknown field "spec\.containers\[0\]\.colour"/);
    },
  },
  {
    name: "unknown fields go in silence where they are ignored",
    async run(api) {
      const body = { ...configMap("a"), colour: "red" };
      const { status, headers } = await api.call("POST", "configmaps?fieldValidation=Ignore", {
        body,
      });
      assert.equal(status, 201);
      assert.equal(headers.get("warning"), null);
    },
  },
  {
    name: "a duplicate key is refused where fields are read strictly",
    async run(api) {
      const body = '{"metadata":{"name":"a"},"data":{"x":"1","x":"2"}}';
      const { message } = await api.refused(400, "POST", "configmaps?fieldValidation=Strict", {
        body,
      });
      assert.match(message, /duplicate field "data\.x"/);
    },
  },
  {
    name: "another value of fieldValidation is refused",
    async run(api) {
      await api.refused(422, "POST", "configmaps?fieldValidation=Loud", { body: configMap("a") });
    },
  },
];
