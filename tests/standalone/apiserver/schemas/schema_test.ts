/** Tests of CRD schemas: pruning, defaults, validation and CEL rules. */
import assert from "node:assert/strict";
import { isObject } from "../../../../platform/base/json.ts";
import { crdManifests } from "../../../../crds/manifests.ts";
import { compileCel } from "../../../../standalone/apiserver/schemas/cel_rules.ts";
import { causeText } from "../../../../crds/status_cause.ts";
import { compileSchema } from "../../../../standalone/apiserver/schemas/schema.ts";

/** A schema whose `spec` has these properties. */
function specSchema(properties: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return compileSchema({
    type: "object",
    properties: { spec: { type: "object", properties, ...more } },
  });
}

const PRUNED: Record<
  string,
  { properties: Record<string, unknown>; spec: unknown; want: unknown }
> = {
  "drops what the schema does not know, at every depth": {
    properties: {
      a: { type: "object", properties: { b: { type: "string" } } },
      list: { type: "array", items: { type: "object", properties: { c: { type: "integer" } } } },
    },
    spec: { a: { b: "x", z: 1 }, y: 2, list: [{ c: 1, d: 2 }] },
    want: { a: { b: "x" }, list: [{ c: 1 }] },
  },
  "keeps unknown fields if the schema preserves them, and prunes the known ones inside": {
    properties: {
      a: {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { known: { type: "object", properties: { b: { type: "string" } } } },
      },
    },
    spec: { a: { other: { deep: 1 }, known: { b: "x", c: 1 } } },
    want: { a: { other: { deep: 1 }, known: { b: "x" } } },
  },
  "keeps apiVersion, kind and metadata of an embedded resource": {
    properties: {
      a: { type: "object", "x-kubernetes-embedded-resource": true, properties: {} },
    },
    spec: { a: { apiVersion: "v1", kind: "X", metadata: { name: "n", odd: 1 }, spec: {} } },
    want: { a: { apiVersion: "v1", kind: "X", metadata: { name: "n" } } },
  },
  "keeps every key of a map": {
    properties: { a: { type: "object", additionalProperties: { type: "string" } } },
    spec: { a: { x: "1", "y/z": "2" } },
    want: { a: { x: "1", "y/z": "2" } },
  },
  "drops null, unless it is allowed": {
    properties: { a: { type: "string" }, b: { type: "string", nullable: true } },
    spec: { a: null, b: null },
    want: { b: null },
  },
  "keeps the key __proto__ of a map as a plain key": {
    properties: { a: { type: "object", additionalProperties: { type: "string" } } },
    spec: JSON.parse('{"a": {"__proto__": "x"}}'),
    want: JSON.parse('{"a": {"__proto__": "x"}}'),
  },
};

for (const [sentence, { properties, spec, want }] of Object.entries(PRUNED)) {
  Deno.test(`\`prune()\` ${sentence}`, () => {
    const object = Object.freeze({ apiVersion: "g/v1", kind: "X", metadata: { name: "n" }, spec });
    assert.deepEqual(specSchema(properties).prune(object), { ...object, spec: want });
  });
}

Deno.test("`unknownFields()` names the path of each field that is dropped", () => {
  const schema = specSchema({ list: { type: "array", items: { type: "object", properties: {} } } });
  const object = { metadata: { nam: "x" }, spec: { list: [{}, { a: 1 }], b: 1 }, top: 1 };
  assert.deepEqual(schema.unknownFields(object), [
    "metadata.nam",
    "spec.list[1].a",
    "spec.b",
    "top",
  ]);
});

Deno.test("`applyDefaults()` fills what is missing, also inside defaults and lists", () => {
  const schema = specSchema({
    a: { type: "object", default: {}, properties: { b: { type: "integer", default: 3 } } },
    c: {
      type: "array",
      items: { type: "object", properties: { d: { type: "string", default: "x" } } },
    },
    e: { type: "string", default: "given" },
  });
  const object = { spec: { c: [{}, { d: "y" }], e: "mine" } };
  assert.deepEqual(schema.applyDefaults(object), {
    spec: { a: { b: 3 }, c: [{ d: "x" }, { d: "y" }], e: "mine" },
  });
  assert.deepEqual(object, { spec: { c: [{}, { d: "y" }], e: "mine" } });
});

const REFUSED: Record<
  string,
  {
    properties: Record<string, unknown>;
    spec: unknown;
    more?: Record<string, unknown>;
    want: string[];
  }
