/** Tests of `parsePath()` and `evaluate()`: against GJSON itself, with mistakes, and with hostile paths. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Budget } from "../../../trials/gjson/budget.ts";
import { evaluate } from "../../../trials/gjson/evaluate.ts";
import { textOf } from "../../../trials/gjson/gjson_values.ts";
import { MAX_PATH_LENGTH, parsePath } from "../../../trials/gjson/path.ts";
import { DOCUMENTS, FACTS } from "./gjson_facts.ts";

/** Returns the compact JSON of a path's result, or undefined if there is none. */
function find(text: string, value: unknown): string | undefined {
  const reading = parsePath(text);
  assert.ok(reading.ok, `${text}: ${JSON.stringify(reading)}`);
  const found = evaluate(reading.path, value);
  assert.ok("value" in found, `${text}: ${JSON.stringify(found)}`);
  return found.value === undefined ? undefined : textOf(found.value, new Budget());
}

Deno.test("the table of facts has sixty cases, most of which find a value", () => {
  const facts = Object.values(FACTS);
  assert.ok(facts.length >= 60, `${facts.length}`);
  assert.ok(facts.filter((it) => it.finds !== undefined).length > facts.length / 2);
});

for (const [says, { document, path, finds }] of Object.entries(FACTS)) {
  Deno.test(`evaluate() answers as GJSON does: ${says}`, () => {
    assert.equal(find(path, DOCUMENTS[document]), finds, path);
  });
}

const MISTAKES: Readonly<Record<string, { path: string; position: number; message: RegExp }>> = {
  "nothing": { path: "", position: 1, message: /empty path/ },
  "only space": { path: " \n", position: 1, message: /empty path/ },
  "a query whose bracket is open": {
    path: `status.conditions.#(type=="Complete"`,
    position: 19,
    message: /not closed/,
  },
  "a query whose quote is open": {
    path: `status.conditions.#(type=="Complete)#|#(status=="True")#`,
    position: 19,
    message: /not closed/,
  },
  "a query whose quote is open to the end": {
    path: `conditions.#(type=="Complete)#`,
    position: 12,
    message: /not closed/,
  },
  "one bracket too many": { path: `a.#(b==1))#`, position: 10, message: /not "\)"$/ },
  "text behind a query": { path: `a.#(b==1)x`, position: 10, message: /not "x"$/ },
  "an exclamation mark alone": { path: `a.#(b!1)`, position: 6, message: /no operator/ },
  "a mistake inside a query": { path: `a.#(b.#(c!d)==1)`, position: 10, message: /no operator/ },
  "a multipath that is open": { path: `status.[a,b`, position: 8, message: /"\[".*not closed/ },
  "an object that is open": { path: `{"a":b`, position: 1, message: /"\{".*not closed/ },
  "text behind a multipath": { path: `[a]b`, position: 4, message: /not "b"$/ },
  "a mistake inside a multipath": { path: `[a,b.#(c]`, position: 1, message: /not closed/ },
  "a mistake in a later path of a multipath": {
    path: `x|[a,b.#(c!d)]`,
    position: 11,
    message: /no operator/,
  },
  "an escape of nothing": { path: `a.b\\`, position: 4, message: /escape/ },
  "an argument that is open": { path: `a.@flatten:{"deep":true`, position: 3, message: /closed/ },
  "an argument that is no JSON": {
    path: `a.@flatten:{deep:true}`,
    position: 13,
    message: /not JSON/,
  },
  "text behind an argument": { path: `a.@flatten:{}x`, position: 14, message: /not "x"$/ },
  "a literal that is open": { path: `a|!{"b":1`, position: 4, message: /not closed/ },
  "a literal that is no JSON": { path: `!{"b":x}`, position: 7, message: /not JSON/ },
  "text behind a number": { path: `!1|a`, position: 3, message: /more text/ },
  "a literal in capitals": { path: `!TRUE`, position: 2, message: /"true"/ },
};

for (const [says, { path, position, message }] of Object.entries(MISTAKES)) {
  Deno.test(`parsePath() reports the position of ${says}`, () => {
    const reading = parsePath(path);
    assert.ok(!reading.ok, path);
    assert.equal(reading.position, position);
    assert.match(reading.message, message);
  });
}

