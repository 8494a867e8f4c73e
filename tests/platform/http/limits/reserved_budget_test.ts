/** Tests of the budget of which a part is reserved. */
import assert from "node:assert/strict";
import { createReservedBudget } from "../../../../platform/http/limits/reserved_budget.ts";

/** Returns how many of `count` attempts succeed. */
function taken(take: () => boolean, count: number): number {
  return Array.from({ length: count }, take).filter(Boolean).length;
}

Deno.test("`createReservedBudget()` reserves a fifth for urgent requests", () => {
  const take = createReservedBudget(10);
  assert.equal(taken(() => take(0, false), 20), 8);
  assert.equal(taken(() => take(0, true), 20), 2);
  assert.equal(taken(() => take(0, true), 1), 0);
});

Deno.test("`createReservedBudget()` fills the reserve before it gives to others", () => {
  const take = createReservedBudget(10);
  taken(() => take(0, true), 10);
  assert.equal(take(200, false), false, "two are back, which are reserved");
  assert.equal(take(300, false), true);
  assert.equal(take(300, true), true);
});

Deno.test("`createReservedBudget()` of one a second reserves nothing", () => {
  const take = createReservedBudget(1);
  assert.equal(taken(() => take(0, false), 3), 1);
  assert.equal(take(1000, false), true);
});
