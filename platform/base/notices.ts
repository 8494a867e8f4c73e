/** Memory of notices, so that each is told once however many passes find its cause. */
import { createBoundedCache, type EntryLifetime } from "./bounded_cache.ts";

/**
 * Returns a function that reports whether a text is news, and remembers it. Beyond `max` texts those that were asked
 * for longest ago are forgotten, and are news again; with a lifetime, so are those that are older.
 */
export function createNotices(max: number, lifetime?: EntryLifetime): (text: string) => boolean {
  const told = createBoundedCache<true>(max, lifetime);
  return (text) => {
    if (told.has(text)) return false;
    told.set(text, true);
    return true;
  };
}
