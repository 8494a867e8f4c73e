/** Tests of how often a stream looks at what has changed. */
import assert from "node:assert/strict";
import { lookEveryMs } from "../../../page/api/view_stream.ts";

Deno.test("lookEveryMs() lets few streams look soon again, and many or slow ones once a second", () => {
  assert.equal(lookEveryMs(0, 1), 250);
  assert.equal(lookEveryMs(5, 2), 250);
  assert.equal(lookEveryMs(10, 5), 500);
  assert.equal(lookEveryMs(1, 1_000), 1_000);
  assert.equal(lookEveryMs(30_000, 1), 1_000);
});