> = {
  "a missing required field": {
    properties: { x: { type: "string" } },
    more: { required: ["x"] },
    spec: {},
    want: ["spec.x: Required value"],
  },
  "a wrong type": {
    properties: { n: { type: "integer" } },
    spec: { n: "2" },
    want: ['spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"'],
  },
  "a value outside of an enum": {
    properties: { x: { type: "string", enum: ["A", "B"] } },
    spec: { x: "x" },
    want: ['spec.x: Unsupported value: "x": supported values: "A", "B"'],
  },
  "a number below the minimum": {
    properties: { x: { type: "integer", minimum: 1 } },
    spec: { x: 0 },
    want: ["spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"],
  },
  "a number at an exclusive maximum": {
    properties: { x: { type: "integer", maximum: 5, exclusiveMaximum: true } },
    spec: { x: 5 },
    want: ["spec.x: Invalid value: 5: spec.x in body should be less than 5"],
  },
  "a text that is too long": {
    properties: { x: { type: "string", maxLength: 3 } },
    spec: { x: "abcd" },
    want: ["spec.x: Too long: may not be more than 3 bytes"],
  },
  "a text that does not match": {
    properties: { x: { type: "string", pattern: "^[a-z]+$" } },
    spec: { x: "A" },
    want: [`spec.x: Invalid value: "A": spec.x in body should match '^[a-z]+$'`],
  },
  "each text by its own pattern": {
    properties: {
      x: { type: "string", pattern: "^[a-z]+$" },
      y: { type: "string", pattern: "^[0-9]+$" },
    },
    spec: { x: "a", y: "b" },
    want: [`spec.y: Invalid value: "b": spec.y in body should match '^[0-9]+$'`],
  },
  "too many items": {
    properties: { x: { type: "array", maxItems: 1, items: { type: "string" } } },
    spec: { x: ["a", "b"] },
    want: ["spec.x: Too many: 2: must have at most 1 items"],
  },
  "an integer over 32 bits": {
    properties: { x: { type: "integer", format: "int32" } },
    spec: { x: 2 ** 31 },
    want: ["spec.x: Invalid value: 2147483648: spec.x in body must be of type int32: 2147483648"],
  },
  "an invalid time": {
    properties: { x: { type: "string", format: "date-time" } },
    spec: { x: "yesterday" },
    want: [
      'spec.x: Invalid value: "yesterday": spec.x in body must be of type date-time: "yesterday"',
    ],
  },
  "a double item of a set": {
    properties: {
      x: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    },
    spec: { x: ["a", "b", "a"] },
    want: ['spec.x[2]: Duplicate value: "a"'],
  },
  "a double key of a map-like list, defaults counted": {
    properties: {
      x: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        items: {
          type: "object",
          properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } },
        },
      },
    },
    spec: { x: [{ port: 1 }, { port: 1, protocol: "TCP" }, { port: 1, protocol: "UDP" }] },
    want: ['spec.x[1]: Duplicate value: {"port":1,"protocol":"TCP"}'],
  },
  "a boolean for int-or-string": {
    properties: {
      x: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
    },
    spec: { x: true },
    want: [
      'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
      'spec.x: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
    ],
  },
  "what a rule refuses": {
    properties: {
      x: {
        type: "integer",
        "x-kubernetes-validations": [{ rule: "self >= 1", message: "must be at least one" }],
      },
    },
    spec: { x: 0 },
    want: ["spec.x: Invalid value: 0: must be at least one"],
  },
  "what a rule over an object refuses, with a computed message and the rule's reason": {
    properties: { low: { type: "integer" }, high: { type: "integer" } },
    more: {
      "x-kubernetes-validations": [{
        rule: "!has(self.low) || self.low <= self.high",
        messageExpression: "'low ' + string(self.low) + ' is over ' + string(self.high)",
        reason: "FieldValueForbidden",
        fieldPath: ".low",
      }],
    },
    spec: { low: 3, high: 2 },
    want: ["spec.low: Forbidden: low 3 is over 2"],
  },
  "what rules over a field with a reserved name refuse, escaped or not": {
    properties: { namespace: { type: "string" } },
    more: {
      "x-kubernetes-validations": [
        { rule: "!has(self.namespace) || size(self.namespace) == 0", message: "plain" },
        { rule: "!has(self.__namespace__)", message: "escaped" },
      ],
    },
    spec: { namespace: "x" },
    want: ['spec: Invalid value: "object": plain', 'spec: Invalid value: "object": escaped'],
  },
  "a rule without message, by the rule itself": {
    properties: {
      x: { type: "string", "x-kubernetes-validations": [{ rule: "self.startsWith('a')" }] },
    },
    spec: { x: "b" },
    want: ["spec.x: Invalid value: \"b\": failed rule: self.startsWith('a')"],
  },
};

for (const [sentence, { properties, more, spec, want }] of Object.entries(REFUSED)) {
  Deno.test(`\`validate()\` refuses ${sentence}`, () => {
    const causes = specSchema(properties, more).validate({ spec });
    assert.deepEqual(causes.map(causeText).sort(), [...want].sort());
  });
}

