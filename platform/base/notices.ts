/** Memory of notices, so that each is told once however many passes find its cause. */
import { createBoundedCache, type EntryLifetime } from "./bounded_cache.ts";

/**
 * Returns a function that reports whether a text is news about a key, other than what it was last asked about that; without
 * a text the key says all. Beyond `max` keys those that were asked for longest ago are forgotten, and are news again; with
 * a lifetime, so are those that are older.
 */
export function createNotices(
  max: number,
  lifetime?: EntryLifetime,
): (key: string, text?: string) => boolean {
  const told = createBoundedCache<string>(max, lifetime);
  return (key, text = "") => {
    if (told.get(key) === text) return false;
    told.set(key, text);
    return true;
  };
}