Deno.test("parsePath() bounds the length of a path and how deep its brackets go", () => {
  assert.ok(parsePath("a".repeat(MAX_PATH_LENGTH)).ok);
  assert.ok(!parsePath("a".repeat(MAX_PATH_LENGTH + 1)).ok);
  const nested = (open: string, close: string, depth: number) =>
    parsePath(open.repeat(depth) + "a" + close.repeat(depth));
  assert.ok(nested("#(", ")", 30).ok);
  assert.ok(nested("[", "]", 30).ok);
  for (const depth of [40, 1300]) {
    assert.ok(!nested("#(", ")", depth).ok);
    assert.ok(!nested("[", "]", depth).ok);
    assert.ok(!nested('{"a":', "}", Math.min(depth, 600)).ok);
  }
});

Deno.test("evaluate() does not parse JSON in a string without a modifier", () => {
  const job = { message: 'exit [{"type":"Complete"}]', list: ["{}"] };
  assert.equal(find("message.0", job), undefined);
  assert.equal(find("message|0", job), undefined);
  assert.equal(find(`message|#(type=="Complete")#`, job), undefined);
  assert.equal(find("list.#.a", job), "[]");
});

Deno.test("evaluate() finds own members only, and none that are undefined", () => {
  const job = { present: undefined, a: { constructor: 1 } };
  assert.equal(find("constructor", job), undefined);
  assert.equal(find("toString.name", job), undefined);
  assert.equal(find("a.constructor", job), "1");
  assert.equal(find("present", job), undefined);
  assert.equal(find("@keys", job), '["a"]');
  assert.equal(find("__proto__.b", JSON.parse('{"__proto__":{"b":1}}')), "1");
});

Deno.test("evaluate() leaves the object as it was, frozen or not", () => {
  const job = Object.freeze({ list: Object.freeze([3, 1, 2]), b: 1, a: 2 });
  const before = JSON.stringify(job);
  for (const path of ["list.@reverse", "@reverse", '@pretty:{"sortKeys":true}', "[list,@this]"]) {
    find(path, job);
  }
  assert.equal(JSON.stringify(job), before);
});

/** Nested `depth` times; made from the inside, since to parse the text would nest as well. */
function deep(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let at = 0; at < depth; at++) value = wrap(value);
  return value;
}

