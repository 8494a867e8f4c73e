/** Conformance of CustomResourceDefinitions: lifecycle, versions, subresources, columns, validation. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { define, definition, DEFINITIONS, thing, things } from "./custom_kinds.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const SUBRESOURCES = {
  status: {},
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
};

/** Definitions that are refused, and how the path of the field at fault ends. */
const REFUSED: Record<string, { change: (made: Answer) => void; field: string }> = {
  "a name that is not plural and group": {
    change: (made) => made.metadata.name = "other.example.com",
    field: "metadata.name",
  },
  "no version that is stored": {
    change: (made) => made.spec.versions[0].storage = false,
    field: "spec.versions",
  },
  "a version without a schema": {
    change: (made) => delete made.spec.versions[0].schema,
    field: "schema.openAPIV3Schema",
  },
  "a property without a type": {
    change: (made) => made.spec.versions[0].schema.openAPIV3Schema.properties.a = {},
    field: "openAPIV3Schema.properties[a].type",
  },
  "a list without the schema of its items": {
    change: (made) => made.spec.versions[0].schema.openAPIV3Schema.properties.a = { type: "array" },
    field: "openAPIV3Schema.properties[a].items",
  },
  "a kind in small letters if the plural is in capitals": {
    change: (made) => made.spec.names.plural = "Things",
    field: "spec.names.plural",
  },
};

