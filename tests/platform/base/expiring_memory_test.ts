/** Tests of the memory of values that expire. */
import assert from "node:assert/strict";
import { createExpiringMemory } from "../../../platform/base/expiring_memory.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("`createExpiringMemory()` keeps a value for its time, however often it is used", async () => {
  const clock = new FakeClock();
  const memory = createExpiringMemory<boolean>(clock, 10);
  memory.set("a", false, 1000);
  memory.set("b", true, 5000);
  await clock.advance(999);
  assert.deepEqual([memory.get("a"), memory.get("b")], [false, true]);
  await clock.advance(1);
  assert.deepEqual([memory.get("a"), memory.get("b")], [undefined, true]);
  memory.delete("b");
  assert.equal(memory.get("b"), undefined);
});

Deno.test("`createExpiringMemory()` has a bound; the value unused for longest makes room", () => {
  const memory = createExpiringMemory<number>(new FakeClock(), 2);
  memory.set("a", 1, 1000);
  memory.set("b", 2, 1000);
  memory.get("a");
  memory.set("c", 3, 1000);
  assert.deepEqual(["a", "b", "c"].map(memory.get), [1, undefined, 3]);
});
