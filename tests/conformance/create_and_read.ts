/** Conformance of creation and reads: what the server adds, keeps and refuses. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap, object } from "./objects.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export const createAndRead: Case[] = [
  {
    name: "a new object gets a UID, a resource version and its creation time in whole seconds",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      assert.match(made.metadata.uid, UUID);
      assert.match(made.metadata.creationTimestamp, TIME);
      assert.match(made.metadata.resourceVersion, /^\d+$/);
      assert.equal(made.metadata.namespace, api.ns);
    },
  },
  {
    name: "creating answers 201, and reading back gives the same object",
    async run(api) {
      const { status, body } = await api.call("POST", "configmaps", { body: configMap("a") });
      assert.equal(status, 201);
      assert.deepEqual(await api.get("configmaps/a"), body);
    },
  },
  {
    name: "apiVersion and kind may be left out of what is sent",
    async run(api) {
      const made = await api.create("configmaps", { metadata: { name: "a" }, data: { b: "2" } });
      assert.equal(made.kind, "ConfigMap");
      assert.equal(made.apiVersion, "v1");
    },
  },
  {
    name: "a second object of the same name is 409 AlreadyExists",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const { reason, message, details } = await api.refused(409, "POST", "configmaps", {
        body: configMap("a"),
      });
      assert.equal(reason, "AlreadyExists");
      assert.equal(message, 'configmaps "a" already exists');
      assert.deepEqual(details, { name: "a", kind: "configmaps" });
    },
  },
  {
    name: "what the server itself sets cannot be sent",
    async run(api) {
      const metadata = {
        uid: "00000000-0000-0000-0000-000000000000",
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 5,
      };
      const made = await api.create("configmaps", configMap("a", metadata));
      assert.notEqual(made.metadata.uid, metadata.uid);
      assert.notEqual(made.metadata.creationTimestamp, metadata.creationTimestamp);
      assert.equal(made.metadata.deletionTimestamp, undefined);
    },
  },
  {
    name: "an object with a resource version cannot be created",
    async run(api) {
      const body = configMap("a", { resourceVersion: "1" });
      const { message } = await api.refused(500, "POST", "configmaps", { body });
      assert.match(message, /resourceVersion should not be set on objects to be created/);
    },
  },
  {
    name: "a namespace in the object that is not the path's is a bad request",
    async run(api) {
      const body = configMap("a", { namespace: "elsewhere" });
      const { message } = await api.refused(400, "POST", "configmaps", { body });
      assert.match(message, /does not match the namespace/);
    },
  },
  {
    name: "a kind that is not the path's is a bad request",
    async run(api) {
      const body = object("v1", "Secret", "a");
      assert.equal((await api.refused(400, "POST", "configmaps", { body })).reason, "BadRequest");
    },
  },
  {
    name: "an API version that is not the path's is a bad request",
    async run(api) {
      const body = { ...configMap("a"), apiVersion: "v2" };
      await api.refused(400, "POST", "configmaps", { body });
    },
  },
  {
    name: "an object without a name is invalid, and says that name or generateName is required",
    async run(api) {
      const body = { apiVersion: "v1", kind: "ConfigMap" };
      const { reason, details } = await api.refused(422, "POST", "configmaps", { body });
      assert.equal(reason, "Invalid");
      assert.equal(details.causes[0].reason, "FieldValueRequired");
      assert.match(details.causes[0].message, /name or generateName is required/);
    },
  },
  {
    name: "what does not exist is 404 NotFound with its kind and name",
    async run(api) {
      const { reason, message, details } = await api.refused(404, "GET", "configmaps/a");
      assert.equal(reason, "NotFound");
      assert.equal(message, 'configmaps "a" not found');
      assert.deepEqual(details, { name: "a", kind: "configmaps" });
    },
  },
  {
    name: "what does not exist in a group has the group in the message and the details",
    async run(api) {
      const { message, details } = await api.refused(404, "GET", "batch/v1/jobs/a");
      assert.equal(message, 'jobs.batch "a" not found');
      assert.deepEqual(details, { name: "a", group: "batch", kind: "jobs" });
    },
  },
  {
    name: "a namespace that does not exist takes no objects",
    async run(api) {
      const path = `/api/v1/namespaces/${api.id}-none/configmaps`;
      const { message } = await api.refused(404, "POST", path, { body: configMap("a") });
      assert.equal(message, `namespaces "${api.id}-none" not found`);
    },
  },
  {
    name: "a namespace that does not exist has an empty list of objects",
    async run(api) {
      const list = await api.get(`/api/v1/namespaces/${api.id}-none/configmaps`);
      assert.deepEqual(list.items, []);
    },
  },
  {
    name: "labels and annotations are kept",
    async run(api) {
      const metadata = { labels: { a: "b", "x.io/c": "" }, annotations: { "x.io/d": '{"e": 1}' } };
      const made = await api.create("configmaps", configMap("a", metadata));
      assert.deepEqual(made.metadata.labels, metadata.labels);
      assert.deepEqual(made.metadata.annotations, metadata.annotations);
    },
  },
  {
    name: "binaryData and data are kept as they are",
    async run(api) {
      const more = { data: { b: "ä\n" }, binaryData: { c: "AAEC" }, immutable: false };
      await api.create("configmaps", configMap("a", {}, more));
      const { data, binaryData } = await api.get("configmaps/a");
      assert.deepEqual({ data, binaryData }, { data: more.data, binaryData: more.binaryData });
    },
  },
  {
    name: "stringData of a Secret becomes data, and wins",
    async run(api) {
      const more = { data: { a: btoa("1"), b: btoa("2") }, stringData: { b: "3" } };
      const made = await api.create("secrets", object("v1", "Secret", "a", more));
      assert.deepEqual(made.data, { a: btoa("1"), b: btoa("3") });
      assert.equal(made.stringData, undefined);
      assert.equal(made.type, "Opaque");
    },
  },
  {
    name: "null is as good as absent",
    async run(api) {
      const body = configMap("a", { labels: null, annotations: null }, { binaryData: null });
      const made = await api.create("configmaps", body);
      assert.equal(made.metadata.labels, undefined);
      assert.equal(made.binaryData, undefined);
    },
  },
];
