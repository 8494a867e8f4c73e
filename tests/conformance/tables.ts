/** Conformance of responses as tables, as `kubectl get` prints them, and as metadata only. */
import assert from "node:assert/strict";
import type { Answer, Case, Sandbox } from "./api.ts";
import { configMap, deployment, job, object, pod, service } from "./objects.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

function table(api: Sandbox, path: string): Promise<Answer> {
  return api.get(path, { accept: TABLE });
}

/** Columns shown without `-o wide`. */
function columns({ columnDefinitions }: Answer): string[] {
  return columnDefinitions.filter(({ priority }: Answer) => priority === 0)
    .map(({ name }: Answer) => name);
}

function wide({ columnDefinitions }: Answer): string[] {
  return columnDefinitions.map(({ name }: Answer) => name);
}

/** A kind, an object of it, the columns of its table, and cells by column. */
const KINDS: Record<string, {
  path: string;
  body: Answer;
  columns: string[];
  wide?: string[];
  cells: Record<string, unknown>;
}> = {
  "pods": {
    path: "pods",
    body: pod("a"),
    columns: ["Name", "Ready", "Status", "Restarts", "Age"],
    wide: ["IP", "Node", "Nominated Node", "Readiness Gates"],
    cells: {
      Name: "a",
      Ready: "0/1",
      Status: "Pending",
      Restarts: "0",
      IP: "<none>",
      Node: "<none>",
    },
  },
  "jobs": {
    path: "batch/v1/jobs",
    body: job("a"),
    columns: ["Name", "Status", "Completions", "Duration", "Age"],
    wide: ["Containers", "Images", "Selector"],
    cells: { Name: "a", Completions: "0/1", Containers: "c", Images: "example.com/i:1" },
  },
  "config maps": {
    path: "configmaps",
    body: configMap("a"),
    columns: ["Name", "Data", "Age"],
    cells: { Name: "a", Data: "1" },
  },
  "secrets": {
    path: "secrets",
    body: object("v1", "Secret", "a", { stringData: { x: "1", y: "2" } }),
    columns: ["Name", "Type", "Data", "Age"],
    cells: { Name: "a", Type: "Opaque", Data: "2" },
  },
  "services": {
    path: "services",
    body: service("a", { selector: { app: "a" }, ports: [{ port: 80 }] }),
    columns: ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"],
    wide: ["Selector"],
    cells: {
      Type: "ClusterIP",
      "Cluster-IP": "None",
      "External-IP": "<none>",
      "Port(s)": "80/TCP",
    },
  },
  "deployments": {
    path: "apps/v1/deployments",
    body: deployment("a"),
    columns: ["Name", "Ready", "Up-to-date", "Available", "Age"],
    wide: ["Containers", "Images", "Selector"],
    cells: { Name: "a", Ready: "0/0", Available: "0", Selector: "app=a" },
  },
  "service accounts": {
    path: "serviceaccounts",
    body: object("v1", "ServiceAccount", "a"),
    columns: ["Name", "Age"],
    cells: { Name: "a" },
  },
  "leases": {
    path: "coordination.k8s.io/v1/leases",
    body: object("coordination.k8s.io/v1", "Lease", "a", { spec: { holderIdentity: "me" } }),
    columns: ["Name", "Holder", "Age"],
    cells: { Name: "a", Holder: "me" },
  },
  "role bindings": {
    path: "rbac.authorization.k8s.io/v1/rolebindings",
    body: object("rbac.authorization.k8s.io/v1", "RoleBinding", "a", {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name: "s", namespace: "default" }],
    }),
    columns: ["Name", "Role", "Age"],
    cells: { Role: "ClusterRole/view", ServiceAccounts: "default/s" },
  },
  "roles": {
    path: "rbac.authorization.k8s.io/v1/roles",
    body: object("rbac.authorization.k8s.io/v1", "Role", "a", { rules: [] }),
    columns: ["Name", "Created At"],
    cells: { Name: "a" },
  },
  "events": {
    path: "events",
    body: object("v1", "Event", "a", {
      type: "Warning",
      reason: "Broken",
      message: "it broke",
      count: 3,
      firstTimestamp: "2025-01-01T00:00:00Z",
      lastTimestamp: "2025-01-01T00:00:00Z",
    }),
    columns: ["Last Seen", "Type", "Reason", "Object", "Message"],
    cells: { Type: "Warning", Reason: "Broken", Message: "it broke" },
  },
};

