/** Tests of calls that are shared while they are under way. */
import assert from "node:assert/strict";
import { sharedCall } from "../../../platform/base/shared_calls.ts";

Deno.test("`sharedCall()` begins one call of a key at a time, also after one that failed", async () => {
  const underWay = new Map<string, Promise<number>>();
  const begun: PromiseWithResolvers<number>[] = [];
  const call = (key: string) =>
    sharedCall(underWay, key, () => {
      const next = Promise.withResolvers<number>();
      begun.push(next);
      return next.promise;
    });
  const [one, same, other] = [call("a"), call("a"), call("b")];
  assert.equal(begun.length, 2);
  begun[0]?.reject(new Error("no answer"));
  begun[1]?.resolve(2);
  await assert.rejects(one, /no answer/);
  await assert.rejects(same, /no answer/);
  assert.equal(await other, 2);
  assert.equal(underWay.size, 0);
  const again = call("a");
  begun[2]?.resolve(3);
  assert.equal(await again, 3);
});
