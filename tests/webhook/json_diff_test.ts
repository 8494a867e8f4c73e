/** Tests of JSON patches made from an object before and after a change. */
import fc from "fast-check";
import assert from "node:assert/strict";
import { jsonPatch, type JsonPatchOperation } from "../../webhook/json_diff.ts";

const cases: Record<string, { before: unknown; after: unknown; want: JsonPatchOperation[] }> = {
  "is empty for equal values": { before: { a: [1] }, after: { a: [1] }, want: [] },
  "adds and removes keys, escaping them": {
    before: { "a/b": 1 },
    after: { "c~d": 2 },
    want: [{ op: "remove", path: "/a~1b" }, { op: "add", path: "/c~0d", value: 2 }],
  },
  "appends to a list that grew": {
    before: { l: [{ n: 1 }] },
    after: { l: [{ n: 2 }, { n: 3 }] },
    want: [
      { op: "replace", path: "/l/0/n", value: 2 },
      { op: "add", path: "/l/-", value: { n: 3 } },
    ],
  },
  "replaces a list that shrank": {
    before: { l: [1, 2] },
    after: { l: [2] },
    want: [{ op: "replace", path: "/l", value: [2] }],
  },
  "replaces null": {
    before: { a: null },
    after: { a: [] },
    want: [{ op: "replace", path: "/a", value: [] }],
  },
};

for (const [sentence, { before, after, want }] of Object.entries(cases)) {
  Deno.test(`\`jsonPatch()\` ${sentence}`, () => {
    assert.deepEqual(jsonPatch(before, after), want);
  });
}

/** Applies the operations that `jsonPatch` writes. */
function applied(document: unknown, operations: JsonPatchOperation[]): unknown {
  const root = { "": structuredClone(document) };
  for (const operation of operations) {
    const keys = ["", ...operation.path.split("/").slice(1)]
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = keys.pop() ?? "";
    const target = keys.reduce<unknown>((at, key) => Reflect.get(Object(at), key), root);
    if (Array.isArray(target) && last === "-" && operation.op !== "remove") {
      target.push(operation.value);
    } else if (operation.op === "remove") Reflect.deleteProperty(Object(target), last);
    else Object.assign(Object(target), { [last]: operation.value });
  }
  return root[""];
}

Deno.test("`jsonPatch()` leads from any before to any after", () => {
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.integer(),
      fc.constantFrom("x", null, true),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b/c", "d~e"), tie("json"), { maxKeys: 3 }),
    ),
  }));
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  fc.assert(fc.property(json, json, (one, other) => {
    const [before, after] = [plain(one), plain(other)];
    assert.deepEqual(applied(before, jsonPatch(before, after)), after);
  }));
});
