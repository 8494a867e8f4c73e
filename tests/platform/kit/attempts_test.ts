/** Tests of the calls of a pass, each of which is attempted. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { Attempts } from "../../../platform/kit/attempts.ts";

const refuse = (text: string) => () => Promise.reject(new Error(text));

Deno.test("`Attempts` calls for each item and goes on after errors, of which the first is told", async () => {
  const attempts = new Attempts(new AbortController().signal);
  const called: number[] = [];
  equal(await attempts.each([1, 2], (it) => Promise.resolve(called.push(it))), true);
  equal(attempts.failed, false);
  deepEqual([attempts.result(), attempts.result(7)], [undefined, { requeueAfterMs: 7 }]);
  const odd = (it: number) => it % 2 ? refuse(`no ${it}`)() : Promise.resolve(called.push(it));
  equal(await attempts.each([3, 4, 5], odd), false);
  equal(await attempts.one(refuse("another")), undefined);
  equal(await attempts.one(() => Promise.resolve("done")), "done");
  deepEqual(called, [1, 2, 4]);
  equal(attempts.failed, true);
  deepEqual(attempts.result(7), { error: new Error("no 3"), requeueAfterMs: 7 });
});

Deno.test("`Attempts` rejects when its signal aborts, and says nothing of what was broken off", async () => {
  const stop = new AbortController();
  const attempts = new Attempts(stop.signal);
  const called: number[] = [];
  const each = attempts.each(Array.from({ length: 60 }, (_, n) => n), async (it) => {
    called.push(it);
    await Promise.resolve();
    stop.abort(new Error("stopped"));
  });
  await rejects(each, /stopped/);
  await rejects(attempts.one(refuse("broken off")), /stopped/);
  equal(called.length, 50, "the others are not begun");
  equal(attempts.failed, false);
});

Deno.test("`Attempts` rejects with an error that ends the pass", async () => {
  const ends = (error: unknown) => error instanceof Error && error.message === "outdated";
  const attempts = new Attempts(new AbortController().signal, ends);
  await attempts.one(refuse("no"));
  await rejects(attempts.one(refuse("outdated")), /outdated/);
  await rejects(attempts.each(["no", "outdated"], (text) => refuse(text)()), /outdated/);
  deepEqual(attempts.errors, [new Error("no"), new Error("no")]);
});
