/** Rate limits as a clockless bucket, and a bounded set of such buckets by key. */
import { createRecentMemory } from "./recent_memory.ts";

/** Bounds of a rate: `ratePerSecond` in the long run, `burst` (at least 1) at once. */
export interface BucketLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** A bucket at one moment. */
export interface Bucket {
  /** Tokens that are left; never above the burst, negative when over-charged. */
  readonly tokens: number;
  /** Monotonic time of the last change, in milliseconds. */
  readonly atMs: number;
}

/** Outcome of {@link take}: the bucket after it, and 0 or the time until it would succeed. */
export interface Taken {
  readonly bucket: Bucket;
  /** 0 if the token was taken, else milliseconds until there is one. */
  readonly waitMs: number;
}

/** The bucket as it is at `nowMs`, refilled. A missing bucket is a full one. */
export function refill(bucket: Bucket | undefined, nowMs: number, limits: BucketLimits): Bucket {
  if (bucket === undefined) return { tokens: limits.burst, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  const tokens = Math.min(limits.burst, bucket.tokens + elapsedMs * limits.ratePerSecond / 1000);
  // Callers come with the times of their arrivals, in any order: no time is refilled twice.
  return { tokens, atMs: Math.max(bucket.atMs, nowMs) };
}

/** Takes tokens, at most the burst, if there are as many; otherwise nothing changes but the time. */
export function take(
  bucket: Bucket | undefined,
  nowMs: number,
  limits: BucketLimits,
  amount = 1,
): Taken {
  const full = refill(bucket, nowMs, limits);
  // Sums of fractions may miss a whole token by a hair.
  if (full.tokens >= amount - 1e-9) {
    return { bucket: { ...full, tokens: full.tokens - amount }, waitMs: 0 };
  }
  return {
    bucket: full,
    waitMs: Math.ceil((amount - full.tokens) * 1000 / limits.ratePerSecond - 1e-6),
  };
}

/** Takes tokens, there or not: the debt is at most the burst, so that it is paid in a bounded time. */
export function charge(
  bucket: Bucket | undefined,
  nowMs: number,
  limits: BucketLimits,
  amount = 1,
): Bucket {
  const full = refill(bucket, nowMs, limits);
  return { ...full, tokens: Math.max(-limits.burst, full.tokens - amount) };
}

/** Buckets by key. The longest unused are forgotten (and so are full again) beyond `maxKeys`. */
export interface KeyedBuckets {
  /** Takes a token of `key`, or `amount`. Returns 0, or the milliseconds to wait for them. */
  take(key: string, nowMs: number, amount?: number): number;
  /** Takes a token of `key`, or `amount`, even if there is none: {@link charge}. */
  charge(key: string, nowMs: number, amount?: number): void;
  /** Returns the milliseconds until `key` has a token, or `amount`; 0 if it has. Takes nothing. */
  waitMs(key: string, nowMs: number, amount?: number): number;
  /** Returns the tokens of `key` that are taken. */
  used(key: string, nowMs: number): number;
}

/** Creates {@link KeyedBuckets} with the same limits for each key. */
export function createKeyedBuckets(limits: BucketLimits, maxKeys: number): KeyedBuckets {
  let latestMs = 0;
  const buckets = createRecentMemory<{ now: Bucket }>({
    now: () => latestMs,
    max: maxKeys,
    // After this time the bucket is full again in any case.
    idleMs: Math.max(60_000, Math.ceil(2 * limits.burst * 1000 / limits.ratePerSecond)),
  });

  /** Changes the bucket of a key in place if it has one, which costs less than to set it. */
  function put(key: string, held: { now: Bucket } | undefined, bucket: Bucket): void {
    if (held === undefined) buckets.set(key, { now: bucket });
    else held.now = bucket;
  }

  return {
    take(key, nowMs, amount) {
      latestMs = nowMs;
      const held = buckets.get(key);
      const { bucket, waitMs } = take(held?.now, nowMs, limits, amount);
      put(key, held, bucket);
      return waitMs;
    },
    charge(key, nowMs, amount) {
      latestMs = nowMs;
      const held = buckets.get(key);
      put(key, held, charge(held?.now, nowMs, limits, amount));
    },
    waitMs(key, nowMs, amount) {
      latestMs = nowMs;
      const held = buckets.get(key);
      return held === undefined ? 0 : take(held.now, nowMs, limits, amount).waitMs;
    },
    used(key, nowMs) {
      latestMs = nowMs;
      return limits.burst - refill(buckets.get(key)?.now, nowMs, limits).tokens;
    },
  };
}
