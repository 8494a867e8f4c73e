/** Tests of the bounds of JSON text. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type JsonBounds, measureJson } from "../../webhook/json_bounds.ts";

const exceededBound = (text: Uint8Array, bounds: JsonBounds) => measureJson(text, bounds).exceeded;
const encode = (text: string) => new TextEncoder().encode(text);

function count(value: unknown): { values: number; depth: number } {
  if (typeof value !== "object" || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(count);
  return {
    values: inner.reduce((sum, { values }) => sum + values, 1),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

Deno.test("`measureJson()` lets JSON pass that keeps the bounds, whatever its texts hold", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 4 }), (value, indent) => {
    const text = encode(JSON.stringify(value, null, indent));
    const { values, depth } = count(value);
    // Empty lists and objects count as if they held something.
    assert.equal(exceededBound(text, { values: 2 * values, depth }), undefined);
    if (depth > 0) {
      assert.equal(exceededBound(text, { values: 2 * values, depth: depth - 1 }), "depth");
    }
    if (values > 1) assert.equal(exceededBound(text, { values: values - 1, depth }), "values");
  }));
});
