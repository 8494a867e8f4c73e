/** Tests of switches: work runs while they are on, and ends with them. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { aborted } from "../../../platform/base/aborted.ts";
import { createSwitch } from "../../../platform/base/switch.ts";
import { until } from "../../support/until.ts";

Deno.test("`createSwitch()` is neither on nor off before it is known", async () => {
  const power = createSwitch();
  equal(power.on, undefined);
  const known = power.whenKnown();
  power.turn(false);
  equal(await known, true);
  equal(power.on, false);
  equal(await createSwitch().whenKnown(AbortSignal.abort()), false);
});

Deno.test("`onChange()` tells each change once, until it is ended", () => {
  const power = createSwitch();
  const seen: unknown[] = [];
  const stop = power.onChange(() => seen.push(power.on));
  for (const on of [true, true, false]) power.turn(on);
  stop();
  power.turn(true);
  deepEqual(seen, [true, false]);
});

Deno.test("`whileOn()` runs the work each time that it is on, and waits for its end", async () => {
  const power = createSwitch();
  const seen: string[] = [];
  const stop = new AbortController();
  const running = power.whileOn(async (signal) => {
    seen.push("begun");
    await aborted(signal);
    seen.push("ended");
  }, stop.signal);
  power.turn(true);
  await until("it runs", () => seen.length === 1);
  power.turn(false);
  await until("it has ended", () => seen.length === 2);
  power.turn(true);
  await until("it runs again", () => seen.length === 3);
  stop.abort();
  await running;
  deepEqual(seen, ["begun", "ended", "begun", "ended"]);
});

Deno.test("`whileOn()` runs the work again that was turned off and on while it ended", async () => {
  const power = createSwitch();
  const ending = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const stop = new AbortController();
  const running = power.whileOn(async (signal) => {
    signals.push(signal);
    await aborted(signal);
    await ending.promise;
  }, stop.signal);
  power.turn(true);
  await until("it runs", () => signals.length === 1);
  power.turn(false);
  power.turn(true);
  ending.resolve();
  await until("it runs again", () => signals.length === 2);
  equal(signals[1]?.aborted, false);
  stop.abort();
  await running;
});

Deno.test("`whileOn()` does not repeat work that ends by itself while it is on", async () => {
  const power = createSwitch();
  let begun = 0;
  const stop = new AbortController();
  const work = () => Promise.resolve(void begun++);
  const running = power.whileOn(work, stop.signal);
  power.turn(true);
  await until("it has run", () => begun === 1);
  power.turn(false);
  power.turn(true);
  await until("it has run again", () => begun === 2);
  stop.abort();
  await running;
  equal(begun, 2);
});

Deno.test("`whileOn()` rejects with its work, and ends at once without", async () => {
  const power = createSwitch();
  power.turn(true);
  const broken = () => Promise.reject(new Error("broken"));
  await rejects(power.whileOn(broken, new AbortController().signal), /broken/);
  await createSwitch().whileOn(broken, AbortSignal.abort());
});
