/** Test that the generated pages of docs/reference/ are current. */
import assert from "node:assert/strict";
import { stalePages } from "../../docs/generate.ts";

Deno.test("the generated pages of docs/reference/ are current: else run deno task docs", async () => {
  assert.deepEqual(await stalePages(), []);
});