const TRANSITIONS: Record<string, { old: unknown; spec: unknown; refused: boolean }> = {
  "runs when both values exist": { old: { x: "a" }, spec: { x: "b" }, refused: true },
  "passes when nothing changed": { old: { x: "a" }, spec: { x: "a" }, refused: false },
  "does not run on creation": { old: undefined, spec: { x: "b" }, refused: false },
  "does not run when the old value is missing": { old: {}, spec: { x: "b" }, refused: false },
  "does not run when the new value is missing": { old: { x: "a" }, spec: {}, refused: false },
  "finds the old item of a map-like list by its key": {
    old: { list: [{ name: "a", v: 1 }, { name: "b", v: 2 }] },
    spec: { list: [{ name: "b", v: 2 }, { name: "a", v: 9 }] },
    refused: true,
  },
  "lets a map-like list be put in another order": {
    old: { list: [{ name: "a", v: 1 }, { name: "b", v: 2 }] },
    spec: { list: [{ name: "b", v: 2 }, { name: "a", v: 1 }] },
    refused: false,
  },
};

const IMMUTABLE = [{ rule: "self == oldSelf", message: "field is immutable" }];

for (const [sentence, { old, spec, refused }] of Object.entries(TRANSITIONS)) {
  Deno.test(`\`validate()\` of a transition rule ${sentence}`, () => {
    const schema = specSchema({
      x: { type: "string", "x-kubernetes-validations": IMMUTABLE },
      list: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          properties: {
            name: { type: "string" },
            v: { type: "integer", "x-kubernetes-validations": IMMUTABLE },
          },
        },
      },
    });
    const causes = schema.validate({ spec }, old === undefined ? undefined : { spec: old });
    assert.equal(causes.length, refused ? 1 : 0, JSON.stringify(causes));
  });
}

Deno.test("`validate()` says which rule does not compile, and refuses", () => {
  const rules = [{ rule: "self >", message: "never said" }];
  const [cause] = specSchema({ x: { type: "integer", "x-kubernetes-validations": rules } })
    .validate({ spec: { x: 1 } });
  assert.match(cause?.message ?? "", /rule compilation error/);
});

Deno.test("`validate()` checks metadata although a definition does not describe it", () => {
  const causes = specSchema({}).validate({ metadata: { name: "Not_Valid", labels: { a: 1 } } });
  const texts = causes.map(causeText);
  assert.ok(
    texts.some((text) =>
      text.startsWith('metadata.name: Invalid value: "Not_Valid": a lowercase RFC 1123')
    ),
  );
  assert.ok(texts.some((text) => text.startsWith("metadata.labels.a: Invalid value")));
});

Deno.test("`compileSchema()` throws for a reference to a missing schema", () => {
  assert.throws(
    () => compileSchema({ $ref: "#/components/schemas/nothing" }).prune({}),
    /refers to nothing/,
  );
});

/** Every rule in a schema document. */
function* rulesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) { for (const item of value) yield* rulesIn(item); }
  if (!isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === "rule" && typeof item === "string") yield item;
    else yield* rulesIn(item);
  }
}

Deno.test("`compileCel()` reads every rule of our own definitions", () => {
  const rules = [...rulesIn(crdManifests())];
  assert.ok(rules.length > 5);
  for (const rule of rules) assert.doesNotThrow(() => compileCel(rule), rule);
});

const TRAIN_JOB = {
  apiVersion: "trainer.kubeflow.org/v1alpha1",
  kind: "TrainJob",
  metadata: { name: "mnist", namespace: "default" },
  spec: {
    runtimeRef: { name: "torch", apiGroup: "trainer.kubeflow.org", kind: "ClusterTrainingRuntime" },
    trainer: { numNodes: 2, command: ["node"], resourcesPerNode: { limits: { cpu: 1 } } },
  },
};

function trainJobSchema() {
  const definition = crdManifests().find((it) => JSON.stringify(it).includes('"kind":"TrainJob"'));
  const found = JSON.parse(JSON.stringify(definition)).spec.versions[0].schema.openAPIV3Schema;
  return compileSchema(found);
}

Deno.test("`compileSchema()` of TrainJob takes one, with defaults, and refuses a changed runtime", () => {
  const schema = trainJobSchema();
  const object = schema.applyDefaults(schema.prune(TRAIN_JOB));
  assert.deepEqual(schema.validate(object), []);
  const other = structuredClone(TRAIN_JOB);
  other.spec.runtimeRef.name = "other";
  const causes = schema.validate(schema.applyDefaults(other), object);
  assert.deepEqual(causes.map((cause) => cause.field), ["spec.runtimeRef"]);
  assert.match(causes[0]?.message ?? "", /immutable/);
});

Deno.test("`compileSchema()` of TrainJob refuses a name that is not a DNS label of RFC 1035", () => {
  const schema = trainJobSchema();
  const object = { ...TRAIN_JOB, metadata: { name: "1st" } };
  const [cause] = schema.validate(schema.applyDefaults(object));
  assert.match(cause?.message ?? "", /RFC 1035/);
});
