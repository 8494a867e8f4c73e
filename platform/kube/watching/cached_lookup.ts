/** Object lookups over watched caches, with a bounded read of the API server on a miss. */
import type { Clock } from "../../base/clock.ts";
import { createExpiringMemory } from "../../base/expiring_memory.ts";
import { formatKey } from "../resource.ts";

/**
 * Finds an object by name; the namespace of a cluster-scoped one is empty. `uid` says which incarnation is
 * wanted, so that a cache that holds another one may look again. Returns undefined if there is none. Throws if
 * that cannot be known.
 */
export type Lookup<T> = (
  key: { readonly namespace: string; readonly name: string },
  uid?: string,
) => T | undefined | Promise<T | undefined>;

/** Budget that reads are taken from. */
export interface ReadBudget {
  /** Takes a read. Throws if there is none left. */
  take(namespace: string): void;
}

/** Options of {@link createLookup}. */
export interface LookupOptions<T> {
  /** From the watched cache, by `namespace/name`. */
  readonly cached: (key: string) => T | undefined;
  /** From the API server; undefined if there is none. Has a deadline of its own. */
  readonly read: (key: { namespace: string; name: string }) => Promise<T | undefined>;
  readonly clock: Clock;
  /** The budget that reads are taken from, shared by lookups. Absent: nothing bounds them. */
  readonly budget?: ReadBudget;
  /** How long the absence of an object is remembered. Default 2 s. */
  readonly absentForMs?: number;
}

/**
 * How long an object that was read is taken to exist, from the start of the read, in milliseconds. A deleted object must
 * be refused within a second, and no watch reports the deletion of what the cache does not hold.
 */
const FOUND_FOR_MS = 500;
/** Answers that are remembered. */
const MAX_ANSWERS = 10_000;

/** A read in progress, and the monotonic time at which it began. */
interface Reading<T> {
  readonly answer: Promise<T | undefined>;
  readonly sinceMs: number;
}

/**
 * Creates a lookup that trusts the cache if it holds the wanted incarnation, and otherwise reads from the
 * API server; concurrent callers share the read, and later ones its answer for a moment. The lookup throws
 * what the budget and the read throw.
 */
export function createLookup<T extends { metadata?: { uid?: string } }>(
  options: LookupOptions<T>,
): Lookup<T> {
  const { cached, read, clock, budget, absentForMs = 2000 } = options;
  const answers = createExpiringMemory<{ readonly object: T | undefined }>(clock, MAX_ANSWERS);
  /** Has at most as many entries as the budget grants in the time that a read may take. */
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
      const foundForMs = sinceMs + FOUND_FOR_MS - clock.monotonic();
      answers.set(id, { object }, object === undefined ? absentForMs : foundForMs);
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
    const name = formatKey(key);
    const held = cached(name);
    if (fits(held, uid)) return held;
    const id = `${name}/${uid ?? ""}`;
    const known = answers.get(id);
    if (known !== undefined) return known.object;
    // The answer of a slow read is too old for a caller that comes later.
    const running = inFlight.get(id);
    if (running !== undefined && clock.monotonic() < running.sinceMs + FOUND_FOR_MS) {
      return running.answer;
    }
    return ask(id, key, uid);
  };
}
