/** Tests of switches. */
import { deepEqual, equal } from "node:assert/strict";
import { createSwitch } from "../../../platform/base/switch.ts";

Deno.test("`createSwitch()` is neither on nor off before it is known", () => {
  const isWanted = createSwitch();
  equal(isWanted.on, undefined);
  isWanted.turn(false);
  equal(isWanted.on, false);
});

Deno.test("`onChange()` tells each change once, until it is ended", () => {
  const isWanted = createSwitch();
  const seen: unknown[] = [];
  const stop = isWanted.onChange(() => seen.push(isWanted.on));
  for (const on of [true, true, false]) isWanted.turn(on);
  stop();
  isWanted.turn(true);
  deepEqual(seen, [true, false]);
});
