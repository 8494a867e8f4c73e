/** The objects that an informer knows, with indexes, and what changed by each piece of news. */
import { keyOf, type KubeObject } from "./resource.ts";

/** A change that the cache made. `old` is what it held before. */
export interface Change<T> {
  readonly type: "added" | "updated" | "deleted";
  readonly object: T;
  readonly old?: T;
}

/** Functions that give the values under which an object is found. */
export type Indexes<T> = Readonly<Record<string, (object: T) => string[]>>;

/** Objects by key, and by index. */
export interface InformerCache<T> {
  get(key: string): T | undefined;
  list(namespace?: string): T[];
  /** Throws for an index that was not defined. */
  byIndex(index: string, value: string): T[];
  keys(): string[];
  /** Puts the object in; answers what that changes: nothing where it was there in this version. */
  put(object: T): Change<T>[];
  /** Takes the object out. `last` is its last state, where the server told it. */
  remove(key: string, last?: T): Change<T>[];
  /**
   * Makes the cache hold exactly `objects`, and what it has under `unreadable` keys. Answers what
   * was missed: deletions first.
   */
  replace(objects: readonly T[], unreadable: readonly string[]): Change<T>[];
  readonly size: number;
}

/** Freezes a value and all in it. What is frozen already is taken as frozen all through. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/** One index: keys of objects by value. */
class Index<T> {
  readonly #keys = new Map<string, Set<string>>();

  constructor(private readonly valuesOf: (object: T) => string[]) {}

  add(key: string, object: T): void {
    for (const value of this.valuesOf(object)) {
      const keys = this.#keys.get(value) ?? new Set();
      this.#keys.set(value, keys.add(key));
    }
  }

  remove(key: string, object: T): void {
    for (const value of this.valuesOf(object)) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
  }

  keys(value: string): Iterable<string> {
    return this.#keys.get(value) ?? [];
  }
}

/** An empty cache. Objects that are put in are frozen. */
export function createInformerCache<T extends KubeObject>(indexes: Indexes<T>): InformerCache<T> {
  const objects = new Map<string, T>();
  const table = new Map(
    Object.entries({
      ...indexes,
      // Its name cannot be one of the caller's.
      "\0namespace": (object: T) => [object.metadata?.namespace ?? ""],
    }).map(([name, valuesOf]) => [name, new Index(valuesOf)]),
  );

  function store(key: string, object: T): void {
    for (const index of table.values()) index.add(key, object);
    objects.set(key, object);
  }

  function drop(key: string, old: T): void {
    for (const index of table.values()) index.remove(key, old);
    objects.delete(key);
  }

  function put(given: T): Change<T>[] {
    const object = deepFreeze(given);
    const key = keyOf(object);
    const old = objects.get(key);
    if (old === undefined) {
      store(key, object);
      return [{ type: "added", object }];
    }
    const [meta, before] = [object.metadata, old.metadata];
    if (meta?.uid !== before?.uid) return [...remove(key), ...put(object)];
    if (meta?.resourceVersion !== undefined && meta.resourceVersion === before?.resourceVersion) {
      return [];
    }
    drop(key, old);
    store(key, object);
    return [{ type: "updated", object, old }];
  }

  function remove(key: string, last?: T): Change<T>[] {
    const old = objects.get(key);
    if (old === undefined) return [];
    drop(key, old);
    const sameObject = last?.metadata?.uid === old.metadata?.uid;
    return [{ type: "deleted", object: last && sameObject ? deepFreeze(last) : old, old }];
  }

  function find(index: string, value: string): T[] {
    const found = table.get(index);
    if (found === undefined) throw new Error(`there is no index ${index}`);
    return [...found.keys(value)].flatMap((key) => objects.get(key) ?? []);
  }

  return {
    get: (key) => objects.get(key),
    list: (namespace) =>
      namespace === undefined ? [...objects.values()] : find("\0namespace", namespace),
    byIndex: find,
    keys: () => [...objects.keys()],
    put,
    remove: (key, last) => remove(key, last),
    replace(given, unreadable) {
      const stay = new Set([...given.map(keyOf), ...unreadable]);
      const gone = [...objects.keys()].filter((key) => !stay.has(key));
      return [...gone.flatMap((key) => remove(key)), ...given.flatMap(put)];
    },
    get size() {
      return objects.size;
    },
  };
}