export const definitions: Case[] = [
  {
    name: "a definition is established and serves its kind",
    async run(api) {
      const path = await define(api);
      const { status, spec } = await api.get(`${DEFINITIONS}/things.${api.id}.example.com`);
      assert.deepEqual(status.storedVersions, ["v1"]);
      assert.equal(status.acceptedNames.kind, "Thing");
      assert.equal(spec.names.listKind, "ThingList");
      assert.deepEqual(spec.conversion, { strategy: "None" });
      assert.equal((await api.get(path)).kind, "ThingList");
    },
  },
  ...Object.entries(REFUSED).map(([what, { change, field }]): Case => ({
    name: `a definition with ${what} is invalid`,
    async run(api) {
      const body = definition(api);
      change(body);
      const { details } = await api.refused(422, "POST", DEFINITIONS, { body });
      const fields = details.causes.map((cause: Answer) => cause.field);
      assert.ok(fields.some((one: string) => one.endsWith(field)), fields.join());
    },
  })),
  {
    name: "a custom kind shows in discovery",
    async run(api) {
      await define(api, { names: { shortNames: ["th"], categories: ["all"] } });
      const { body } = await api.until(
        "the group in discovery",
        `/apis/${api.id}.example.com/v1`,
        ({ status, body }) => status === 200 && body.resources.length > 0,
      );
      const [resource] = body.resources;
      assert.equal(resource.kind, "Thing");
      assert.deepEqual(resource.shortNames, ["th"]);
      assert.deepEqual(resource.categories, ["all"]);
    },
  },
  {
    name: "objects of a cluster kind have no namespace",
    async run(api) {
      const path = await define(api, { scope: "Cluster" });
      const made = await api.create(path, thing(api, "a"));
      assert.equal(made.metadata.namespace, undefined);
      assert.equal((await api.get(path)).items.length, 1);
    },
  },
  {
    name: "items of a list of a custom kind carry their kind",
    async run(api) {
      const path = await define(api);
      await api.create(path, thing(api, "a"));
      const [item] = (await api.get(path)).items;
      assert.equal(item.kind, "Thing");
      assert.equal(item.apiVersion, `${api.id}.example.com/v1`);
    },
  },
  {
    name: "without a status subresource status is a field like others",
    async run(api) {
      const path = await define(api, { properties: { status: OPEN } });
      const made = await api.create(path, thing(api, "a", { status: { x: 1 } }));
      assert.deepEqual(made.status, { x: 1 });
      assert.equal((await api.call("GET", `${path}/a/status`)).status, 404);
    },
  },
  {
    name: "with a status subresource status is written there only",
    async run(api) {
      const path = await define(api, {
        properties: { spec: OPEN, status: OPEN },
        version: { subresources: SUBRESOURCES },
      });
      const made = await api.create(path, thing(api, "a", { status: { x: 1 }, spec: { y: 1 } }));
      assert.equal(made.status, undefined);
      const body = { status: { x: 2 }, spec: { y: 2 }, metadata: { labels: { z: "z" } } };
      const next = await api.merge(`${path}/a/status`, body);
      assert.deepEqual(next.status, { x: 2 });
      assert.deepEqual(next.spec, { y: 1 });
      assert.equal(next.metadata.labels, undefined);
      assert.equal(next.metadata.generation, 1);
      const again = await api.merge(`${path}/a`, { status: { x: 3 }, spec: { y: 3 } });
      assert.deepEqual(again.status, { x: 2 });
      assert.equal(again.metadata.generation, 2);
    },
  },
  {
    name: "the scale of a custom kind follows its paths",
    async run(api) {
      const path = await define(api, {
        properties: { spec: OPEN, status: OPEN },
        version: { subresources: SUBRESOURCES },
      });
      await api.create(path, thing(api, "a", { spec: { replicas: 1 } }));
      await api.merge(`${path}/a/status`, { status: { replicas: 1, selector: "x=y" } });
      const scale = await api.get(`${path}/a/scale`);
      assert.deepEqual(scale.spec, { replicas: 1 });
      assert.deepEqual(scale.status, { replicas: 1, selector: "x=y" });
      await api.merge(`${path}/a/scale`, { spec: { replicas: 3 } });
      assert.equal((await api.get(`${path}/a`)).spec.replicas, 3);
    },
  },
  {
    name: "columns of a definition make the table",
    async run(api) {
      const path = await define(api, {
        properties: { spec: OPEN },
        version: {
          additionalPrinterColumns: [
            { name: "Size", type: "integer", jsonPath: ".spec.size" },
            { name: "First", type: "string", jsonPath: '.spec.list[?(@.name=="b")].value' },
            { name: "Note", type: "string", priority: 1, jsonPath: ".spec.note" },
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
        },
      });
      const list = [{ name: "a", value: "x" }, { name: "b", value: "y" }];
      await api.create(path, thing(api, "a", { spec: { size: 3, list } }));
      const { columnDefinitions, rows } = await api.get(path, { accept: TABLE });
      assert.deepEqual(
        columnDefinitions.map(({ name, priority }: Answer) => `${name} ${priority}`),
        ["Name 0", "Size 0", "First 0", "Note 1", "Age 0"],
      );
      assert.deepEqual(rows[0].cells.slice(0, 4), ["a", 3, "y", null]);
    },
  },
  {
    name: "a definition without columns shows name and age",
    async run(api) {
      const path = await define(api);
      const { columnDefinitions } = await api.get(path, { accept: TABLE });
      assert.deepEqual(columnDefinitions.map(({ name }: Answer) => name), ["Name", "Age"]);
    },
  },
  {
    name: "an object is read in each version that is served",
    async run(api) {
      const path = await define(api, { properties: { spec: OPEN }, more: [{ name: "v2" }] });
      await api.create(path, thing(api, "a", { spec: { x: 1 } }));
      const other = await api.get(`${things(api, "v2")}/a`);
      assert.equal(other.apiVersion, `${api.id}.example.com/v2`);
      assert.deepEqual(other.spec, { x: 1 });
    },
  },
  {
    name: "a version that is not served is 404",
    async run(api) {
      await define(api, { more: [{ name: "v2", served: false }] });
      assert.equal((await api.call("GET", things(api, "v2"))).status, 404);
    },
  },
  {
    name: "an update of a custom object needs its resource version",
    async run(api) {
      const path = await define(api);
      await api.create(path, thing(api, "a"));
      const { details } = await api.refused(422, "PUT", `${path}/a`, { body: thing(api, "a") });
      assert.equal(details.causes[0].field, "metadata.resourceVersion");
    },
  },
  {
    name: "a strategic patch of a custom object is 415",
    async run(api) {
      const path = await define(api);
      await api.create(path, thing(api, "a"));
      const { reason } = await api.refused(415, "PATCH", `${path}/a`, {
        type: "application/strategic-merge-patch+json",
        body: {},
      });
      assert.equal(reason, "UnsupportedMediaType");
    },
  },
  {
    name: "selectable fields of a definition select",
    async run(api) {
      const properties = { spec: { type: "object", properties: { colour: { type: "string" } } } };
      const path = await define(api, {
        properties,
        version: { selectableFields: [{ jsonPath: ".spec.colour" }] },
      });
      await api.create(path, thing(api, "a", { spec: { colour: "red" } }));
      await api.create(path, thing(api, "b", { spec: { colour: "blue" } }));
      const { items } = await api.get(`${path}?fieldSelector=spec.colour=red`);
      assert.deepEqual(items.map(({ metadata }: Answer) => metadata.name), ["a"]);
    },
  },
  {
    name: "a definition goes with its objects, and waits for their finalizers",
    async run(api) {
      const path = await define(api);
      const held = thing(api, "a");
      held.metadata.finalizers = ["example.com/held"];
      await api.create(path, held);
      const own = `${DEFINITIONS}/things.${api.id}.example.com`;
      await api.remove(own);
      await api.until(
        "the thing to be deleted",
        `${path}/a`,
        ({ body }) => body.metadata?.deletionTimestamp !== undefined,
      );
      assert.ok((await api.get(own)).metadata.deletionTimestamp);
      await api.merge(`${path}/a`, { metadata: { finalizers: null } });
      await api.gone(own);
      await api.until("the kind to go", path, ({ status }) => status === 404);
    },
  },
];
