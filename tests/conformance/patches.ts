/** Conformance of JSON, merge and strategic merge patches. */
import assert from "node:assert/strict";
import { type Case, JSON_PATCH, MERGE, STRATEGIC } from "./api.ts";
import { configMap, pod } from "./objects.ts";

/** A patch of one media type: what it changes, and what the data of the ConfigMap is then. */
const DATA: Record<string, { type: string; patch: unknown; want: unknown }> = {
  "a merge patch adds and replaces keys": {
    type: MERGE,
    patch: { data: { a: "2", c: "3" } },
    want: { a: "2", b: "x", c: "3" },
  },
  "a merge patch removes with null": {
    type: MERGE,
    patch: { data: { a: null } },
    want: { b: "x" },
  },
  "a merge patch with null removes all": { type: MERGE, patch: { data: null }, want: undefined },
  "a strategic patch merges maps": {
    type: STRATEGIC,
    patch: { data: { c: "3" } },
    want: { a: "1", b: "x", c: "3" },
  },
  "a strategic patch removes with null": {
    type: STRATEGIC,
    patch: { data: { a: null } },
    want: { b: "x" },
  },
  "a strategic patch replaces a map that says so": {
    type: STRATEGIC,
    patch: { data: { $patch: "replace", c: "3" } },
    want: { c: "3" },
  },
  "a JSON patch adds a key": {
    type: JSON_PATCH,
    patch: [{ op: "add", path: "/data/c", value: "3" }],
    want: { a: "1", b: "x", c: "3" },
  },
  "a JSON patch replaces a key": {
    type: JSON_PATCH,
    patch: [{ op: "replace", path: "/data/a", value: "2" }],
    want: { a: "2", b: "x" },
  },
  "a JSON patch that replaces a key that is not there adds it": {
    type: JSON_PATCH,
    patch: [{ op: "replace", path: "/data/c", value: "3" }],
    want: { a: "1", b: "x", c: "3" },
  },
  "a JSON patch removes a key": {
    type: JSON_PATCH,
    patch: [{ op: "remove", path: "/data/a" }],
    want: { b: "x" },
  },
  "a JSON patch copies a key": {
    type: JSON_PATCH,
    patch: [{ op: "copy", from: "/data/a", path: "/data/c" }],
    want: { a: "1", b: "x", c: "1" },
  },
  "a JSON patch moves a key": {
    type: JSON_PATCH,
    patch: [{ op: "move", from: "/data/a", path: "/data/c" }],
    want: { b: "x", c: "1" },
  },
  "a JSON patch continues if its test holds": {
    type: JSON_PATCH,
    patch: [
      { op: "test", path: "/data/a", value: "1" },
      { op: "replace", path: "/data/a", value: "2" },
    ],
    want: { a: "2", b: "x" },
  },
  "a JSON patch takes `__proto__` as a plain key": {
    type: JSON_PATCH,
    patch: [{ op: "add", path: "/data/__proto__", value: "3" }],
    want: JSON.parse('{"a": "1", "b": "x", "__proto__": "3"}'),
  },
  "a merge patch takes `__proto__` as a plain key": {
    type: MERGE,
    patch: JSON.parse('{"data": {"__proto__": "3"}}'),
    want: JSON.parse('{"a": "1", "b": "x", "__proto__": "3"}'),
  },
};

/** Patches that are refused: with this code and reason. */
const REFUSED: Record<string, { type: string; patch: unknown; code: number; reason: string }> = {
  "a JSON patch whose test fails is 422": {
    type: JSON_PATCH,
    patch: [{ op: "test", path: "/data/a", value: "7" }],
    code: 422,
    reason: "Invalid",
  },
  "a JSON patch that removes what is not there is 422": {
    type: JSON_PATCH,
    patch: [{ op: "remove", path: "/data/z" }],
    code: 422,
    reason: "Invalid",
  },
  "a JSON patch with an unknown operation is 422": {
    type: JSON_PATCH,
    patch: [{ op: "twist", path: "/data/z" }],
    code: 422,
    reason: "Invalid",
  },
  "a JSON patch that is no list is a bad request": {
    type: JSON_PATCH,
    patch: { op: "add" },
    code: 400,
    reason: "BadRequest",
  },
  "a merge patch that is not JSON is a bad request": {
    type: MERGE,
    patch: "{",
    code: 400,
    reason: "BadRequest",
  },
  "a patch of another media type is 415": {
    type: "application/json",
    patch: {},
    code: 415,
    reason: "UnsupportedMediaType",
  },
  "a patch with an old resource version is 409": {
    type: MERGE,
    patch: { metadata: { resourceVersion: "1" }, data: { a: "2" } },
    code: 409,
    reason: "Conflict",
  },
  "a patch with another UID is 422": {
    type: MERGE,
    patch: { metadata: { uid: "00000000-0000-0000-0000-000000000000" } },
    code: 422,
    reason: "Invalid",
  },
  "a patch that leaves an invalid object is 422": {
    type: MERGE,
    patch: { metadata: { labels: { "not a label": "x" } } },
    code: 422,
    reason: "Invalid",
  },
  "a patch of the name is a bad request": {
    type: MERGE,
    patch: { metadata: { name: "b" } },
    code: 400,
    reason: "BadRequest",
  },
};

export const patches: Case[] = [
  ...Object.entries(DATA).map(([name, { type, patch, want }]): Case => ({
    name,
    async run(api) {
      await api.create("configmaps", configMap("a", {}, { data: { a: "1", b: "x" } }));
      const body = JSON.stringify(patch);
      const next = await api.ok("PATCH", "configmaps/a", { type, body });
      assert.equal(JSON.stringify(sorted(next.data)), JSON.stringify(sorted(want)));
    },
  })),
  ...Object.entries(REFUSED).map(([name, { type, patch, code, reason }]): Case => ({
    name,
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const status = await api.refused(code, "PATCH", "configmaps/a", { type, body: patch });
      assert.equal(status.reason, reason);
    },
  })),
  {
    name: "a JSON patch puts an item into a list, and at its end",
    async run(api) {
      await api.create("pods", pod("a", {}, { finalizers: ["x.io/a"] }));
      const path = "/metadata/finalizers";
      const { metadata } = await api.json("pods/a", [
        { op: "add", path: `${path}/0`, value: "x.io/b" },
        { op: "add", path: `${path}/-`, value: "x.io/c" },
      ]);
      assert.deepEqual(metadata.finalizers, ["x.io/b", "x.io/a", "x.io/c"]);
      await api.merge("pods/a", { metadata: { finalizers: null } });
    },
  },
  {
    name: "a patch of what does not exist is 404",
    async run(api) {
      await api.refused(404, "PATCH", "configmaps/a", { type: MERGE, body: {} });
    },
  },
  {
    name: "many patches at once are all kept",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const keys = Array.from({ length: 12 }, (_, index) => `k${index}`);
      await Promise.all(keys.map((key) => api.merge("configmaps/a", { data: { [key]: "x" } })));
      const { data } = await api.get("configmaps/a");
      assert.deepEqual(keys.filter((key) => data[key] === undefined), []);
    },
  },
];

function sorted(data: unknown): unknown {
  return data === undefined ? undefined : Object.entries(Object(data)).toSorted();
}
