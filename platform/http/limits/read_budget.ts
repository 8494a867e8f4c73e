/** Budget of API server reads on cache misses, for each namespace and in total. */
import type { ReadBudget } from "../../kube/watching/cached_lookup.ts";
import type { Clock } from "../../base/clock.ts";
import { TransportError } from "../../kube/errors.ts";
import { Bucket, type BucketLimits, createKeyedBuckets } from "../../base/token_bucket.ts";

/** Error for a read that the budget does not allow: the request can be tried again a moment later. */
export class ReadBudgetError extends TransportError {
  constructor(namespace: string) {
    const where = namespace === "" ? "" : ` of namespace ${namespace}`;
    super(`too many requests are about objects${where} that no cache holds: try again soon`);
    this.name = "ReadBudgetError";
  }
}

/** Namespaces that are remembered. */
const MAX_NAMESPACES = 10_000;

/**
 * Creates a {@link ReadBudget}, which throws a {@link ReadBudgetError} if it is spent. A read that its namespace's budget refuses is not taken
 * from the total.
 */
export function createReadBudget(options: {
  readonly clock: Clock;
  /** Of one namespace, so that none takes the reads of the others. Default 50 a second, 200 at once. */
  readonly perNamespace?: BucketLimits;
  /** Of all together. Default 100 a second, 400 at once. */
  readonly total?: BucketLimits;
}): ReadBudget {
  const { clock } = options;
  const { perNamespace = { ratePerSecond: 50, burst: 200 } } = options;
  const { total = { ratePerSecond: 100, burst: 400 } } = options;
  const namespaces = createKeyedBuckets(perNamespace, MAX_NAMESPACES);
  const all = new Bucket(total);
  return {
    take(namespace) {
      const nowMs = clock.monotonic();
      if (namespaces.take(namespace, nowMs) > 0 || all.take(nowMs) > 0) {
        throw new ReadBudgetError(namespace);
      }
    },
  };
}
