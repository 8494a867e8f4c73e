/** Budget that no single user can use up, such as of bytes. */

/** The budget, of which amounts are held under keys, such as peers. */
export interface FairShare {
  /** Takes an amount. Returns false, and takes nothing, if the key would hold more than its share. */
  take(key: string, amount: number): boolean;
  /** Returns an amount that was taken. */
  give(key: string, amount: number): void;
  /** Returns what all keys hold together. */
  used(): number;
}

/**
 * Creates a budget of which each key may hold as much as is left free: a single one up to a half. If `n` of them
 * hold all that they can, a fraction of `1 / (n + 1)` is free, and a new one may have half of that.
 */
export function createFairShare(total: number): FairShare {
  /** Never more keys than amounts that are held. */
  const held = new Map<string, number>();
  let used = 0;
  return {
    used: () => used,
    take(key, amount) {
      const wanted = (held.get(key) ?? 0) + amount;
      if (wanted > total - used - amount) return false;
      held.set(key, wanted);
      used += amount;
      return true;
    },
    give(key, amount) {
      const left = (held.get(key) ?? 0) - amount;
      if (left > 0) held.set(key, left);
      else held.delete(key);
      used -= amount;
    },
  };
}
