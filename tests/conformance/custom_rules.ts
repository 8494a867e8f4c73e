/** Conformance of CEL rules: creation, update, messages, positions. */
import assert from "node:assert/strict";
import type { Answer, Case, Sandbox } from "./api.ts";
import { define, definition, DEFINITIONS, thing } from "./custom_kinds.ts";

type Rule = Record<string, unknown>;

const INTEGER = { type: "integer" };
const FIELDS = {
  a: INTEGER,
  b: INTEGER,
  name: { type: "string", maxLength: 50 },
  list: { type: "array", maxItems: 5, items: { type: "string", maxLength: 9 } },
  map: { type: "object", maxProperties: 5, additionalProperties: INTEGER },
};

function withRules(rules: Rule[]) {
  return {
    properties: {
      spec: { type: "object", properties: FIELDS, "x-kubernetes-validations": rules },
    },
  };
}

/** Rules on the spec: a spec that passes and one that does not. */
const RULES: Record<string, { good: unknown; bad: unknown }> = {
  "self.a < self.b": { good: { a: 1, b: 2 }, bad: { a: 2, b: 1 } },
  "!has(self.a) || self.a > 0": { good: {}, bad: { a: 0 } },
  "self.list.all(x, x.startsWith('a'))": { good: { list: ["ab"] }, bad: { list: ["b"] } },
  "self.list.exists(x, x == 'a')": { good: { list: ["b", "a"] }, bad: { list: [] } },
  "self.list.filter(x, x == 'a').size() == 1": {
    good: { list: ["a", "b"] },
    bad: { list: ["a", "a"] },
  },
  "'k' in self.map && self.map['k'] == 1": { good: { map: { k: 1 } }, bad: { map: { k: 2 } } },
  "self.map.all(k, self.map[k] > 0)": { good: { map: { x: 1 } }, bad: { map: { x: 0 } } },
  "self.name.matches('^[a-c]+$')": { good: { name: "abc" }, bad: { name: "abd" } },
  "size(self.name) <= 3": { good: { name: "abc" }, bad: { name: "abcd" } },
  "self.name in ['x', 'y']": { good: { name: "x" }, bad: { name: "z" } },
  "self.name.split('-').size() == 2": { good: { name: "a-b" }, bad: { name: "ab" } },
  "self.name.lowerAscii() == self.name": { good: { name: "a" }, bad: { name: "A" } },
  "(self.a == 1 ? self.b == 2 : true)": { good: { a: 1, b: 2 }, bad: { a: 1, b: 3 } },
  "self.a % 2 == 0 && self.a / 2 == self.b": { good: { a: 4, b: 2 }, bad: { a: 4, b: 3 } },
  "quantity('1Gi').isGreaterThan(quantity('1Mi')) && self.a == 1": {
    good: { a: 1 },
    bad: { a: 2 },
  },
  "isURL(self.name)": { good: { name: "https://a.b/c" }, bad: { name: "no" } },
  "self.list.isSorted()": { good: { list: ["a", "b"] }, bad: { list: ["b", "a"] } },
};

async function causeOf(api: Sandbox, rule: Rule, spec: unknown): Promise<Answer> {
  const path = await define(api, withRules([rule]));
  const { details } = await api.refused(422, "POST", path, { body: thing(api, "a", { spec }) });
  return details.causes[0];
}

const PATCH = "application/merge-patch+json";