const doubling = "[@this,@this]|".repeat(60);
const conditions = (count: number) => ({
  status: { conditions: Array.from({ length: count }, () => ({ type: "a", status: "b" })) },
});
const HOSTILE: Readonly<Record<string, { path: string; value: () => unknown }>> = {
  "copies of copies, made text": { path: `${doubling}@tostr`, value: () => ({ a: 1 }) },
  "copies of copies, flattened": {
    path: `${doubling}@flatten:{"deep":true}`,
    value: () => [1, 2],
  },
  "copies of copies, validated": { path: `${doubling}@valid`, value: () => [1, 2] },
  "copies of copies, sorted": {
    path: `${doubling}@pretty:{"sortKeys":true}`,
    value: () => ({ a: 1 }),
  },
  "text of text of text": { path: "@tostr|".repeat(500) + "@this", value: () => ['"\\"'] },
  "a wildcard beside a long text": {
    path: `#(%"*a*a*a*a*a*a*a*a*b")`,
    value: () => ["a".repeat(1_400_000)],
  },
  "a pattern of the greatest length": {
    path: `#(%"${"*a?".repeat(1300)}b")#`,
    value: () => Array.from({ length: 100 }, () => "a".repeat(10_000)),
  },
  "arrays 700,000 deep, flattened": {
    path: '@flatten:{"deep":true}',
    value: () => deep(700_000, (inner) => [inner]),
  },
  "objects 300,000 deep, as text": {
    path: "@tostr",
    value: () => deep(300_000, (inner) => ({ a: inner })),
  },
  "objects 300,000 deep, followed": {
    path: "a.".repeat(2000) + "a",
    value: () => deep(300_000, (inner) => ({ a: inner })),
  },
  "arrays 300,000 deep, each of each": {
    path: "#.".repeat(2000) + "a",
    value: () => deep(300_000, (inner) => [inner]),
  },
  "queries in queries over a long list": {
    path: `#(${"@this|".repeat(600)}a==1)#`,
    value: () => Array.from({ length: 100_000 }, () => ({ a: 1 })),
  },
  "a long multipath of each of many": {
    path: `#.[${"a,".repeat(2000)}a]`,
    value: () => Array.from({ length: 120_000 }, () => ({ b: 1 })),
  },
  "a long literal for each of many": {
    path: `#.![${"1,".repeat(2000)}1]`,
    value: () => Array.from({ length: 120_000 }, () => 1),
  },
  "a long argument for each of many": {
    path: `#.@flatten:[${"1,".repeat(2000)}1]`,
    value: () => Array.from({ length: 120_000 }, () => []),
  },
  "a long number against each of many": {
    path: `#(==${"1".repeat(4000)})`,
    value: () => Array.from({ length: 500_000 }, () => 1),
  },
  "a long hexadecimal number": {
    path: `#(==0x${"a".repeat(4000)})`,
    value: () => Array.from({ length: 100_000 }, () => 1),
  },
  "a long text against each of many": {
    path: `#(>"${"a".repeat(4000)}")`,
    value: () => Array.from({ length: 300 }, () => "a".repeat(4000)),
  },
  "a long pattern against many keys": {
    path: `${"*a".repeat(2000)}.x`,
    value: () =>
      Object.fromEntries(Array.from({ length: 1000 }, (_, at) => ["a".repeat(1000) + at, 1])),
  },
  "a path after a pipe inside each of many": {
    path: `#.#.${"a.".repeat(1900)}a|b`,
    value: () => Array.from({ length: 60_000 }, () => [1]),
  },
  "pipes without end": { path: "@this|".repeat(680) + "@this", value: () => conditions(10) },
  "JSON text 700,000 deep": { path: "a.@fromstr", value: () => ({ a: "[".repeat(700_000) }) },
  "a string in JSON text that is not closed": {
    path: "a.@fromstr",
    value: () => ({ a: `"${"\\\\".repeat(700_000)}` }),
  },
};

for (const [says, { path, value }] of Object.entries(HOSTILE)) {
  Deno.test(`evaluate() ends, and does not throw, on ${says}`, () => {
    const reading = parsePath(path);
    assert.ok(reading.ok, JSON.stringify(reading));
    const found = evaluate(reading.path, value());
    if ("problem" in found) assert.match(found.problem, /^(visits|writes or reads|goes deeper)/);
  });
}

Deno.test("evaluate() visits the longest list that an object can hold", () => {
  const job = conditions(50_000);
  job.status.conditions.push({ type: "Complete", status: "True" });
  assert.ok(JSON.stringify(job).length > 1_300_000);
  const path = `status.conditions.#(type=="Complete")#|#(status=="True")#`;
  assert.equal(find(path, job), '[{"status":"True","type":"Complete"}]');
});

Deno.test("parsePath() and evaluate() return for every input", () => {
  const pieces = fc.constantFrom(
    ...'#()[]{}"\\.|@!*?=<>%~:, \n\u0000a0é😀\ud800'.split(""),
    ...'#(|#.|@this|@keys|@flatten:|!{|!1|..|==|a.b|)#|"a"|@fromstr|@tostr'.split("|"),
  );
  const path = fc.array(pieces, { maxLength: 40 }).map((it) => it.join(""));
  fc.assert(
    fc.property(path, fc.jsonValue({ maxDepth: 4 }), (text, value) => {
      const reading = parsePath(text);
      if (!reading.ok) {
        assert.ok(
          reading.position >= 1 && reading.position <= text.length + 1,
          `${reading.position}`,
        );
        return;
      }
      const found = evaluate(reading.path, value);
      assert.ok("value" in found || found.problem !== "");
    }),
    { numRuns: 3000 },
  );
});

Deno.test("evaluate() finds every member by its escaped key", () => {
  const key = fc.string({ unit: "grapheme-ascii", minLength: 1 })
    .filter((it) => it.trim() !== "" && !it.startsWith(".."));
  fc.assert(
    fc.property(key, fc.integer(), (name, number) => {
      const path = name.replace(/[.|*?\\@!#{}[\]()]/g, "\\$&");
      assert.equal(find(path, { [name]: number }), String(number));
    }),
  );
});
