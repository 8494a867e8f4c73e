/** Own writes that a watched cache does not show yet, so that decisions are not made from a stale cache. */
import type { Clock } from "../base/clock.ts";
import { type Change, isRemoval } from "../kube/watching/informer_cache.ts";
import type { KubeClient } from "../kube/client.ts";
import { keyOf, type Kind, type KubeObject, parseKey } from "../kube/resource.ts";
import { getOrUndefined } from "../kube/upsert.ts";
import type { Attempts } from "./attempts.ts";

/** Options of {@link createOwnWrites}. */
export interface OwnWritesOptions<T> {
  clock: Pick<Clock, "monotonic">;
  /** The group under which objects are looked up, such as the uid of their controller. One without is not remembered. */
  groupOf: (object: T) => string | undefined;
  /** What of an object is remembered: no more than what is compared and read. Default: all. */
  keep?: (object: T) => T;
  /** Limit of remembered objects; beyond it the oldest is forgotten. Default 20000. */
  limit?: number;
}

/** What reads the objects that no cache has shown; an error of it is one of the attempts. */
export interface Reader<T> {
  readonly client: Pick<KubeClient, "get">;
  readonly kind: Kind<T>;
  readonly attempts: Pick<Attempts, "one">;
  readonly signal: AbortSignal;
}

/** After this time what was written and never seen is looked up, in milliseconds. */
export const UNSEEN_MS = 10_000;

/**
 * Whether resource version `a` is older than `b`. Kubernetes compares them as numbers; one that is
 * not a number is never older.
 */
export function isOlderVersion(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || !/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return BigInt(a) < BigInt(b);
}

function isStale(cached: KubeObject, { object: written, deleted }: Entry<KubeObject>): boolean {
  const ignorant = deleted && cached.metadata?.uid === written.metadata?.uid &&
    cached.metadata?.deletionTimestamp === undefined;
  return ignorant ||
    isOlderVersion(cached.metadata?.resourceVersion, written.metadata?.resourceVersion);
}

interface Entry<T> {
  readonly object: T;
  readonly group: string;
  readonly since: number;
  readonly deleted: boolean;
}

/** What the cache showed of a key while a write of it was under way. */
interface Meanwhile<T> {
  readonly deletedUids: Set<string>;
  last?: T;
}

