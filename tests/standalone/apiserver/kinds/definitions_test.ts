/** Tests of `kinds/definitions.ts`: invalid CustomResourceDefinitions. */
import assert from "node:assert/strict";
import { testServer, widget, widgetDefinition, WIDGETS } from "../api_cluster.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

type Definition = ReturnType<typeof widgetDefinition>;

const wrong: Record<string, { change: (definition: Definition) => unknown; want: RegExp }> = {
  "another name than plural and group": {
    change: (d) => ({ ...d, metadata: { name: "others.example.com" } }),
    want: /metadata.name: .*spec.names.plural/,
  },
  "no storage version": {
    change: (d) => ({
      ...d,
      spec: { ...d.spec, versions: d.spec.versions.map((one) => ({ ...one, storage: false })) },
    }),
    want: /exactly one version marked as storage version/,
  },
  "a version twice": {
    change: ({ spec, ...d }) => {
      const [first, second] = spec.versions;
      return { ...d, spec: { ...spec, versions: [first, { ...second, name: first?.name }] } };
    },
    want: /must not repeat a version/,
  },
  "no schema": {
    change: ({ spec, ...d }) => ({
      ...d,
      spec: { ...spec, versions: spec.versions.map(({ schema: _schema, ...one }) => one) },
    }),
    want: /openAPIV3Schema: Required value/,
  },
  "a group of Kubernetes' own": {
    change: ({ spec, ...d }) => ({
      ...d,
      metadata: { name: "widgets.batch" },
      spec: { ...spec, group: "batch" },
    }),
    want: /must not be a group of Kubernetes itself/,
  },
};

Deno.test("definitionProblems() names what is wrong with a definition", async (t) => {
  await using api = await testServer();
  for (const [sentence, { change, want }] of Object.entries(wrong)) {
    await t.step(sentence, async () => {
      const { status, body } = await api.call("POST", CRDS, { body: change(widgetDefinition()) });
      assert.deepEqual([status, body.reason], [422, "Invalid"]);
      assert.match(body.message, want);
    });
  }
});

Deno.test("updateObject() replaces a custom object only by its resource version", async () => {
  await using api = await testServer();
  await api.ok("POST", CRDS, { body: widgetDefinition() });
  const made = await api.ok("POST", WIDGETS, { body: widget("a") });
  const blind = await api.call("PUT", `${WIDGETS}/a`, { body: widget("a", { size: 5 }) });
  assert.equal(blind.status, 422);
  assert.match(blind.body.message, /metadata.resourceVersion: .*must be specified for an update/);
  const next = await api.ok("PUT", `${WIDGETS}/a`, { body: { ...made, spec: { size: 5 } } });
  assert.deepEqual([next.spec.size, next.metadata.generation], [5, 2]);
});

Deno.test("a definition serves added versions and changed columns", async () => {
  await using api = await testServer();
  const made = await api.ok("POST", CRDS, { body: widgetDefinition() });
  const version = {
    ...made.spec.versions[0],
    name: "v2",
    storage: false,
    additionalPrinterColumns: [],
  };
  const versions = [...made.spec.versions, version];
  await api.ok("PUT", `${CRDS}/widgets.example.com`, {
    body: { ...made, spec: { ...made.spec, versions } },
  });
  await api.ok("POST", WIDGETS, { body: widget("a") });
  const other = await api.ok("GET", `${WIDGETS.replace("/v1/", "/v2/")}/a`);
  assert.equal(other.apiVersion, "example.com/v2");
});

Deno.test("a definition's status has every version that was stored once", async () => {
  await using api = await testServer();
  const { spec, ...made } = await api.ok("POST", CRDS, { body: widgetDefinition() });
  const names = widgetDefinition().spec.versions.map(({ name }) => name);
  const versions = widgetDefinition().spec.versions
    .map((one) => ({ ...one, storage: !one.storage }));
  const { status } = await api.ok("PUT", `${CRDS}/${made.metadata.name}`, {
    body: { ...made, spec: { ...spec, versions } },
  });
  assert.deepEqual(status.storedVersions, names);
});
