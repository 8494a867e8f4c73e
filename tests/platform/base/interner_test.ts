/** Tests of the sharing of equal parts of objects. */
import fc from "fast-check";
import assert from "node:assert/strict";
import { Interner, type InternerOptions } from "../../../platform/base/interner.ts";

/** Shares between copies of these values. Returns the copies. */
function shared(values: readonly unknown[], options: InternerOptions = {}): unknown[] {
  const sharing = new Interner(options);
  return values.map((value) => {
    const holder = structuredClone({ value });
    sharing.intern(holder);
    return holder.value;
  });
}

const LONG = "a text of more than ten characters";

const CASES: Readonly<Record<string, { first: unknown; second: unknown; same: boolean }>> = {
  "equal objects": { first: { a: 1 }, second: { a: 1 }, same: true },
  "equal lists": { first: [1, "x", null], second: [1, "x", null], same: true },
  "nested ones": { first: { a: [{ b: LONG }] }, second: { a: [{ b: LONG }] }, same: true },
  "empty objects": { first: {}, second: {}, same: true },
  "an empty object and an empty list": { first: {}, second: [], same: false },
  "another value": { first: { a: 1 }, second: { a: 2 }, same: false },
  "a number and its text": { first: { a: 1 }, second: { a: "1" }, same: false },
  "null and its text": { first: [null], second: ["null"], same: false },
  "true and its text": { first: [true], second: ["true"], same: false },
  "another key": { first: { a: 1 }, second: { b: 1 }, same: false },
  "another order of keys": { first: { a: 1, b: 2 }, second: { b: 2, a: 1 }, same: false },
  "lists cut elsewhere": { first: [["a"], ["b"]], second: [["a", "b"]], same: false },
  "texts cut elsewhere": { first: ["ab", "c"], second: ["a", "bc"], same: false },
  "a text that looks like a part": { first: ["#1;"], second: [LONG], same: false },
  "a text that ends a list": { first: ['"1:a]'], second: ["a"], same: false },
  "a key that looks like a field": {
    first: { 'a"1:b1:c': "d" },
    second: { a: "b", c: "d" },
    same: false,
  },
  "what has a uid": { first: { uid: "1" }, second: { uid: "1" }, same: false },
  "what holds something with a uid": { first: [{ uid: "1" }], second: [{ uid: "1" }], same: false },
};

for (const [name, { first, second, same }] of Object.entries(CASES)) {
  Deno.test(`\`share()\` ${same ? "makes one of" : "keeps apart"}: ${name}`, () => {
    const [a, b] = shared([first, second]);
    assert.equal(a === b, same);
    assert.deepEqual([a, b], [first, second]);
  });
}

Deno.test("`share()` shares the parts of an object that is not shared itself", () => {
  const [a, b] = shared([{ uid: "1", spec: { x: [1] } }, { uid: "2", spec: { x: [1] } }]);
  assert.ok(typeof a === "object" && a !== null && "spec" in a);
  assert.ok(typeof b === "object" && b !== null && "spec" in b);
  assert.equal(a.spec, b.spec);
  assert.ok(Object.isFrozen(a.spec));
});

Deno.test("`share()` freezes all of a part that it shares", () => {
  const [part] = shared([{ a: { b: [{ c: LONG }] } }]);
  assert.ok(typeof part === "object" && part !== null && "a" in part);
  assert.ok(Object.isFrozen(part));
  assert.throws(() => Object.assign(part, { a: 1 }), TypeError);
});

Deno.test("`share()` leaves the object itself as it is, unfrozen", () => {
  const object = { spec: { a: 1 } };
  new Interner().intern(object);
  assert.ok(!Object.isFrozen(object));
  assert.deepEqual(object, { spec: { a: 1 } });
});

Deno.test("`share()` leaves frozen parts alone", () => {
  const frozen = Object.freeze({ a: 1 });
  const holder = { frozen };
  const sharing = new Interner();
  sharing.intern(holder);
  sharing.intern(Object.freeze({ other: { a: 1 } }));
  assert.equal(holder.frozen, frozen);
});

Deno.test("`share()` does not mistake a key for a prototype", () => {
  const [a, b] = [1, 2].map(() => JSON.parse('{"spec":{"__proto__":{"x":1},"y":[1]}}'));
  const sharing = new Interner();
  sharing.intern(a);
  sharing.intern(b);
  assert.equal(a.spec, b.spec);
  assert.equal(JSON.stringify(a), '{"spec":{"__proto__":{"x":1},"y":[1]}}');
  assert.equal(Object.getPrototypeOf(a.spec), Object.prototype);
});

Deno.test("`share()` forgets the least recently seen part, and never mistakes another for it", () => {
  const values = [["first"], ["second"], ["third"], ["first"], ["third"]];
  const [first, , third, again, thirdAgain] = shared(values, { maxParts: 2 });
  assert.notEqual(first, again);
  assert.equal(third, thirdAgain);
  assert.deepEqual(first, again);
});

Deno.test("`share()` forgets parts that are no longer seen in time, and no others", () => {
  let nowMs = 0;
  const sharing = new Interner({ now: () => nowMs, idleMs: 100 });
  function meet(text: string): unknown {
    const holder = { part: [text] };
    sharing.intern(holder);
    return holder.part;
  }
  const [often, seldom] = [meet("often"), meet("seldom")];
  for (nowMs = 90; nowMs < 500; nowMs += 90) {
    assert.equal(meet("often"), often);
    meet(`new at ${nowMs}`);
  }
  assert.notEqual(meet("seldom"), seldom);
});

Deno.test("`share()` holds no string that is longer than all it may remember", () => {
  const texts = ["x".repeat(100), "x".repeat(100)];
  const [a, b] = shared(texts.map((text) => [text]), { maxCharacters: 50 });
  assert.notEqual(a, b);
  assert.deepEqual(a, b);
});

Deno.test("`share()` changes no value, whatever it has seen before", () => {
  const sharing = new Interner({ maxParts: 20, maxCharacters: 200 });
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
    const holder = structuredClone({ value });
    sharing.intern(holder);
    assert.deepEqual(holder, { value });
  }));
});
