/** Budget of reviews, of which a part is reserved. */
import { type Bucket, type BucketLimits, refill, take } from "../../base/token_bucket.ts";

/** Takes one from the budget; false if there is none left. `nowMs` is monotonic. */
export type TakeFromBudget = (nowMs: number, first: boolean) => boolean;

/**
 * Creates a budget of `perSecond` in the long run, and `burst` at once, by default as many. `first` ones may take
 * all of it; the others leave a fifth to them.
 */
export function createReservedBudget(perSecond: number, burst = perSecond): TakeFromBudget {
  const limits: BucketLimits = { ratePerSecond: perSecond, burst: Math.max(1, burst) };
  const reserved = Math.floor(limits.burst / 5);
  let budget: Bucket | undefined;
  return (nowMs, first) => {
    budget = refill(budget, nowMs, limits);
    if (!first && budget.tokens < 1 + reserved) return false;
    const taken = take(budget, nowMs, limits);
    budget = taken.bucket;
    return taken.waitMs === 0;
  };
}
