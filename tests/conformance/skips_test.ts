/** Tests of the skips: each skipped case is reported. */
import assert from "node:assert/strict";
import { suite } from "./suite.ts";

Deno.test("docs/reference/standalone.md says why each skipped case is skipped", async () => {
  const docs = await Deno.readTextFile(
    new URL("../../docs/reference/standalone.md", import.meta.url),
  );
  const text = docs.replace(/\s+/g, " ");
  for (const { name, skip } of Object.values(suite).flat()) {
    if (skip?.embedded) assert.ok(text.includes(skip.embedded), `${name}: ${skip.embedded}`);
  }
});

Deno.test("every case of a theme has a unique name", () => {
  for (const [theme, cases] of Object.entries(suite)) {
    const names = cases.map(({ name }) => name);
    assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), [], theme);
  }
});
