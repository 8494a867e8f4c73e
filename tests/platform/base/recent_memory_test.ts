/** Tests of the memory whose unused entries expire. */
import assert from "node:assert/strict";
import { createRecentMemory } from "../../../platform/base/recent_memory.ts";

function memoryAt(max = 1000) {
  const clock = { ms: 1 };
  const memory = createRecentMemory<{ n: number }>({ now: () => clock.ms, max, idleMs: 1000 });
  return { clock, memory };
}

Deno.test("`createRecentMemory()` keeps what is used, and sweeps what is not", () => {
  const { clock, memory } = memoryAt();
  memory.set("used", { n: 0 });
  for (let n = 0; n < 100; n++) {
    clock.ms += 100;
    memory.set(`once-${n}`, { n });
    assert.deepEqual(memory.get("used"), { n: 0 });
  }
  // Ten a second live for one second; half a second more may pass before they are swept.
  assert.ok(memory.size <= 17, `${memory.size} entries are left`);
  assert.equal(memory.get("once-50"), undefined);
  assert.deepEqual(memory.get("once-99"), { n: 99 });
});

Deno.test("`createRecentMemory()` is bounded, and forgets what was unused for longest", () => {
  const { memory } = memoryAt(2);
  memory.set("a", { n: 1 });
  memory.set("b", { n: 2 });
  memory.get("a");
  memory.set("c", { n: 3 });
  assert.equal(memory.size, 2);
  assert.deepEqual([memory.get("a")?.n, memory.get("b")?.n, memory.get("c")?.n], [1, undefined, 3]);
});

Deno.test("`createRecentMemory()` keeps an entry for the given time", () => {
  const { clock, memory } = memoryAt();
  memory.set("long", { n: 1 }, 5000);
  memory.set("short", { n: 2 }, 10);
  clock.ms = 12;
  assert.equal(memory.get("short"), undefined);
  clock.ms = 4000;
  memory.set("other", { n: 3 });
  assert.deepEqual(memory.get("long"), { n: 1 });
  memory.delete("long");
  assert.equal(memory.get("long"), undefined);
});
