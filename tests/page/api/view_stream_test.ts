/** Tests of how often a stream looks at what has changed. */
import assert from "node:assert/strict";
import { pollEveryMs } from "../../../page/api/view_stream.ts";

Deno.test("pollEveryMs() lets few streams poll soon again, and many or slow ones once a second", () => {
  assert.equal(pollEveryMs(0, 1), 250);
  assert.equal(pollEveryMs(5, 2), 250);
  assert.equal(pollEveryMs(10, 5), 500);
  assert.equal(pollEveryMs(1, 1_000), 1_000);
  assert.equal(pollEveryMs(30_000, 1), 1_000);
});
