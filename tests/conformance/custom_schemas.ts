/** Conformance of custom schemas: pruning, defaults, validation. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { define, thing } from "./custom_kinds.ts";

const SPEC = {
  spec: {
    type: "object",
    properties: {
      size: { type: "integer", minimum: 1, maximum: 9 },
      half: { type: "number", exclusiveMinimum: true, minimum: 0 },
      name: { type: "string", minLength: 2, maxLength: 5, pattern: "^[a-z]+$" },
      mode: { type: "string", enum: ["fast", "slow"] },
      when: { type: "string", format: "date-time" },
      on: { type: "boolean" },
      tags: { type: "array", maxItems: 2, minItems: 1, items: { type: "string" } },
      map: { type: "object", maxProperties: 2, additionalProperties: { type: "integer" } },
      port: { "x-kubernetes-int-or-string": true },
      none: { type: "string", nullable: true },
      set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      keyed: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        items: {
          type: "object",
          required: ["id"],
          properties: { id: { type: "string" }, value: { type: "string" } },
        },
      },
      need: { type: "object", required: ["a"], properties: { a: { type: "string" } } },
      either: {
        type: "object",
        properties: { x: { type: "string" }, y: { type: "string" } },
        oneOf: [{ required: ["x"] }, { required: ["y"] }],
      },
      embedded: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
    },
  },
};

/** Specs that are refused: the cause's reason and field. */
const REFUSED: Record<string, { spec: unknown; cause: string }> = {
  "an integer below its minimum": { spec: { size: 0 }, cause: "FieldValueInvalid spec.size" },
  "an integer above its maximum": { spec: { size: 10 }, cause: "FieldValueInvalid spec.size" },
  "text for an integer": { spec: { size: "1" }, cause: "FieldValueTypeInvalid spec.size" },
  "a fraction for an integer": { spec: { size: 1.5 }, cause: "FieldValueTypeInvalid spec.size" },
  "a number at its exclusive minimum": { spec: { half: 0 }, cause: "FieldValueInvalid spec.half" },
  "text that is too short": { spec: { name: "a" }, cause: "FieldValueInvalid spec.name" },
  "text that is too long": { spec: { name: "abcdef" }, cause: "FieldValueTooLong spec.name" },
  "text against its pattern": { spec: { name: "AB" }, cause: "FieldValueInvalid spec.name" },
  "a value that is not in the list": {
    spec: { mode: "other" },
    cause: "FieldValueNotSupported spec.mode",
  },
  "an invalid time": { spec: { when: "now" }, cause: "FieldValueTypeInvalid spec.when" },
  "text for a boolean": { spec: { on: "yes" }, cause: "FieldValueTypeInvalid spec.on" },
  "too many items": { spec: { tags: ["a", "b", "c"] }, cause: "FieldValueTooMany spec.tags" },
  "too few items": { spec: { tags: [] }, cause: "FieldValueInvalid spec.tags" },
  "an item of another type": { spec: { tags: [1] }, cause: "FieldValueTypeInvalid spec.tags[0]" },
  "a map's value of another type": {
    spec: { map: { a: "b" } },
    cause: "FieldValueTypeInvalid spec.map.a",
  },
  "too many entries": {
    spec: { map: { a: 1, b: 2, c: 3 } },
    cause: "FieldValueTooMany spec.map",
  },
  "a boolean for an integer or text": {
    spec: { port: true },
    cause: "FieldValueTypeInvalid spec.port",
  },
  "a missing field": { spec: { need: {} }, cause: "FieldValueRequired spec.need.a" },
  "twice the same in a set": {
    spec: { set: ["a", "a"] },
    cause: "FieldValueDuplicate spec.set[1]",
  },
  "twice the same key": {
    spec: { keyed: [{ id: "a" }, { id: "a" }] },
    cause: "FieldValueDuplicate spec.keyed[1]",
  },
  "neither of two": { spec: { either: {} }, cause: "FieldValueRequired spec.either.x" },
  "an embedded object without a kind": {
    spec: { embedded: { metadata: { name: "a" }, apiVersion: "v1" } },
    cause: "FieldValueRequired spec.embedded.kind",
  },
};

const DEFAULTS = {
  spec: {
    type: "object",
    default: {},
    properties: {
      size: { type: "integer", default: 3 },
      list: {
        type: "array",
        items: { type: "object", properties: { on: { type: "boolean", default: true } } },
      },
      none: { type: "string", nullable: true, default: "x" },
      plain: { type: "string", default: "y" },
    },
  },
};

