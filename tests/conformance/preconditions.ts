/** Conformance of preconditions of writes: UID and resource version, in deletions, updates and patches. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { configMap } from "./objects.ts";

const OTHER = "00000000-0000-0000-0000-000000000000";

export const preconditions: Case[] = [
  {
    name: "a deletion with the right UID and resource version is done",
    async run(api) {
      const { metadata: { uid, resourceVersion } } = await api.create("configmaps", configMap("a"));
      await api.remove("configmaps/a", { preconditions: { uid, resourceVersion } });
      await api.refused(404, "GET", "configmaps/a");
    },
  },
  {
    name: "a deletion with another UID is 409 Conflict",
    async run(api) {
      const { metadata: { uid } } = await api.create("configmaps", configMap("a"));
      const { reason, message } = await api.refused(409, "DELETE", "configmaps/a", {
        body: { preconditions: { uid: OTHER } },
      });
      assert.equal(reason, "Conflict");
      assert.ok(message.includes(OTHER) && message.includes(uid), message);
    },
  },
  {
    name: "a deletion with an old resource version is 409 Conflict",
    async run(api) {
      const { metadata } = await api.create("configmaps", configMap("a"));
      await api.merge("configmaps/a", { data: { b: "2" } });
      const { reason } = await api.refused(409, "DELETE", "configmaps/a", {
        body: { preconditions: { resourceVersion: metadata.resourceVersion } },
      });
      assert.equal(reason, "Conflict");
      assert.equal((await api.get("configmaps/a")).data.b, "2");
    },
  },
  {
    name: "a deletion of what waits for a finalizer looks at the UID too",
    async run(api) {
      await api.create("configmaps", configMap("a", { finalizers: ["example.com/a"] }));
      await api.remove("configmaps/a");
      await api.refused(409, "DELETE", "configmaps/a", { body: { preconditions: { uid: OTHER } } });
      await api.merge("configmaps/a", { metadata: { finalizers: null } });
    },
  },
  {
    name: "a merge patch with the current resource version is done, and then no more",
    async run(api) {
      const { metadata: { resourceVersion } } = await api.create("configmaps", configMap("a"));
      const body = (value: string) => ({ metadata: { resourceVersion }, data: { a: value } });
      assert.equal((await api.merge("configmaps/a", body("2"))).data.a, "2");
      const { reason } = await api.refused(409, "PATCH", "configmaps/a", {
        type: "application/merge-patch+json",
        body: body("3"),
      });
      assert.equal(reason, "Conflict");
    },
  },
  {
    name: "a JSON patch can test the resource version",
    async run(api) {
      const { metadata } = await api.create("configmaps", configMap("a"));
      const operations = [
        { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
        { op: "replace", path: "/data/a", value: "2" },
      ];
      await api.json("configmaps/a", operations);
      await api.refused(422, "PATCH", "configmaps/a", {
        type: "application/json-patch+json",
        body: operations,
      });
    },
  },
  {
    name: "a JSON patch can test the UID",
    async run(api) {
      const { metadata } = await api.create("configmaps", configMap("a"));
      const operations = (uid: string) => [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "add", path: "/data/b", value: "2" },
      ];
      await api.json("configmaps/a", operations(metadata.uid));
      await api.refused(422, "PATCH", "configmaps/a", {
        type: "application/json-patch+json",
        body: operations(OTHER),
      });
    },
  },
  {
    name: "an update of what was deleted and made anew is 409 by its UID",
    async run(api) {
      const first = await api.create("configmaps", configMap("a"));
      await api.remove("configmaps/a");
      await api.create("configmaps", configMap("a"));
      const { reason } = await api.refused(409, "PUT", "configmaps/a", { body: first });
      assert.equal(reason, "Conflict");
    },
  },
  {
    name: "an update of what is gone is 404 or 409, never a new object",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      await api.remove("configmaps/a");
      const { status } = await api.call("PUT", "configmaps/a", { body: made });
      assert.ok(status === 404 || status === 409, `${status}`);
      await api.refused(404, "GET", "configmaps/a");
    },
  },
  {
    name: "only one of two updates from the same version is done",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const answers = await Promise.all(
        ["x", "y"].map((value) =>
          api.call("PUT", "configmaps/a", { body: { ...made, data: { a: value } } })
        ),
      );
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
    },
  },
];