export const customRules: Case[] = [
  ...Object.entries(RULES).map(([rule, { good, bad }]): Case => ({
    name: `the rule ${rule} passes and refuses`,
    async run(api) {
      const path = await define(api, withRules([{ rule }]));
      await api.create(path, thing(api, "a", { spec: good }));
      const { details } = await api.refused(422, "POST", path, {
        body: thing(api, "b", { spec: bad }),
      });
      assert.equal(details.causes[0].field, "spec");
      assert.equal(details.causes[0].reason, "FieldValueInvalid");
    },
  })),
  {
    name: "a refusal says the rule where it has no message",
    async run(api) {
      const { message } = await causeOf(api, { rule: "self.a > 1" }, { a: 1 });
      assert.match(message, /failed rule: self\.a > 1$/);
    },
  },
  {
    name: "a refusal says the rule's message",
    async run(api) {
      const rule = { rule: "self.a > 1", message: "a must be over 1" };
      assert.match((await causeOf(api, rule, { a: 1 })).message, /: a must be over 1$/);
    },
  },
  {
    name: "a refusal says what the message's expression makes",
    async run(api) {
      const rule = { rule: "self.a > 1", messageExpression: "self.name + ' is small'" };
      const { message } = await causeOf(api, rule, { a: 1, name: "it" });
      assert.match(message, /: it is small$/);
    },
  },
  {
    name: "a rule may name its reason and field",
    async run(api) {
      const rule = { rule: "self.a > 1", reason: "FieldValueForbidden", fieldPath: ".a" };
      const cause = await causeOf(api, rule, { a: 1 });
      assert.equal(cause.reason, "FieldValueForbidden");
      assert.equal(cause.field, "spec.a");
    },
  },
  {
    name: "a rule with oldSelf holds on updates only",
    async run(api) {
      const path = await define(api, withRules([{ rule: "self.a == oldSelf.a" }]));
      await api.create(path, thing(api, "a", { spec: { a: 1 } }));
      await api.merge(`${path}/a`, { spec: { b: 2 } });
      const body = { spec: { a: 2 } };
      await api.refused(422, "PATCH", `${path}/a`, { type: PATCH, body });
    },
  },
  {
    name: "a transition rule of a field that is new does not hold yet",
    async run(api) {
      const name = {
        type: "string",
        maxLength: 9,
        "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "name is immutable" }],
      };
      const spec = { type: "object", properties: { name, a: INTEGER } };
      const path = await define(api, { properties: { spec } });
      await api.create(path, thing(api, "a", { spec: { a: 1 } }));
      await api.merge(`${path}/a`, { spec: { name: "x" } });
      const { details } = await api.refused(422, "PATCH", `${path}/a`, {
        type: PATCH,
        body: { spec: { name: "y" } },
      });
      assert.equal(details.causes[0].field, "spec.name");
      assert.match(details.causes[0].message, /name is immutable/);
    },
  },
  {
    name: "a rule that may see no oldSelf holds on creation too",
    async run(api) {
      const rule = { rule: "oldSelf.hasValue() || self.a == 1", optionalOldSelf: true };
      const path = await define(api, withRules([rule]));
      await api.refused(422, "POST", path, { body: thing(api, "a", { spec: { a: 2 } }) });
      await api.create(path, thing(api, "a", { spec: { a: 1 } }));
      await api.merge(`${path}/a`, { spec: { a: 2 } });
    },
  },
  {
    name: "rules of items that are keyed see the old item",
    async run(api) {
      const items = {
        type: "object",
        required: ["id"],
        properties: { id: { type: "string", maxLength: 9 }, value: INTEGER },
        "x-kubernetes-validations": [{ rule: "self.value >= oldSelf.value" }],
      };
      const list = {
        type: "array",
        maxItems: 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        items,
      };
      const path = await define(api, {
        properties: { spec: { type: "object", properties: { list } } },
      });
      const spec = { list: [{ id: "a", value: 2 }, { id: "b", value: 1 }] };
      await api.create(path, thing(api, "a", { spec }));
      await api.merge(`${path}/a`, {
        spec: { list: [{ id: "b", value: 1 }, { id: "a", value: 3 }] },
      });
      const { details } = await api.refused(422, "PATCH", `${path}/a`, {
        type: PATCH,
        body: { spec: { list: [{ id: "b", value: 1 }, { id: "a", value: 1 }] } },
      });
      assert.equal(details.causes[0].field, "spec.list[1]");
    },
  },
  {
    name: "rules at the root see the object's name",
    async run(api) {
      const rule = { rule: "self.metadata.name.startsWith('a')" };
      const path = await define(api, { schema: { "x-kubernetes-validations": [rule] } });
      await api.create(path, thing(api, "ab"));
      await api.refused(422, "POST", path, { body: thing(api, "ba") });
    },
  },
  {
    name: "rules wait until the schema itself is satisfied",
    async run(api) {
      const { reason } = await causeOf(api, { rule: "self.a > 1" }, { a: "text" });
      assert.equal(reason, "FieldValueTypeInvalid");
    },
  },
  {
    name: "a definition whose rule does not compile is invalid",
    async run(api) {
      const body = definition(api, withRules([{ rule: "self.a >" }]));
      const { details } = await api.refused(422, "POST", DEFINITIONS, { body });
      assert.match(details.causes[0].field, /x-kubernetes-validations\[0\]\.rule$/);
    },
  },
  {
    name: "a definition whose rule names a field that is not there is invalid",
    skip: { embedded: "rules are parsed, not checked against the types of a schema" },
    async run(api) {
      const body = definition(api, withRules([{ rule: "self.nothing > 1" }]));
      const { details } = await api.refused(422, "POST", DEFINITIONS, { body });
      assert.match(details.causes[0].message, /undefined field 'nothing'/);
    },
  },
  {
    name: "a definition whose rule is no boolean is invalid",
    skip: { embedded: "rules are parsed, not checked against the types of a schema" },
    async run(api) {
      const body = definition(api, withRules([{ rule: "self.a + 1" }]));
      await api.refused(422, "POST", DEFINITIONS, { body });
    },
  },
];