export const tables: Case[] = [
  ...Object.entries(KINDS).map((
    [kind, { path, body, columns: wanted, wide: more, cells }],
  ): Case => ({
    name: `the table of ${kind} has their columns and cells`,
    async run(api) {
      const about = kind === "events" ? { involvedObject: { kind: "Pod", namespace: api.ns } } : {};
      await api.create(path, { ...body, ...about });
      const answer = await table(api, `${path}/a`);
      assert.equal(answer.kind, "Table");
      assert.equal(answer.apiVersion, "meta.k8s.io/v1");
      assert.deepEqual(columns(answer), wanted);
      if (more) assert.deepEqual(wide(answer).slice(wanted.length), more);
      const [row] = answer.rows;
      for (const [column, want] of Object.entries(cells)) {
        assert.equal(`${row.cells[wide(answer).indexOf(column)]}`, want, column);
      }
    },
  })),
  {
    name: "rows of a table carry the object's metadata",
    async run(api) {
      const made = await api.create("secrets", object("v1", "Secret", "a"));
      const { rows, metadata } = await table(api, "secrets");
      assert.equal(rows[0].object.kind, "PartialObjectMetadata");
      assert.equal(rows[0].object.apiVersion, "meta.k8s.io/v1");
      assert.equal(rows[0].object.metadata.uid, made.metadata.uid);
      assert.equal(rows[0].object.spec, undefined);
      assert.match(metadata.resourceVersion, /^\d+$/);
    },
  },
  {
    name: "rows carry whole objects, or none, where that is asked for",
    async run(api) {
      await api.create("configmaps", configMap("a"));
      const whole = await table(api, "configmaps/a?includeObject=Object");
      assert.deepEqual(whole.rows[0].object.data, { a: "1" });
      const none = await table(api, "configmaps/a?includeObject=None");
      assert.equal(none.rows[0].object ?? undefined, undefined);
    },
  },
  {
    name: "a table of nothing has its columns and no rows",
    async run(api) {
      const answer = await table(api, "pods");
      assert.deepEqual(answer.rows ?? [], []);
      assert.equal(columns(answer)[0], "Name");
    },
  },
  {
    name: "an error stays a Status where a table was asked for",
    async run(api) {
      await api.refused(404, "GET", "pods/none", { accept: TABLE });
    },
  },
  {
    name: "a watch of tables sends columns once",
    async run(api) {
      const since = (await api.get("secrets")).metadata.resourceVersion;
      for (const name of ["a", "b"]) await api.create("secrets", object("v1", "Secret", name));
      const abort = new AbortController();
      const response = await api.open("GET", `secrets?watch=true&resourceVersion=${since}`, {
        accept: TABLE,
        signal: abort.signal,
      });
      const lines: Answer[] = [];
      let rest = "";
      for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
        const parts = (rest + text).split("\n");
        rest = parts.pop() ?? "";
        lines.push(...parts.map((part) => JSON.parse(part)));
        if (lines.length === 2) break;
      }
      abort.abort();
      assert.equal(lines[0].object.kind, "Table");
      assert.ok(lines[0].object.columnDefinitions.length > 0);
      assert.equal(lines[1].object.columnDefinitions?.length ?? 0, 0);
    },
  },
  {
    name: "an object is got as its metadata alone",
    async run(api) {
      const made = await api.create("configmaps", configMap("a"));
      const answer = await api.get("configmaps/a", { accept: METADATA });
      assert.equal(answer.kind, "PartialObjectMetadata");
      assert.equal(answer.data, undefined);
      assert.equal(answer.metadata.uid, made.metadata.uid);
    },
  },
  {
    name: "a list is got as metadata alone",
    async run(api) {
      await api.create("secrets", object("v1", "Secret", "a"));
      const answer = await api.get("secrets", { accept: METADATA_LIST });
      assert.equal(answer.kind, "PartialObjectMetadataList");
      assert.equal(answer.items[0].metadata.name, "a");
      assert.equal(answer.items[0].type, undefined);
    },
  },
  {
    name: "a media type that nobody makes is 406",
    async run(api) {
      const { status } = await api.call("GET", "secrets", { accept: "text/csv" });
      assert.equal(status, 406);
    },
  },
  {
    name: "JSON is what comes for any media type",
    async run(api) {
      const { headers } = await api.call("GET", "secrets", { accept: "text/csv, */*;q=0.1" });
      assert.match(headers.get("content-type") ?? "", /^application\/json/);
    },
  },
];
