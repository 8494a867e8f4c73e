/** Tests of listeners by key. */
import assert from "node:assert/strict";
import { createKeyedListeners } from "../../../platform/base/keyed_listeners.ts";

Deno.test("listeners are called with the events of their key until they are removed", () => {
  const listeners = createKeyedListeners<number>();
  const seen: string[] = [];
  const removeFirst = listeners.add("a", (event) => seen.push(`first ${event}`));
  const removeSecond = listeners.add("a", (event) => seen.push(`second ${event}`));
  listeners.add("b", (event) => seen.push(`other ${event}`));
  listeners.notify("a", 1);
  removeFirst();
  listeners.notify("a", 2);
  removeSecond();
  listeners.notify("a", 3);
  assert.deepEqual(seen, ["first 1", "second 1", "second 2"]);
  assert.deepEqual([listeners.has("a"), listeners.has("b")], [false, true]);
});

Deno.test("a removal that comes late does not remove the listeners that came since", () => {
  const listeners = createKeyedListeners();
  let calls = 0;
  const remove = listeners.add("a", () => {});
  remove();
  listeners.add("a", () => calls++);
  remove();
  listeners.notify("a");
  assert.deepEqual(calls, 1);
});

Deno.test("a listener that removes another one while it is called does not skip it", () => {
  const listeners = createKeyedListeners();
  const seen: string[] = [];
  listeners.add("a", () => {
    seen.push("first");
    removeSecond();
  });
  const removeSecond = listeners.add("a", () => seen.push("second"));
  listeners.notify("a");
  assert.deepEqual(seen, ["first", "second"]);
});
