/** Store of an informer: its objects, their indexes, and the changes that each update makes. */
import { keyOf, type KubeObject, parseKey } from "../resource.ts";

/** A change that the cache made. `old` is what it held before. */
export interface Change<T> {
  /**
   * `deleted`: the object does not exist any more. `left`: it is not held any more, because it is not to be kept,
   * or its kind is not followed now; that says nothing about whether it exists.
   */
  readonly type: "added" | "updated" | "deleted" | "left";
  readonly object: T;
  readonly old?: T;
}

/** Whether the cache does not hold the object any more. */
export function isRemoval({ type }: Pick<Change<unknown>, "type">): boolean {
  return type === "deleted" || type === "left";
}

/** Functions that give the values under which an object is found. */
export type Indexes<T> = Readonly<Record<string, (object: T) => string[]>>;

/** Freezes a value and all in it. A frozen value is taken as frozen all through. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/** One index: objects by value. Most values have one object, which then stands there by itself. */
class Index<T extends object> {
  readonly #found = new Map<string, T | Set<T>>();

  constructor(private readonly valuesOf: (object: T) => string[]) {}

  add(object: T): void {
    for (const value of this.valuesOf(object)) {
      const found = this.#found.get(value);
      if (found === undefined) this.#found.set(value, object);
      else if (found instanceof Set) found.add(object);
      else if (found !== object) this.#found.set(value, new Set([found, object]));
    }
  }

  remove(object: T): void {
    for (const value of this.valuesOf(object)) {
      const found = this.#found.get(value);
      if (found === object) this.#found.delete(value);
      if (!(found instanceof Set)) continue;
      found.delete(object);
      if (found.size === 0) this.#found.delete(value);
    }
  }

  objects(value: string): T[] {
    const found = this.#found.get(value);
    if (found === undefined) return [];
    return found instanceof Set ? [...found] : [found];
  }
}

/** Objects by namespace, then by name. One key for both would cost another string for each object. */
class ObjectsByNamespace<T extends object> {
  readonly #namespaces = new Map<string, Map<string, T>>();

  get(key: string): T | undefined {
    const { namespace = "", name } = parseKey(key);
    return this.#namespaces.get(namespace)?.get(name);
  }

  set({ metadata }: KubeObject, object: T): void {
    const { namespace = "", name = "" } = metadata ?? {};
    const names = this.#namespaces.get(namespace) ?? new Map<string, T>();
    this.#namespaces.set(namespace, names.set(name, object));
  }

  delete({ metadata }: KubeObject): void {
    const { namespace = "", name = "" } = metadata ?? {};
    const names = this.#namespaces.get(namespace);
    names?.delete(name);
    if (names?.size === 0) this.#namespaces.delete(namespace);
  }

  list(namespace?: string): T[] {
    return namespace === undefined
      ? [...this.#namespaces.values()].flatMap((names) => [...names.values()])
      : [...this.#namespaces.get(namespace)?.values() ?? []];
  }
}

/** Objects by key, and by index. Those that are put in are frozen. */
export class InformerCache<T extends KubeObject> {
  readonly #objects = new ObjectsByNamespace<T>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;
  #size = 0;

  constructor(indexes: Indexes<T>) {
    const entries = Object.entries(indexes);
    this.#indexes = new Map(entries.map(([name, valuesOf]) => [name, new Index(valuesOf)]));
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(namespace?: string): T[] {
    return this.#objects.list(namespace);
  }

  /** Throws for an index that was not defined. */
  byIndex(index: string, value: string): T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new Error(`unknown index ${index}`);
    return found.objects(value);
  }

  /** Stores the object. Returns what that changes: nothing if it is stored in this version already. */
  put(given: T): Change<T>[] {
    const object = deepFreeze(given);
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old === undefined) {
      this.#store(object);
      return [{ type: "added", object }];
    }
    const [meta, before] = [object.metadata, old.metadata];
    if (meta?.uid !== before?.uid) return [...this.remove(key), ...this.put(object)];
    if (meta?.resourceVersion !== undefined && meta.resourceVersion === before?.resourceVersion) {
      return [];
    }
    this.#drop(old);
    this.#store(object);
    return [{ type: "updated", object, old }];
  }

  /** Removes the object. `last` is its last state, if the server sent it. */
  remove(key: string, last?: T): Change<T>[] {
    const old = this.#objects.get(key);
    if (old === undefined) return [];
    this.#drop(old);
    const sameObject = last?.metadata?.uid === old.metadata?.uid;
    return [{ type: "deleted", object: last && sameObject ? deepFreeze(last) : old, old }];
  }

  /** Removes an object that exists, and is not to be held. */
  leave(object: T): Change<T>[] {
    const [change] = this.remove(keyOf(object), object);
    if (change === undefined) return [];
    const isSame = change.old?.metadata?.uid === object.metadata?.uid;
    return [isSame ? { ...change, type: "left" } : change];
  }

  /**
   * Replaces the content of the cache by `objects`, and keeps its objects under `unreadable` keys. Returns what
   * was missed: deletions first.
   */
  replace(objects: readonly T[], unreadable: readonly string[]): Change<T>[] {
    const stay = new Set([...objects.map(keyOf), ...unreadable]);
    const gone = this.list().map(keyOf).filter((key) => !stay.has(key));
    return [
      ...gone.flatMap((key) => this.remove(key)),
      ...objects.flatMap((object) => this.put(object)),
    ];
  }

  #store(object: T): void {
    for (const index of this.#indexes.values()) index.add(object);
    this.#objects.set(object, object);
    this.#size++;
  }

  #drop(old: T): void {
    for (const index of this.#indexes.values()) index.remove(old);
    this.#objects.delete(old);
    this.#size--;
  }
}
