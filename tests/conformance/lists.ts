/** Conformance of lists: selectors, paging, resource versions. */
import assert from "node:assert/strict";
import type { Answer, Case, Sandbox } from "./api.ts";
import { configMap, job, object, pod } from "./objects.ts";

function names(list: Answer): string[] {
  return list.items.map(({ metadata }: Answer) => metadata.name);
}

async function labelled(api: Sandbox): Promise<void> {
  const labels: Record<string, Record<string, string>> = {
    a: { tier: "front", env: "test" },
    b: { tier: "back", env: "test" },
    c: { tier: "back", env: "live" },
    d: {},
  };
  for (const [name, own] of Object.entries(labels)) {
    await api.create("configmaps", configMap(name, { labels: own }));
  }
}

/** Label selectors, and which of the ConfigMaps above they select. */
const LABELS: Record<string, string[]> = {
  "tier=back": ["b", "c"],
  "tier==back": ["b", "c"],
  "tier!=back": ["a", "d"],
  "tier=back,env=test": ["b"],
  "tier in (front, back),env=live": ["c"],
  "tier notin (back)": ["a", "d"],
  "tier": ["a", "b", "c"],
  "!tier": ["d"],
  "tier=": [],
};

/** Selectors that are bad requests. */
const BAD = [
  "labelSelector=tier in back",
  "labelSelector==",
  "labelSelector=a b=c",
  "fieldSelector=spec.nothing=x",
  "fieldSelector=metadata.name",
];

async function configMaps(api: Sandbox, query: string): Promise<Answer> {
  const all = await api.get(`configmaps?${query}`);
  return { ...all, items: all.items.filter(({ metadata }: Answer) => metadata.name.length === 1) };
}

