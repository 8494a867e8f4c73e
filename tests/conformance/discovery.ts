/** Conformance of discovery, OpenAPI, version and health. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** What discovery says of some resources: kind, scope, short names, verbs. */
const RESOURCES: Record<string, { path: string; want: Answer }> = {
  "pods": {
    path: "/api/v1",
    want: {
      kind: "Pod",
      namespaced: true,
      singularName: "pod",
      shortNames: ["po"],
      categories: ["all"],
    },
  },
  "namespaces": {
    path: "/api/v1",
    want: { kind: "Namespace", namespaced: false, singularName: "namespace", shortNames: ["ns"] },
  },
  "configmaps": {
    path: "/api/v1",
    want: { kind: "ConfigMap", namespaced: true, singularName: "configmap", shortNames: ["cm"] },
  },
  "events": {
    path: "/api/v1",
    want: { kind: "Event", namespaced: true, singularName: "event", shortNames: ["ev"] },
  },
  "jobs": {
    path: "/apis/batch/v1",
    want: { kind: "Job", namespaced: true, singularName: "job", categories: ["all"] },
  },
  "leases": {
    path: "/apis/coordination.k8s.io/v1",
    want: { kind: "Lease", namespaced: true, singularName: "lease" },
  },
  "customresourcedefinitions": {
    path: "/apis/apiextensions.k8s.io/v1",
    want: {
      kind: "CustomResourceDefinition",
      namespaced: false,
      singularName: "customresourcedefinition",
      shortNames: ["crd", "crds"],
      categories: ["api-extensions"],
    },
  },
};

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function find(list: Answer, name: string): Answer {
  const found = list.resources.find((one: Answer) => one.name === name);
  assert.ok(found, `${name} in ${list.resources.map((one: Answer) => one.name)}`);
  return found;
}

export const discovery: Case[] = [
  ...Object.entries(RESOURCES).map(([name, { path, want }]): Case => ({
    name: `discovery knows ${name}`,
    async run(api) {
      const { kind, namespaced, singularName, shortNames, categories, verbs } = find(
        await api.get(path),
        name,
      );
      const shown = { kind, namespaced, singularName, shortNames, categories };
      const defined = Object.entries(shown).filter(([, value]) => value !== undefined);
      assert.deepEqual(Object.fromEntries(defined), want);
      assert.deepEqual(
        verbs.filter((verb: string) => verb !== "deletecollection").toSorted(),
        VERBS.filter((verb) => verb !== "deletecollection"),
      );
    },
  })),
  {
    name: "/api names v1",
    async run(api) {
      const { kind, versions } = await api.get("/api");
      assert.equal(kind, "APIVersions");
      assert.deepEqual(versions, ["v1"]);
    },
  },
  {
    name: "/apis names the groups with their versions",
    async run(api) {
      const { kind, groups } = await api.get("/apis");
      assert.equal(kind, "APIGroupList");
      const batch = groups.find(({ name }: Answer) => name === "batch");
      assert.deepEqual(batch.preferredVersion, { groupVersion: "batch/v1", version: "v1" });
      assert.ok(batch.versions.some(({ version }: Answer) => version === "v1"));
    },
  },
  {
    name: "a group's own document names its versions",
    async run(api) {
      const { kind, name, preferredVersion } = await api.get("/apis/batch");
      assert.equal(kind, "APIGroup");
      assert.equal(name, "batch");
      assert.equal(preferredVersion.groupVersion, "batch/v1");
    },
  },
  {
    name: "resources list their subresources",
    async run(api) {
      const core = await api.get("/api/v1");
      assert.deepEqual(find(core, "pods/status").verbs.toSorted(), ["get", "patch", "update"]);
      assert.equal(find(core, "pods/status").kind, "Pod");
      const token = find(core, "serviceaccounts/token");
      assert.equal(token.kind, "TokenRequest");
      assert.equal(token.group, "authentication.k8s.io");
      assert.equal(token.version, "v1");
      assert.deepEqual(token.verbs, ["create"]);
      const scale = find(await api.get("/apis/apps/v1"), "deployments/scale");
      assert.equal(scale.kind, "Scale");
      assert.equal(scale.group, "autoscaling");
    },
  },
  {
    name: "aggregated discovery has every group at once",
    async run(api) {
      const answer = await api.get("/apis", { accept: AGGREGATED });
      assert.equal(answer.kind, "APIGroupDiscoveryList");
      assert.equal(answer.apiVersion, "apidiscovery.k8s.io/v2");
      const batch = answer.items.find(({ metadata }: Answer) => metadata.name === "batch");
      const version = batch.versions.find(({ version }: Answer) => version === "v1");
      const jobs = version.resources.find(({ resource }: Answer) => resource === "jobs");
      assert.equal(jobs.responseKind.kind, "Job");
      assert.equal(jobs.scope, "Namespaced");
      assert.ok(jobs.subresources.some(({ subresource }: Answer) => subresource === "status"));
    },
  },
  {
    name: "aggregated discovery has the core group too",
    async run(api) {
      const answer = await api.get("/api", { accept: AGGREGATED });
      const [version] = answer.items[0].versions;
      const pods = version.resources.find(({ resource }: Answer) => resource === "pods");
      assert.deepEqual(pods.shortNames, ["po"]);
    },
  },
  {
    name: "the version document names the version",
    async run(api) {
      const { major, gitVersion } = await api.get("/version");
      assert.equal(major, "1");
      assert.match(gitVersion, /^v1\.\d+\.\d+/);
    },
  },
  {
    name: "OpenAPI v3 has a document for each group and version",
    async run(api) {
      const { status, body } = await api.call("GET", "/openapi/v3");
      assert.equal(status, 200);
      const { paths } = typeof body === "string" ? JSON.parse(body) : body;
      assert.ok(paths["api/v1"].serverRelativeURL.startsWith("/openapi/v3/api/v1?hash="));
      assert.ok(paths["apis/batch/v1"]);
    },
  },
  {
    name: "an OpenAPI document has schemas that name their kind",
    async run(api) {
      const { openapi, components } = await api.get("/openapi/v3/apis/batch/v1");
      assert.match(openapi, /^3\./);
      const schema = components.schemas["io.k8s.api.batch.v1.Job"];
      assert.equal(schema.type, "object");
      assert.deepEqual(schema["x-kubernetes-group-version-kind"], [
        { group: "batch", kind: "Job", version: "v1" },
      ]);
    },
  },
  {
    name: "an OpenAPI document has the paths of the kinds, with their verbs",
    async run(api) {
      const { paths } = await api.get("/openapi/v3/api/v1");
      const path = paths["/api/v1/namespaces/{namespace}/configmaps/{name}"];
      assert.ok(path.get && path.patch);
      assert.equal(path.patch["x-kubernetes-action"], "patch");
      assert.equal(path.patch["x-kubernetes-group-version-kind"].kind, "ConfigMap");
    },
  },
  {
    name: "health is told without a token",
    async run(api) {
      for (const path of ["/healthz", "/livez", "/readyz"]) {
        const { status, body } = await api.call("GET", path, { token: "" });
        assert.equal(status, 200, path);
        assert.equal(body, "ok");
      }
    },
  },
];
