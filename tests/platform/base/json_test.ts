/** Tests of `platform/base/json.ts`. */
import assert from "node:assert/strict";
import {
  asObjects,
  at,
  compact,
  objectsAt,
  sameJson,
  setKey,
  textMapAt,
} from "../../../platform/base/json.ts";

const pod = { spec: { containers: [{ name: "a" }, null, "b"] }, list: [1] };

const readings: Record<string, { got: unknown; want: unknown }> = {
  "at() reads what is at the end of the keys": { got: at(pod, "list"), want: [1] },
  "at() finds nothing in lists": { got: at(pod, "list", "0"), want: undefined },
  "at() finds nothing that an object inherits": { got: at(pod, "constructor"), want: undefined },
  "asObjects() keeps indices": {
    got: asObjects(pod.spec.containers),
    want: [{ name: "a" }, {}, {}],
  },
  "objectsAt() leaves other items out": {
    got: objectsAt(pod, "spec", "containers"),
    want: [{ name: "a" }],
  },
  "objectsAt() has nothing for nothing": { got: objectsAt(pod, "status"), want: [] },
  "textMapAt() leaves out what is no text": {
    got: textMapAt({ labels: { a: "b", c: 1 } }, "labels"),
    want: { a: "b" },
  },
  "compact() drops undefined members and keeps null": {
    got: Object.keys(compact({ a: 1, b: undefined, c: null })),
    want: ["a", "c"],
  },
};
for (const [sentence, { got, want }] of Object.entries(readings)) {
  Deno.test(sentence, () => assert.deepEqual(got, want));
}

const pairs: Record<string, { one: unknown; other: unknown; want: boolean }> = {
  "objects in another order": { one: { a: 1, b: [2] }, other: { b: [2], a: 1 }, want: true },
  "lists in another order": { one: [1, 2], other: [2, 1], want: false },
  "a list and an object": { one: [], other: {}, want: false },
  "a member more": { one: { a: 1 }, other: { a: 1, b: 2 }, want: false },
  "an inherited member": { one: { toString: 1 }, other: { a: 1 }, want: false },
  "null and nothing": { one: null, other: undefined, want: false },
};
for (const [sentence, { one, other, want }] of Object.entries(pairs)) {
  Deno.test(`sameJson() of ${sentence} is ${want}`, () => {
    assert.equal(sameJson(one, other), want);
    assert.equal(sameJson(other, one), want);
  });
}

Deno.test("setKey() sets `__proto__` as a member of its own", () => {
  const target = {};
  setKey(target, "__proto__", { a: 1 });
  assert.deepEqual(Object.keys(target), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(target), Object.prototype);
});
