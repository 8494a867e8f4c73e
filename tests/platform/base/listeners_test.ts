/** Tests of listeners to one kind of event. */
import assert from "node:assert/strict";
import { createListeners } from "../../../platform/base/listeners.ts";

Deno.test("`notify()` calls each listener once, until it is removed", () => {
  const listeners = createListeners<string>();
  const heard: string[] = [];
  const listener = (event: string) => void heard.push(event);
  const remove = listeners.add(listener);
  listeners.add(listener);
  listeners.notify("one");
  assert.deepEqual([heard, listeners.size], [["one"], 1]);
  remove();
  listeners.notify("two");
  assert.deepEqual([heard, listeners.size], [["one"], 0]);
});

Deno.test("`notify()` calls the listeners as they were, whatever one of them adds or removes", () => {
  const listeners = createListeners();
  const heard: string[] = [];
  listeners.add(() => {
    heard.push("first");
    removeSecond();
    listeners.add(() => heard.push("third"));
  });
  const removeSecond = listeners.add(() => heard.push("second"));
  listeners.notify();
  assert.deepEqual(heard, ["first", "second"]);
  heard.length = 0;
  listeners.notify();
  assert.deepEqual(heard, ["first", "third"]);
});

Deno.test("`createListeners()` calls by the function that it is given", () => {
  const errors: string[] = [];
  const listeners = createListeners<number>((listener, event) => {
    try {
      listener(event);
    } catch (error) {
      errors.push(String(error));
    }
  });
  listeners.add(() => {
    throw new RangeError("no");
  });
  listeners.notify(1);
  assert.deepEqual(errors, ["RangeError: no"]);
});
