/** Lookups over watched caches: on a miss one bounded read, then for a moment the answer "none". */
import { LRUCache } from "lru-cache";
import type { Clock } from "../kube/clock.ts";
import type { Lookup } from "./ownership.ts";

/** Options of {@link createLookup}. */
export interface LookupOptions<T> {
  /** From the watched cache, by `namespace/name`. */
  readonly cached: (key: string) => T | undefined;
  /** From the API server; undefined where there is none. Has a deadline of its own. */
  readonly read: (key: { namespace: string; name: string }) => Promise<T | undefined>;
  readonly clock: Clock;
  /** How long a miss is believed. Default 2 s. */
  readonly negativeMs?: number;
  /** How many misses are remembered. Default 10000. */
  readonly maxMisses?: number;
}

/**
 * A lookup that trusts the cache where it holds the wanted incarnation, and asks the API server at
 * most once in `negativeMs` for one that it does not hold; concurrent askers share the read.
 */
export function createLookup<T extends { metadata?: { uid?: string } }>(
  options: LookupOptions<T>,
): Lookup<T> {
  const { cached, read, clock, negativeMs = 2000, maxMisses = 10_000 } = options;
  const misses = new LRUCache<string, number>({ max: maxMisses });
  const inFlight = new Map<string, Promise<T | undefined>>();
  const fits = (object: T | undefined, uid: string | undefined) =>
    object !== undefined && (uid === undefined || object.metadata?.uid === uid);

  function ask(id: string, key: { namespace: string; name: string }): Promise<T | undefined> {
    const running = inFlight.get(id);
    if (running !== undefined) return running;
    const started = read(key).finally(() => inFlight.delete(id));
    inFlight.set(id, started);
    return started;
  }

  return (key, uid) => {
    const name = `${key.namespace}/${key.name}`;
    const held = cached(name);
    if (fits(held, uid)) return held;
    const id = `${name}/${uid ?? ""}`;
    if ((misses.get(id) ?? -Infinity) > clock.monotonic()) return undefined;
    return ask(id, { namespace: key.namespace, name: key.name }).then((object) => {
      if (fits(object, uid)) return object;
      misses.set(id, clock.monotonic() + negativeMs);
      return undefined;
    });
  };
}
