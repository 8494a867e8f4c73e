/** Own writes that a watched cache does not show yet, so that decisions are not made from a stale cache. */
import type { Clock } from "../base/clock.ts";
import { type Change, isRemoval } from "../kube/watching/informer_cache.ts";
import { keyOf, type KubeObject, type ObjectKey, parseKey } from "../kube/resource.ts";

/** Options of {@link createOwnWrites}. */
export interface OwnWritesOptions<T> {
  clock: Pick<Clock, "monotonic">;
  /** The group under which objects are looked up, such as the uid of their controller. */
  groupOf: (object: T) => string;
  /** Limit of remembered objects; beyond it the oldest is forgotten. Default 20000. */
  limit?: number;
}

/** After this time what was written and never seen is looked up, in milliseconds. */
export const UNSEEN_MS = 10_000;

/** Remembers the results of own writes until the cache has them or the object is gone. */
export interface OwnWrites<T> {
  /**
   * Runs a write of the object of that key and remembers the result. If {@link seen} reports the
   * deletion of the result while the write is under way, nothing is remembered.
   */
  track(key: string, write: () => Promise<T>): Promise<T>;
  /**
   * Runs the deletion of an object, which returns whether there was one, and returns the same. From then on and until
   * the cache shows it, the object has a `deletionTimestamp`; `at` is that time, RFC 3339.
   */
  trackDeletion(object: T, at: string, call: () => Promise<boolean>): Promise<boolean>;
  /** Takes in a change of the cache. Connect it to the informer. */
  seen(change: Pick<Change<T>, "type" | "object">): void;
  /** The newer one of the cached and the written object. */
  latest(key: string, cached: T | undefined): T | undefined;
  /** The objects of a group: the cached ones, each in its newest form, and those only written. */
  merge(group: string, cached: readonly T[]): T[];
  /** Whether an object of the group was written that the cached ones lack: {@link confirm} it after {@link UNSEEN_MS}. */
  hasUnseen(group: string, cached: readonly T[]): boolean;
  /** Reads the objects of the group that were written {@link UNSEEN_MS} ago or earlier; forgets those that left it. */
  confirm(group: string, read: (key: ObjectKey) => Promise<T | undefined>): Promise<void>;
  /** Forgets the object of that key: it is gone, or the cache is right about it. */
  forget(key: string): void;
  /** How many objects are remembered. */
  readonly size: number;
}

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

class Memory<T extends KubeObject> implements OwnWrites<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #groups = new Map<string, Set<string>>();
  /** Uids deleted while a write of the key is under way. */
  readonly #underWay = new Map<string, Set<Set<string>>>();
  readonly #options: Required<OwnWritesOptions<T>>;

  constructor(options: Required<OwnWritesOptions<T>>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  async track(key: string, write: () => Promise<T>): Promise<T> {
    const { result, deleted } = await this.#watched(key, write);
    if (!deleted.has(result.metadata?.uid ?? "")) this.#remember(key, result);
    return result;
  }

  async trackDeletion(object: T, at: string, call: () => Promise<boolean>): Promise<boolean> {
    const key = keyOf(object);
    const { result: existed, deleted } = await this.#watched(key, call);
    if (deleted.has(object.metadata?.uid ?? "")) return existed;
    this.forget(key);
    const metadata = { ...object.metadata, deletionTimestamp: at };
    if (existed) this.#remember(key, { ...object, metadata }, true);
    return existed;
  }

  seen({ type, object }: Pick<Change<T>, "type" | "object">): void {
    const key = keyOf(object);
    const uid = object.metadata?.uid;
    const entry = this.#entries.get(key);
    // What left is not watched either: nothing would ever confirm the write.
    if (isRemoval({ type })) {
      if (uid !== undefined) this.#underWay.get(key)?.forEach((deleted) => deleted.add(uid));
      if (entry?.object.metadata?.uid === uid) this.forget(key);
    } else if (entry !== undefined && !isStale(object, entry)) {
      this.forget(key);
    }
  }

  latest(key: string, cached: T | undefined): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return cached;
    if (cached === undefined || isStale(cached, entry)) return entry.object;
    this.forget(key);
    return cached;
  }

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

  hasUnseen(group: string, cached: readonly T[]): boolean {
    const keys = this.#groups.get(group);
    if (keys === undefined) return false;
    const uids = new Set(cached.map(({ metadata }) => metadata?.uid));
    return [...keys].some((key) => !uids.has(this.#entries.get(key)?.object.metadata?.uid));
  }

  async confirm(group: string, read: (key: ObjectKey) => Promise<T | undefined>): Promise<void> {
    const before = this.#options.clock.monotonic() - UNSEEN_MS;
    for (const key of [...this.#groups.get(group) ?? []]) {
      if ((this.#entries.get(key)?.since ?? Infinity) > before) continue;
      const live = await read(parseKey(key));
      if (live === undefined || this.#options.groupOf(live) !== group) this.forget(key);
    }
  }

  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const group = this.#groups.get(entry.group);
    group?.delete(key);
    if (group?.size === 0) this.#groups.delete(entry.group);
  }

  /** Runs a call. Also returns the uids of objects of the key that were deleted meanwhile. */
  async #watched<R>(key: string, call: () => Promise<R>): Promise<{
    result: R;
    deleted: ReadonlySet<string>;
  }> {
    const deleted = new Set<string>();
    const calls = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, calls.add(deleted));
    try {
      return { result: await call(), deleted };
    } finally {
      calls.delete(deleted);
      if (calls.size === 0) this.#underWay.delete(key);
    }
  }

  #remember(key: string, object: T, deleted = false): void {
    const old = this.#entries.get(key);
    if (old !== undefined && isStale(object, old)) return;
    this.forget(key);
    const group = this.#options.groupOf(object);
    this.#entries.set(key, { object, group, since: this.#options.clock.monotonic(), deleted });
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(key));
    if (this.#entries.size <= this.#options.limit) return;
    for (const oldest of this.#entries.keys()) {
      this.forget(oldest);
      break;
    }
  }
}

/** An empty memory of own writes. */
export function createOwnWrites<T extends KubeObject>(options: OwnWritesOptions<T>): OwnWrites<T> {
  return new Memory<T>({ limit: 20_000, ...options });
}
