/** Test of stalls over half a day of made-up jobs: hangs are found, and nothing else is called stalled. */
import assert from "node:assert/strict";
import { simulate } from "../../../bench/stalls/stall_world.ts";

Deno.test("jobs that evaluate, save, warm up, slow down, are suspended or cannot be heard are not called stalled", async () => {
  const options = { seed: 7, jobs: 60, hours: 14, hangs: 10, troubled: true };
  const { hangs, falseStalls, restarts } = await simulate(options);
  assert.deepEqual(falseStalls.filter(({ isCut }) => !isCut), []);
  assert.equal(restarts.wrong, 0);
  assert.ok(restarts.right > 0, "those that hang, and whose pods are heard, are restarted");
  assert.ok(hangs.length >= 8, `${hangs.length} hangs`);
  const missed = hangs.filter(({ foundMs }) => foundMs === undefined);
  assert.ok(missed.length <= 1, JSON.stringify(missed));
  const quick = hangs.filter(({ program }) => program === "phases");
  assert.ok(quick.length > 2 && quick.some(({ foundMs = Infinity }) => foundMs <= 30_000));
});