export const lists: Case[] = [
  {
    name: "a list has its kind, a resource version, and its items by name",
    async run(api) {
      for (const name of ["c", "a", "b"]) await api.create("secrets", object("v1", "Secret", name));
      const list = await api.get("secrets");
      assert.equal(list.kind, "SecretList");
      assert.equal(list.apiVersion, "v1");
      assert.match(list.metadata.resourceVersion, /^\d+$/);
      assert.deepEqual(names(list), ["a", "b", "c"]);
    },
  },
  {
    name: "items of a list of a built-in kind carry no kind of their own",
    async run(api) {
      await api.create("secrets", object("v1", "Secret", "a"));
      const [item] = (await api.get("secrets")).items;
      assert.equal(item.kind, undefined);
      assert.equal(item.apiVersion, undefined);
    },
  },
  {
    name: "an empty list has items, not null",
    async run(api) {
      assert.deepEqual((await api.get("pods")).items, []);
    },
  },
  {
    name: "a list over all namespaces has those of each",
    async run(api) {
      await api.create("configmaps", configMap("a", { labels: { run: api.id } }));
      const list = await api.get(`/api/v1/configmaps?labelSelector=run=${api.id}`);
      assert.deepEqual(list.items.map(({ metadata }: Answer) => metadata.namespace), [api.ns]);
    },
  },
  ...Object.entries(LABELS).map(([selector, want]): Case => ({
    name: `the label selector "${selector}" selects`,
    async run(api) {
      await labelled(api);
      const list = await configMaps(api, `labelSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual(names(list), want);
    },
  })),
  ...BAD.map((query): Case => ({
    name: `the query ${query} is a bad request`,
    async run(api) {
      const [key = "", ...rest] = query.split("=");
      const value = encodeURIComponent(rest.join("="));
      const { reason } = await api.refused(400, "GET", `configmaps?${key}=${value}`);
      assert.equal(reason, "BadRequest");
    },
  })),
  {
    name: "metadata.name and metadata.namespace are fields of each kind",
    async run(api) {
      await labelled(api);
      assert.deepEqual(names(await api.get("configmaps?fieldSelector=metadata.name=b")), ["b"]);
      const both = `metadata.name=b,metadata.namespace=${api.ns}`;
      assert.deepEqual(names(await api.get(`/api/v1/configmaps?fieldSelector=${both}`)), ["b"]);
      const other = await configMaps(api, "fieldSelector=metadata.name!=b");
      assert.deepEqual(names(other), ["a", "c", "d"]);
    },
  },
  {
    name: "pods have the fields of their phase, node and service account",
    async run(api) {
      await api.create("pods", pod("a"));
      await api.create("pods", pod("b", { nodeName: "n1" }));
      const list = async (selector: string) =>
        names(await api.get(`pods?fieldSelector=${selector}`));
      assert.deepEqual(await list("spec.nodeName=n1"), ["b"]);
      assert.deepEqual(await list("spec.nodeName="), ["a"]);
      assert.deepEqual(await list("status.phase=Pending,spec.restartPolicy=Always"), ["a", "b"]);
      assert.deepEqual(await list("status.phase!=Pending"), []);
      assert.deepEqual(await list("spec.serviceAccountName=default"), ["a", "b"]);
    },
  },
  {
    name: "secrets have the field of their type, jobs that of their successes",
    async run(api) {
      await api.create("secrets", { ...object("v1", "Secret", "a"), type: "example.com/t" });
      await api.create("secrets", object("v1", "Secret", "b"));
      assert.deepEqual(names(await api.get("secrets?fieldSelector=type=example.com/t")), ["a"]);
      await api.create("batch/v1/jobs", job("j"));
      const jobs = await api.get("batch/v1/jobs?fieldSelector=status.successful=0");
      assert.deepEqual(names(jobs), ["j"]);
    },
  },
  {
    name: "events have the fields of what they are about",
    async run(api) {
      const event = (name: string, about: string, reason: string) => ({
        ...object("v1", "Event", name),
        involvedObject: { kind: "Pod", name: about, namespace: api.ns, uid: "u1" },
        reason,
        type: "Normal",
      });
      await api.create("events", event("a", "p", "Started"));
      await api.create("events", event("b", "q", "Stopped"));
      const list = async (selector: string) =>
        names(await api.get(`events?fieldSelector=${selector}`));
      assert.deepEqual(await list("involvedObject.name=p"), ["a"]);
      assert.deepEqual(await list("involvedObject.kind=Pod,reason=Stopped"), ["b"]);
      assert.deepEqual(await list("involvedObject.uid=u1,type=Normal"), ["a", "b"]);
    },
  },
  {
    name: "pages cut a list, with a token for the next and a count of what remains",
    async run(api) {
      for (const name of "abcde") await api.create("secrets", object("v1", "Secret", name));
      const first = await api.get("secrets?limit=2");
      assert.deepEqual(names(first), ["a", "b"]);
      assert.equal(first.metadata.remainingItemCount, 3);
      const token = encodeURIComponent(first.metadata.continue);
      const second = await api.get(`secrets?limit=2&continue=${token}`);
      assert.deepEqual(names(second), ["c", "d"]);
      const next = encodeURIComponent(second.metadata.continue);
      const third = await api.get(`secrets?limit=2&continue=${next}`);
      assert.deepEqual(names(third), ["e"]);
      assert.equal(third.metadata.continue, undefined);
      assert.equal(third.metadata.resourceVersion, first.metadata.resourceVersion);
    },
  },
  {
    name: "pages show one moment, whatever changes meanwhile",
    async run(api) {
      for (const name of "abc") await api.create("secrets", object("v1", "Secret", name));
      const first = await api.get("secrets?limit=1");
      await api.remove("secrets/b");
      await api.create("secrets", object("v1", "Secret", "d"));
      const token = encodeURIComponent(first.metadata.continue);
      assert.deepEqual(names(await api.get(`secrets?continue=${token}`)), ["b", "c"]);
    },
  },
  {
    name: "pages of a selection count no remainder",
    async run(api) {
      await labelled(api);
      const first = await api.get("configmaps?limit=1&labelSelector=tier");
      assert.deepEqual(names(first), ["a"]);
      assert.equal(first.metadata.remainingItemCount, undefined);
      const token = encodeURIComponent(first.metadata.continue);
      const rest = await api.get(`configmaps?labelSelector=tier&continue=${token}`);
      assert.deepEqual(names(rest), ["b", "c"]);
    },
  },
  {
    name: "a broken token for the next page is a bad request",
    async run(api) {
      await api.refused(400, "GET", "secrets?limit=1&continue=nonsense");
    },
  },
  {
    name: "a limit that is no number is a bad request",
    async run(api) {
      await api.refused(400, "GET", "secrets?limit=many");
    },
  },
  {
    name: "a list at resource version 0 is as fresh as the server likes",
    async run(api) {
      assert.equal((await api.get("secrets?resourceVersion=0")).kind, "SecretList");
    },
  },
  {
    name: "a list at an exact resource version shows that moment",
    async run(api) {
      const made = await api.create("secrets", object("v1", "Secret", "a"));
      await api.create("secrets", object("v1", "Secret", "b"));
      const query = `resourceVersion=${made.metadata.resourceVersion}&resourceVersionMatch=Exact`;
      assert.deepEqual(names(await api.get(`secrets?${query}`)), ["a"]);
    },
  },
  {
    name: "resourceVersionMatch without a resource version is refused",
    async run(api) {
      await api.refused(422, "GET", "secrets?resourceVersionMatch=Exact");
    },
  },
];
