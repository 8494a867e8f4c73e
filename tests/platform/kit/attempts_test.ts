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
  const attempts = new Attempts(stop.signal, 1);
  const called: number[] = [];
  const each = attempts.each([1, 2], (it) => {
    called.push(it);
    stop.abort(new Error("stopped"));
    return Promise.resolve();
  });
  await rejects(each, /stopped/);
  await rejects(attempts.one(refuse("broken off")), /stopped/);
  deepEqual(called, [1]);
  equal(attempts.failed, false);
});
