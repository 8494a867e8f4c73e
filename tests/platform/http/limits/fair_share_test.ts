/** Tests of budgets that no one can use up alone. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { createFairShare } from "../../../../platform/http/limits/fair_share.ts";

Deno.test("`createFairShare()` gives one key a half at most, and leaves something to the next", () => {
  const budget = createFairShare(100);
  const takeAll = (key: string) => {
    let taken = 0;
    while (budget.take(key, 1)) taken += 1;
    return taken;
  };
  assert.equal(takeAll("a"), 50);
  assert.equal(takeAll("b"), 25);
  assert.equal(budget.take("c", 13), false);
  assert.equal(takeAll("c"), 12);
  budget.give("a", 50);
  assert.equal(budget.used(), 37);
  assert.equal(takeAll("c"), 25);
});

Deno.test("`createFairShare()` never gives out more than there is, and takes everything back", () => {
  const amounts = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.nat({ max: 40 })));
  fc.assert(fc.property(amounts, (wanted) => {
    const budget = createFairShare(100);
    const taken = wanted.filter(([key, amount]) => budget.take(key, amount));
    assert(budget.used() <= 100);
    assert.equal(budget.used(), taken.reduce((sum, [, amount]) => sum + amount, 0));
    for (const [key, amount] of taken) budget.give(key, amount);
    assert.equal(budget.used(), 0);
  }));
});
