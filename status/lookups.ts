/** Lookups over watched caches: on a miss one bounded read, whose answer is believed for a moment. */
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
  /** How long an answer is believed, be it "none" or an object. Default 2 s. */
  readonly believedMs?: number;
  /** How many answers are remembered. Default 10000. */
  readonly maxAnswers?: number;
}

/** What the API server answered, until when by monotonic time. */
interface Answer<T> {
  readonly object: T | undefined;
  readonly untilMs: number;
}

/**
 * A lookup that trusts the cache where it holds the wanted incarnation, and asks the API server at
 * most once in `believedMs` for one that it does not hold; concurrent askers share the read.
 */
export function createLookup<T extends { metadata?: { uid?: string } }>(
  options: LookupOptions<T>,
): Lookup<T> {
  const { cached, read, clock, believedMs = 2000, maxAnswers = 10_000 } = options;
  const answers = new LRUCache<string, Answer<T>>({ max: maxAnswers });
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
    const answer = answers.get(id);
    if (answer !== undefined && clock.monotonic() < answer.untilMs) return answer.object;
    return ask(id, { namespace: key.namespace, name: key.name }).then((found) => {
      const object = fits(found, uid) ? found : undefined;
      answers.set(id, { object, untilMs: clock.monotonic() + believedMs });
      return object;
    });
  };
}
