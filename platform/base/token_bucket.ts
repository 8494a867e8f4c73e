/** Rate limit as a bucket without a clock, and a bounded set of such buckets by key. */
import { createRecentMemory } from "./recent_memory.ts";

/** Bounds of a rate: `ratePerSecond` in the long run, `burst` (at least 1) at once. */
export interface BucketLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** A bucket, full at first. Times are monotonic, in milliseconds, and come in any order: no time is refilled twice. */
export class Bucket {
  #tokens: number;
  #atMs = -Infinity;

  constructor(public limits: BucketLimits) {
    this.#tokens = limits.burst;
  }

  /** Returns the tokens that are left; never above the burst, negative when over-charged. */
  tokens(nowMs: number): number {
    const { burst, ratePerSecond } = this.limits;
    if (this.#tokens < burst) {
      const elapsedMs = Math.max(0, nowMs - this.#atMs);
      this.#tokens = Math.min(burst, this.#tokens + elapsedMs * ratePerSecond / 1000);
    }
    this.#atMs = Math.max(this.#atMs, nowMs);
    return this.#tokens;
  }

  /** Returns the milliseconds until there are so many tokens; 0 if there are. */
  waitMs(nowMs: number, amount = 1): number {
    const missing = amount - this.tokens(nowMs);
    // Sums of fractions may miss a whole token by a hair.
    return missing <= 1e-9 ? 0 : Math.ceil(missing * 1000 / this.limits.ratePerSecond - 1e-6);
  }

  /** Takes tokens, at most the burst, if there are as many. Returns 0, or the milliseconds until there are. */
  take(nowMs: number, amount = 1): number {
    const waitMs = this.waitMs(nowMs, amount);
    if (waitMs === 0) this.#tokens -= amount;
    return waitMs;
  }

  /** Takes tokens, there or not: the debt is at most the burst, so that it is paid in a bounded time. */
  charge(nowMs: number, amount = 1): void {
    this.#tokens = Math.max(-this.limits.burst, this.tokens(nowMs) - amount);
  }
}

/** Buckets by key. The longest unused are forgotten (and so are full again) beyond `maxKeys`. */
export type KeyedBuckets = ReturnType<typeof createKeyedBuckets>;

/** Creates {@link KeyedBuckets} with the same limits for each key. */
export function createKeyedBuckets(limits: BucketLimits, maxKeys: number) {
  let latestMs = 0;
  const buckets = createRecentMemory<Bucket>({
    now: () => latestMs,
    max: maxKeys,
    // After this time the bucket is full again in any case.
    idleMs: Math.max(60_000, Math.ceil(2 * limits.burst * 1000 / limits.ratePerSecond)),
  });

  function find(key: string, nowMs: number): Bucket | undefined {
    latestMs = nowMs;
    return buckets.get(key);
  }

  function bucketOf(key: string, nowMs: number): Bucket {
    const known = find(key, nowMs);
    if (known !== undefined) return known;
    const bucket = new Bucket(limits);
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    /** Takes a token of `key`, or `amount`. Returns 0, or the milliseconds to wait for them. */
    take: (key: string, nowMs: number, amount?: number): number =>
      bucketOf(key, nowMs).take(nowMs, amount),
    /** Takes a token of `key`, or `amount`, even if there is none: {@link Bucket.charge}. */
    charge: (key: string, nowMs: number, amount?: number): void =>
      bucketOf(key, nowMs).charge(nowMs, amount),
    /** Returns the milliseconds until `key` has a token, or `amount`; 0 if it has. Takes nothing. */
    waitMs: (key: string, nowMs: number, amount?: number): number =>
      find(key, nowMs)?.waitMs(nowMs, amount) ?? 0,
    /** Returns the tokens of `key` that are taken. */
    used: (key: string, nowMs: number): number =>
      limits.burst - (find(key, nowMs)?.tokens(nowMs) ?? limits.burst),
  };
}