/** Remembers the results of own writes until the cache has them or the object is gone. */
export class OwnWrites<T extends KubeObject> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #groups = new Map<string, Set<string>>();
  readonly #underWay = new Map<string, Set<Meanwhile<T>>>();

  constructor(private readonly options: Required<OwnWritesOptions<T>>) {}

  /** How many objects are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Runs a write of the object of that key and remembers the result, unless {@link seen} reports it, a newer form
   * of it or its deletion while the write is under way.
   */
  async track(key: string, write: () => Promise<T>): Promise<T> {
    const { result, meanwhile } = await this.#watched(key, write);
    this.#remember(key, { object: result, deleted: false }, meanwhile);
    return result;
  }

  /**
   * Runs the deletion of an object, which returns whether there was one, and returns the same. From then on and until
   * the cache shows it, the object has a `deletionTimestamp`; `at` is that time, RFC 3339.
   */
  async trackDeletion(object: T, at: string, call: () => Promise<boolean>): Promise<boolean> {
    const key = keyOf(object);
    const { result: existed, meanwhile } = await this.#watched(key, call);
    if (meanwhile.deletedUids.has(object.metadata?.uid ?? "")) return existed;
    this.forget(key);
    const metadata = { ...object.metadata, deletionTimestamp: at };
    if (existed) this.#remember(key, { object: { ...object, metadata }, deleted: true }, meanwhile);
    return existed;
  }

  /** Takes in a change of the cache. Connect it to the informer. */
  seen({ type, object }: Pick<Change<T>, "type" | "object">): void {
    const key = keyOf(object);
    const uid = object.metadata?.uid;
    const entry = this.#entries.get(key);
    // What left is not watched either: nothing would ever confirm the write.
    if (isRemoval({ type })) {
      if (uid !== undefined) this.#underWay.get(key)?.forEach((it) => it.deletedUids.add(uid));
      if (entry?.object.metadata?.uid === uid) this.forget(key);
    } else {
      this.#underWay.get(key)?.forEach((it) => it.last = object);
      if (entry !== undefined && !isStale(object, entry)) this.forget(key);
    }
  }

  /** The newer one of the cached and the written object. */
  latest(key: string, cached: T | undefined): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return cached;
    if (cached === undefined || isStale(cached, entry)) return entry.object;
    this.forget(key);
    return cached;
  }

  /** The objects of a group: the cached ones, each in its newest form, and those only written. */
  merge(group: string, cached: readonly T[]): T[] {
    const left = new Set(this.#groups.get(group));
    const merged: T[] = [];
    for (const object of cached) {
      const key = keyOf(object);
      const entry = this.#entries.get(key);
      if (entry === undefined || !isStale(object, entry)) {
        this.forget(key);
        left.delete(key);
        merged.push(object);
      } else if (entry.group === group && left.delete(key)) {
        merged.push(entry.object);
      }
    }
    for (const key of left) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) merged.push(entry.object);
    }
    return merged;
  }

  /** Whether an object of the group was written that the cached ones lack: {@link observe} it after {@link UNSEEN_MS}. */
  hasUnseen(group: string, cached: readonly T[]): boolean {
    const keys = this.#groups.get(group);
    if (keys === undefined) return false;
    const uids = new Set(cached.map(({ metadata }) => metadata?.uid));
    return [...keys].some((key) => !uids.has(this.#entries.get(key)?.object.metadata?.uid));
  }

  /**
   * Returns the objects of a group as {@link merge} does, after a look at those that were written {@link UNSEEN_MS} ago or
   * earlier and are not cached: one that left the group is forgotten.
   */
  async observe(group: string, cached: () => readonly T[], reader: Reader<T>): Promise<T[]> {
    const known = this.merge(group, cached());
    const before = this.options.clock.monotonic() - UNSEEN_MS;
    const unseen = [...this.#groups.get(group) ?? []]
      .filter((key) => (this.#entries.get(key)?.since ?? Infinity) <= before);
    if (unseen.length === 0) return known;
    const { client, kind, attempts, signal } = reader;
    await attempts.one(async () => {
      for (const key of unseen) {
        const live = await getOrUndefined(client, kind, parseKey(key), { signal });
        if (live === undefined || this.options.groupOf(live) !== group) this.forget(key);
      }
    });
    return this.merge(group, cached());
  }

  /** Forgets the object of that key: it is gone, or the cache is right about it. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const group = this.#groups.get(entry.group);
    group?.delete(key);
    if (group?.size === 0) this.#groups.delete(entry.group);
  }

  /** Runs a call. Also returns what the cache showed of the key meanwhile. */
  async #watched<R>(key: string, call: () => Promise<R>): Promise<{
    result: R;
    meanwhile: Meanwhile<T>;
  }> {
    const meanwhile: Meanwhile<T> = { deletedUids: new Set() };
    const calls = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, calls.add(meanwhile));
    try {
      return { result: await call(), meanwhile };
    } finally {
      calls.delete(meanwhile);
      if (calls.size === 0) this.#underWay.delete(key);
    }
  }

  #remember(
    key: string,
    written: Pick<Entry<T>, "object" | "deleted">,
    { deletedUids, last }: Meanwhile<T>,
  ): void {
    const object = this.options.keep(written.object);
    if (deletedUids.has(object.metadata?.uid ?? "")) return;
    const old = this.#entries.get(key);
    if (old !== undefined && isStale(object, old)) return;
    this.forget(key);
    const group = this.options.groupOf(object);
    if (group === undefined) return;
    const entry = { ...written, object, group, since: this.options.clock.monotonic() };
    if (last !== undefined && !isStale(last, entry)) return;
    this.#entries.set(key, entry);
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(key));
    if (this.#entries.size <= this.options.limit) return;
    for (const oldest of this.#entries.keys()) {
      this.forget(oldest);
      break;
    }
  }
}

/** An empty memory of own writes. */
export function createOwnWrites<T extends KubeObject>(options: OwnWritesOptions<T>): OwnWrites<T> {
  return new OwnWrites<T>({ limit: 20_000, keep: (object) => object, ...options });
}
