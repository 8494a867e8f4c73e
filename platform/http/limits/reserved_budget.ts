/** Budget of reviews, of which a part is reserved. */
import { Bucket } from "../../base/token_bucket.ts";

/** Takes one from the budget; false if there is none left. `nowMs` is monotonic. */
export type TakeFromBudget = (nowMs: number, first: boolean) => boolean;

/**
 * Creates a budget of `perSecond` in the long run, and `burst` at once, by default as many. `first` ones may take
 * all of it; the others leave a fifth to them.
 */
export function createReservedBudget(perSecond: number, burst = perSecond): TakeFromBudget {
  const budget = new Bucket({ ratePerSecond: perSecond, burst: Math.max(1, burst) });
  const reserved = Math.floor(budget.limits.burst / 5);
  return (nowMs, first) =>
    (first || budget.tokens(nowMs) >= 1 + reserved) && budget.take(nowMs) === 0;
}
