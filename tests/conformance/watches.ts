/** Conformance of watches: events, bookmarks, initial events, selectors, expired versions. */
import assert from "node:assert/strict";
import type { Answer, Case, Line, Sandbox } from "./api.ts";
import { configMap, object, pod } from "./objects.ts";

function shown(lines: readonly Line[]): string[] {
  return lines.map(({ type, object }) => `${type} ${object.metadata?.name ?? ""}`.trim());
}

async function now(api: Sandbox, path = "secrets"): Promise<string> {
  return (await api.get(path)).metadata.resourceVersion;
}

function secret(name: string, labels?: Record<string, string>) {
  return { ...object("v1", "Secret", name), metadata: { name, labels } };
}

const END = "k8s.io/initial-events-end";

function isEndOfInitial({ type, object }: Line): boolean {
  return type === "BOOKMARK" && object.metadata.annotations?.[END] === "true";
}

export const watches: Case[] = [
  {
    name: "a watch from a list's resource version tells each change after it, in order",
    async run(api) {
      const since = await now(api);
      const lines = await api.watch(`secrets?watch=true&resourceVersion=${since}`, 3, async () => {
        await api.create("secrets", secret("a"));
        await api.merge("secrets/a", { data: { x: btoa("1") } });
        await api.remove("secrets/a");
      });
      assert.deepEqual(shown(lines), ["ADDED a", "MODIFIED a", "DELETED a"]);
      const versions = lines.map(({ object }) => Number(object.metadata.resourceVersion));
      assert.deepEqual(versions, versions.toSorted((a, b) => a - b));
    },
  },
  {
    name: "events carry whole objects with their kind",
    async run(api) {
      const since = await now(api);
      const made = await api.create("secrets", secret("a"));
      const [line] = await api.watch(`secrets?watch=true&resourceVersion=${since}`, 1);
      assert.deepEqual(line?.object, made);
    },
  },
  {
    name: "a watch without a resource version begins with what is there",
    async run(api) {
      await api.create("secrets", secret("a"));
      await api.create("secrets", secret("b"));
      const lines = await api.watch("secrets?watch=true", 2);
      assert.deepEqual(shown(lines).toSorted(), ["ADDED a", "ADDED b"]);
    },
  },
  {
    name: "a watch from resource version 0 begins with what is there",
    async run(api) {
      await api.create("secrets", secret("a"));
      const lines = await api.watch("secrets?watch=1&resourceVersion=0", 1);
      assert.deepEqual(shown(lines), ["ADDED a"]);
    },
  },
  {
    name: "a watch of one object by its name's field",
    async run(api) {
      const since = await now(api);
      const query = `watch=true&fieldSelector=metadata.name=b&resourceVersion=${since}`;
      const lines = await api.watch(`secrets?${query}`, 1, async () => {
        await api.create("secrets", secret("a"));
        await api.create("secrets", secret("b"));
      });
      assert.deepEqual(shown(lines), ["ADDED b"]);
    },
  },
  {
    name: "a watch of a path with a name is a get: the parameter does nothing there",
    async run(api) {
      await api.create("secrets", secret("a"));
      assert.equal((await api.get("secrets/a?watch=true")).metadata.name, "a");
    },
  },
  {
    name: "the old watch path works",
    async run(api) {
      await api.create("secrets", secret("a"));
      const lines = await api.watch(`/api/v1/watch/namespaces/${api.ns}/secrets`, 1);
      assert.deepEqual(shown(lines), ["ADDED a"]);
    },
  },
  {
    name: "what enters a selection is added to it, what leaves it is deleted from it",
    async run(api) {
      const since = await now(api);
      const query = `watch=true&labelSelector=in=yes&resourceVersion=${since}`;
      const lines = await api.watch(`secrets?${query}`, 3, async () => {
        await api.create("secrets", secret("a"));
        await api.merge("secrets/a", { metadata: { labels: { in: "yes" } } });
        await api.merge("secrets/a", { data: { x: btoa("1") } });
        await api.merge("secrets/a", { metadata: { labels: { in: "no" } } });
      });
      assert.deepEqual(shown(lines), ["ADDED a", "MODIFIED a", "DELETED a"]);
      assert.equal(lines[2]?.object.metadata.labels.in, "yes");
    },
  },
  {
    name: "a deleted event has the object's last state and the deletion's resource version",
    async run(api) {
      const made = await api.create("secrets", secret("a", { x: "y" }));
      const since = made.metadata.resourceVersion;
      const lines = await api.watch(
        `secrets?watch=true&resourceVersion=${since}`,
        1,
        () => api.remove("secrets/a"),
      );
      assert.deepEqual(lines[0]?.object.metadata.labels, { x: "y" });
      assert.ok(Number(lines[0]?.object.metadata.resourceVersion) > Number(since));
    },
  },
  {
    name: "a deletion that waits for a finalizer is a modification first",
    async run(api) {
      const made = await api.create("configmaps", configMap("w", { finalizers: ["x.io/a"] }));
      const since = made.metadata.resourceVersion;
      const query = `watch=true&fieldSelector=metadata.name=w&resourceVersion=${since}`;
      const lines = await api.watch(
        `configmaps?${query}`,
        (all) => all.at(-1)?.type === "DELETED",
        async () => {
          await api.remove("configmaps/w");
          await api.merge("configmaps/w", { metadata: { finalizers: null } });
        },
      );
      assert.equal(lines[0]?.type, "MODIFIED");
      assert.ok(lines[0]?.object.metadata.deletionTimestamp);
    },
  },
  {
    name: "initial events end with a bookmark that says so",
    async run(api) {
      await api.create("secrets", secret("a"));
      const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" +
        "&allowWatchBookmarks=true";
      const lines = await api.watch(`secrets?${query}`, (all) => all.some(isEndOfInitial));
      assert.deepEqual(shown(lines), ["ADDED a", "BOOKMARK"]);
      assert.match(lines[1]?.object.metadata.resourceVersion, /^\d+$/);
      assert.equal(lines[1]?.object.kind, "Secret");
    },
  },
  {
    name: "after initial events come changes",
    async run(api) {
      const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" +
        "&allowWatchBookmarks=true";
      const lines = await api.watch(
        `secrets?${query}`,
        (all) => all.at(-1)?.type === "ADDED",
        () => api.create("secrets", secret("a")),
      );
      assert.equal(lines.at(-1)?.object.metadata.name, "a");
    },
  },
  {
    name: "sendInitialEvents needs resourceVersionMatch=NotOlderThan",
    async run(api) {
      const { reason, details } = await api.refused(
        422,
        "GET",
        "secrets?watch=true&sendInitialEvents=true",
      );
      assert.equal(reason, "Invalid");
      assert.equal(details.causes[0].field, "resourceVersionMatch");
    },
  },
  {
    name: "resourceVersionMatch without sendInitialEvents is refused in a watch",
    async run(api) {
      const query = "watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=0";
      await api.refused(422, "GET", `secrets?${query}`);
    },
  },
  {
    name: "a resource version that is no number is refused",
    async run(api) {
      const { status, body } = await api.call("GET", "secrets?watch=true&resourceVersion=x");
      assert.ok(status >= 400, JSON.stringify(body));
    },
  },
  {
    name: "a watch ends at its timeout",
    async run(api) {
      const since = await now(api);
      const query = `watch=true&timeoutSeconds=1&resourceVersion=${since}`;
      assert.deepEqual(shown(await api.watch(`secrets?${query}`)), []);
    },
  },
  {
    name: "a watch over all namespaces tells of each",
    async run(api) {
      const since = await now(api, "/api/v1/pods?limit=1");
      const query = `watch=true&labelSelector=run=${api.id}&resourceVersion=${since}`;
      const lines = await api.watch(
        `/api/v1/pods?${query}`,
        1,
        () => api.create("pods", pod("a", {}, { labels: { run: api.id } })),
      );
      assert.equal(lines[0]?.object.metadata.namespace, api.ns);
    },
  },
  {
    name: "changes of other kinds and namespaces do not show",
    async run(api) {
      const since = await now(api);
      const lines = await api.watch(`secrets?watch=true&resourceVersion=${since}`, 1, async () => {
        await api.create("configmaps", configMap("a"));
        await api.create("secrets", secret("b"));
      });
      assert.deepEqual(shown(lines), ["ADDED b"]);
    },
  },
  {
    name: "the first line of a watch comes without a change: headers are sent at once",
    async run(api) {
      const since = await now(api);
      const abort = new AbortController();
      const path = `secrets?watch=true&resourceVersion=${since}`;
      const response: Answer = await api.open("GET", path, { signal: abort.signal });
      assert.equal(response.status, 200);
      assert.match(response.headers.get("content-type"), /^application\/json/);
      await response.body.cancel();
      abort.abort();
    },
  },
];
