/** Tests of `platform/base/timestamps.ts`. */
import assert from "node:assert/strict";
import { rfc3339, rfc3339Micro } from "../../../platform/base/timestamps.ts";

Deno.test("`rfc3339()` has whole seconds and `rfc3339Micro()` microseconds", () => {
  const ms = Date.parse("2026-01-02T03:04:05.678Z");
  assert.equal(rfc3339(ms), "2026-01-02T03:04:05Z");
  assert.equal(rfc3339Micro(ms), "2026-01-02T03:04:05.678000Z");
});
