/** Lookups over watched caches: on a miss one bounded read, whose answer is believed for a moment. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Lookup } from "./ownership.ts";
import type { ReadBudget } from "./read_budget.ts";

/** Options of {@link createLookup}. */
export interface LookupOptions<T> {
  /** From the watched cache, by `namespace/name`. */
  readonly cached: (key: string) => T | undefined;
  /** From the API server; undefined where there is none. Has a deadline of its own. */
  readonly read: (key: { namespace: string; name: string }) => Promise<T | undefined>;
  readonly clock: Clock;
  /** What reads are taken from, shared by lookups. Absent: nothing bounds them. */
  readonly budget?: ReadBudget;
  /**
   * How long an object that was read is believed to be there, from the moment it was asked for. What
   * is deleted must be refused within a second: no watch says so of what the cache does not hold.
   * Default 500 ms.
   */
  readonly foundForMs?: number;
  /** How long "there is none" is believed. Default 2 s. */
  readonly absentForMs?: number;
  /** How many answers are remembered. Default 10000. */
  readonly maxAnswers?: number;
}

/** What the API server answered, until when by monotonic time. */
interface Answer<T> {
  readonly object: T | undefined;
  readonly untilMs: number;
}

/** A read under way, since when by monotonic time. */
interface Reading<T> {
  readonly answer: Promise<T | undefined>;
  readonly sinceMs: number;
}

/**
 * A lookup that trusts the cache where it holds the wanted incarnation, and asks the API server for one
 * that it does not hold; concurrent askers share the read, and later ones its answer for a moment.
 * Throws what the budget throws, and what the read does.
 */
export function createLookup<T extends { metadata?: { uid?: string } }>(
  options: LookupOptions<T>,
): Lookup<T> {
  const { cached, read, clock, budget, maxAnswers = 10_000 } = options;
  const { foundForMs = 500, absentForMs = 2000 } = options;
  const answers = createBoundedCache<Answer<T>>(maxAnswers);
  /** Never more than the budget gives in the time that a read may take. */
  const inFlight = new Map<string, Reading<T>>();
  const fits = (object: T | undefined, uid: string | undefined) =>
    object !== undefined && (uid === undefined || object.metadata?.uid === uid);

  async function ask(
    id: string,
    { namespace, name }: { namespace: string; name: string },
    uid: string | undefined,
  ): Promise<T | undefined> {
    const sinceMs = clock.monotonic();
    budget?.take(namespace);
    const running = read({ namespace, name });
    const answer = running.then((found) => {
      const object = fits(found, uid) ? found : undefined;
      const untilMs = object === undefined ? clock.monotonic() + absentForMs : sinceMs + foundForMs;
      answers.set(id, { object, untilMs });
      return object;
    });
    const reading = { answer, sinceMs };
    inFlight.set(id, reading);
    try {
      return await answer;
    } finally {
      if (inFlight.get(id) === reading) inFlight.delete(id);
    }
  }

  return (key, uid) => {
    const name = `${key.namespace}/${key.name}`;
    const held = cached(name);
    if (fits(held, uid)) return held;
    const id = `${name}/${uid ?? ""}`;
    const nowMs = clock.monotonic();
    const known = answers.get(id);
    if (known !== undefined && nowMs < known.untilMs) return known.object;
    // What a slow read will say is too old for who asks now.
    const running = inFlight.get(id);
    if (running !== undefined && nowMs < running.sinceMs + foundForMs) return running.answer;
    return ask(id, key, uid);
  };
}