export const customSchemas: Case[] = [
  {
    name: "each refusal of a schema has its reason and field",
    async run(api) {
      const path = await define(api, { properties: SPEC });
      const problems: string[] = [];
      for (const [what, { spec, cause }] of Object.entries(REFUSED)) {
        const { status, body } = await api.call("POST", `${path}?dryRun=All`, {
          body: thing(api, "a", { spec }),
        });
        const causes = (body.details?.causes ?? []).map((one: Answer) =>
          `${one.reason} ${one.field}`
        );
        if (status !== 422 || !causes.includes(cause)) {
          problems.push(`${what}: ${status} ${causes.join()} instead of ${cause}`);
        }
      }
      assert.deepEqual(problems, []);
    },
  },
  {
    name: "what a schema allows is stored as it is",
    async run(api) {
      const path = await define(api, { properties: SPEC });
      const spec = {
        size: 9,
        half: 0.5,
        name: "abc",
        mode: "fast",
        when: "2025-01-01T00:00:00Z",
        on: false,
        tags: ["a"],
        map: { a: 1 },
        port: "http",
        none: null,
        set: ["a", "b"],
        keyed: [{ id: "a" }, { id: "b", value: "x" }],
        need: { a: "" },
        either: { y: "1" },
        embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { x: 1 } },
      };
      assert.deepEqual((await api.create(path, thing(api, "a", { spec }))).spec, spec);
    },
  },
  {
    name: "fields that a schema does not know are dropped, with a warning",
    async run(api) {
      const path = await define(api, { properties: SPEC });
      const body = thing(api, "a", { spec: { size: 1, colour: "red" }, more: 1 });
      const { body: made, headers } = await api.call("POST", path, { body });
      assert.deepEqual(made.spec, { size: 1 });
      assert.equal(made.more, undefined);
      assert.match(headers.get("warning") ?? "", /unknown field \\"spec\.colour\\"/);
    },
  },
  {
    name: "fields that a schema does not know are refused where fields are read strictly",
    async run(api) {
      const path = await define(api, { properties: SPEC });
      const { message } = await api.refused(400, "POST", `${path}?fieldValidation=Strict`, {
        body: thing(api, "a", { spec: { colour: "red" } }),
      });
      assert.match(message, /strict decoding error: unknown field "spec\.colour"/);
    },
  },
  {
    name: "a schema can keep what it does not know",
    async run(api) {
      const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
      const path = await define(api, { properties: { spec: open } });
      const spec = { any: { thing: [1, "a", null] } };
      assert.deepEqual((await api.create(path, thing(api, "a", { spec }))).spec, spec);
    },
  },
  {
    name: "defaults are filled in, also in items and in an object that is a default",
    async run(api) {
      const path = await define(api, { properties: DEFAULTS });
      const made = await api.create(path, thing(api, "a", { spec: { list: [{}, { on: false }] } }));
      assert.deepEqual(made.spec, {
        size: 3,
        list: [{ on: true }, { on: false }],
        none: "x",
        plain: "y",
      });
      const bare = await api.create(path, thing(api, "b"));
      assert.deepEqual(bare.spec, { size: 3, none: "x", plain: "y" });
    },
  },
  {
    name: "null stays where it is allowed, and is dropped for the default elsewhere",
    async run(api) {
      const path = await define(api, { properties: DEFAULTS });
      const { spec } = await api.create(
        path,
        thing(api, "a", { spec: { none: null, plain: null } }),
      );
      assert.equal(spec.none, null);
      assert.equal(spec.plain, "y");
    },
  },
  {
    name: "defaults are filled in again after a patch removed the field",
    async run(api) {
      const path = await define(api, { properties: DEFAULTS });
      await api.create(path, thing(api, "a", { spec: { size: 7 } }));
      assert.equal((await api.merge(`${path}/a`, { spec: { size: null } })).spec.size, 3);
    },
  },
  {
    name: "defaults of a schema that came later show when an old object is read",
    async run(api) {
      const path = await define(api, {
        properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
      });
      await api.create(path, thing(api, "a", { spec: {} }));
      const own =
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.${api.id}.example.com`;
      const field =
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/default";
      await api.json(own, [{ op: "add", path: field, value: 5 }]);
      await api.until("the default", `${path}/a`, ({ body }) => body.spec?.size === 5);
    },
  },
  {
    name: "a schema may bound the name of its objects",
    async run(api) {
      const path = await define(api, {
        properties: {
          metadata: { type: "object", properties: { name: { type: "string", maxLength: 3 } } },
        },
      });
      await api.create(path, thing(api, "abc"));
      const { details } = await api.refused(422, "POST", path, { body: thing(api, "abcd") });
      assert.equal(details.causes[0].field, "metadata.name");
    },
  },
];
