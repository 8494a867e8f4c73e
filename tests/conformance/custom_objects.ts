/** Conformance of custom objects. */
import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import { type Answer, type Case, JSON_PATCH, MERGE } from "./api.ts";
import { define, thing, things } from "./custom_kinds.ts";

const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const PROPERTIES = { spec: OPEN, status: OPEN };
const WITH_STATUS = { properties: PROPERTIES, version: { subresources: { status: {} } } };

function names({ items }: Answer): string[] {
  return items.map(({ metadata }: Answer) => metadata.name);
}

export const customObjects: Case[] = [
  {
    name: "a custom object gets UID, version, creation time and the generation 1",
    async run(api) {
      const path = await define(api, WITH_STATUS);
      const { metadata } = await api.create(path, thing(api, "a", { spec: { x: 1 } }));
      assert.ok(metadata.uid && metadata.resourceVersion && metadata.creationTimestamp);
      assert.equal(metadata.generation, 1);
    },
  },
  {
    name: "a watch of a custom kind tells each change",
    async run(api) {
      const path = await define(api, WITH_STATUS);
      const since = (await api.get(path)).metadata.resourceVersion;
      const lines = await api.watch(`${path}?watch=true&resourceVersion=${since}`, 4, async () => {
        await api.create(path, thing(api, "a", { spec: { x: 1 } }));
        await api.merge(`${path}/a`, { spec: { x: 2 } });
        await api.merge(`${path}/a/status`, { status: { y: 1 } });
        await api.remove(`${path}/a`);
      });
      assert.deepEqual(lines.map(({ type }) => type), ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]);
      assert.deepEqual(lines[2]?.object.status, { y: 1 });
      assert.equal(lines[2]?.object.metadata.generation, 2);
    },
  },
  {
    name: "a list of a custom kind over all namespaces is selected by labels",
    async run(api) {
      const path = await define(api);
      for (const [name, tier] of [["a", "x"], ["b", "y"]] as const) {
        const body = thing(api, name);
        body.metadata.labels = { tier };
        await api.create(path, body);
      }
      const all = `/apis/${things(api)}`;
      assert.deepEqual(names(await api.get(`${all}?labelSelector=tier=y`)), ["b"]);
      assert.deepEqual(names(await api.get(`${all}?fieldSelector=metadata.name=a`)), ["a"]);
    },
  },
  {
    name: "pages of a custom kind",
    async run(api) {
      const path = await define(api);
      for (const name of ["a", "b", "c"]) await api.create(path, thing(api, name));
      const first = await api.get(`${path}?limit=2`);
      assert.deepEqual(names(first), ["a", "b"]);
      const token = encodeURIComponent(first.metadata.continue);
      assert.deepEqual(names(await api.get(`${path}?continue=${token}`)), ["c"]);
    },
  },
  {
    name: "a JSON patch of a custom object tests before it changes",
    async run(api) {
      const path = await define(api, WITH_STATUS);
      const { metadata } = await api.create(path, thing(api, "a", { spec: { x: 1 } }));
      const operations = [
        { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
        { op: "replace", path: "/spec/x", value: 2 },
      ];
      assert.equal((await api.json(`${path}/a`, operations)).spec.x, 2);
      await api.refused(422, "PATCH", `${path}/a`, { type: JSON_PATCH, body: operations });
    },
  },
  {
    name: "a status patch with an old resource version is 409",
    async run(api) {
      const path = await define(api, WITH_STATUS);
      const { metadata: { resourceVersion } } = await api.create(path, thing(api, "a"));
      await api.merge(`${path}/a`, { spec: { x: 1 } });
      const body = { metadata: { resourceVersion }, status: { y: 1 } };
      const { reason, message } = await api.refused(409, "PATCH", `${path}/a/status`, {
        type: MERGE,
        body,
      });
      assert.equal(reason, "Conflict");
      assert.match(message, new RegExp(`on things\\.${api.id}\\.example\\.com "a"`));
    },
  },
  {
    name: "of the UID in a status patch only a test is a precondition",
    async run(api) {
      const path = await define(api, WITH_STATUS);
      const { metadata } = await api.create(path, thing(api, "a"));
      const uid = "00000000-0000-0000-0000-000000000000";
      const next = await api.merge(`${path}/a/status`, { metadata: { uid }, status: { y: 1 } });
      assert.equal(next.metadata.uid, metadata.uid);
      assert.deepEqual(next.status, { y: 1 });
      const operations = (value: string) => [
        { op: "test", path: "/metadata/uid", value },
        { op: "add", path: "/status/y", value: 2 },
      ];
      const body = operations(uid);
      await api.refused(422, "PATCH", `${path}/a/status`, { type: JSON_PATCH, body });
      assert.equal((await api.json(`${path}/a/status`, operations(metadata.uid))).status.y, 2);
      await api.refused(422, "PATCH", `${path}/a`, { type: MERGE, body: { metadata: { uid } } });
    },
  },
  {
    name: "a patch that changes nothing keeps the resource version",
    async run(api) {
      const path = await define(api, WITH_STATUS);
      const made = await api.create(path, thing(api, "a", { spec: { x: 1 } }));
      const same = await api.merge(`${path}/a`, { spec: { x: 1 } });
      assert.equal(same.metadata.resourceVersion, made.metadata.resourceVersion);
    },
  },
  {
    name: "a custom object waits for its finalizers",
    async run(api) {
      const path = await define(api);
      const body = thing(api, "a");
      body.metadata.finalizers = ["example.com/held"];
      await api.create(path, body);
      const { metadata } = await api.remove(`${path}/a`);
      assert.ok(metadata.deletionTimestamp);
      assert.equal(metadata.deletionGracePeriodSeconds, 0);
      assert.equal(metadata.generation, 2);
      await api.merge(`${path}/a`, { metadata: { finalizers: null } });
      await api.refused(404, "GET", `${path}/a`);
    },
  },
  {
    name: "a dry run of a custom object validates and stores nothing",
    async run(api) {
      const path = await define(api, {
        properties: { spec: { type: "object", properties: { x: { type: "integer" } } } },
      });
      await api.create(`${path}?dryRun=All`, thing(api, "a", { spec: { x: 1 } }));
      await api.refused(404, "GET", `${path}/a`);
      const body = thing(api, "a", { spec: { x: "one" } });
      await api.refused(422, "POST", `${path}?dryRun=All`, { body });
    },
  },
  {
    name: "errors about custom objects name kind and group",
    async run(api) {
      const path = await define(api);
      const group = `${api.id}.example.com`;
      const { message, details } = await api.refused(404, "GET", `${path}/a`);
      assert.equal(message, `things.${group} "a" not found`);
      assert.deepEqual(details, { name: "a", group, kind: "things" });
      await api.create(path, thing(api, "a"));
      const again = await api.refused(409, "POST", path, { body: thing(api, "a") });
      assert.equal(again.message, `things.${group} "a" already exists`);
    },
  },
  {
    name:
      "a custom object of another kind than the path's is invalid, of another version a bad request",
    async run(api) {
      const path = await define(api);
      const other = { ...thing(api, "a"), kind: "Other" };
      const { details } = await api.refused(422, "POST", path, { body: other });
      assert.equal(details.causes[0].field, "kind");
      const body = { ...thing(api, "a"), apiVersion: `${api.id}.example.com/v9` };
      await api.refused(400, "POST", path, { body });
    },
  },
  {
    name: "a custom object without apiVersion and kind is a bad request",
    async run(api) {
      const path = await define(api);
      await api.refused(400, "POST", path, { body: { metadata: { name: "a" } } });
    },
  },
  {
    name: "a service account is given rights on a custom kind like on any other",
    async run(api) {
      const path = await define(api);
      const RBAC = "rbac.authorization.k8s.io/v1";
      const rules = [{
        verbs: ["list"],
        apiGroups: [`${api.id}.example.com`],
        resources: ["things"],
      }];
      await api.create(`${RBAC}/roles`, { metadata: { name: "a" }, rules });
      await api.create(`${RBAC}/rolebindings`, {
        metadata: { name: "a" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" },
        subjects: [{ kind: "ServiceAccount", name: "default", namespace: api.ns }],
      });
      const { status: { token } } = await api.create("serviceaccounts/default/token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      });
      await until("the rights to hold", async () => {
        return (await api.call("GET", path, { token })).status === 200;
      });
      await api.refused(403, "POST", path, { token, body: thing(api, "a") });
    },
  },
];
