/**
 * SQLite-backed store: a database for durability, a map for reads, a bounded history for watches.
 * Every call is synchronous, so that a check and the following write are atomic.
 */
import { createListeners } from "../../../platform/base/listeners.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { expired } from "../objects/status_error.ts";
import { openDatabase, type SavedObject } from "./database.ts";
import type { Change, ObjectReader, ResourceKey } from "./store.ts";

function tableName({ group, resource }: ResourceKey): string {
  return `${group}/${resource}`;
}

function objectName(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

function nameOf({ metadata }: ApiObject): string {
  return objectName(metadata.namespace, metadata.name);
}

function byName(a: ApiObject, b: ApiObject): number {
  const [left, right] = [nameOf(a), nameOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

interface Table {
  readonly key: ResourceKey;
  readonly objects: Map<string, ApiObject>;
}

/** Store of objects, their history, and settings of the server. */
export class Store implements ObjectReader {
  readonly #tables = new Map<string, Table>();
  readonly #listeners = createListeners<Change>();
  readonly #history: Change[] = [];
  readonly #pending: Change[] = [];
  #notifying = false;
  #revision: number;
  /** The history has no changes up to this revision. */
  #droppedRevision: number;

  constructor(
    readonly database: ReturnType<typeof openDatabase>,
    readonly historyLimit: number,
  ) {
    this.#revision = database.revision;
    this.#droppedRevision = database.revision;
    for (const saved of database.load()) this.#remember(saved);
  }

  #remember({ key, object }: SavedObject): void {
    this.#table(key).objects.set(nameOf(object), object);
  }

  #table(key: ResourceKey): Table {
    const name = tableName(key);
    const table = this.#tables.get(name) ?? { key, objects: new Map() };
    this.#tables.set(name, table);
    return table;
  }

  /** The revision of the last write. */
  get revision(): number {
    return this.#revision;
  }

  get(key: ResourceKey, namespace: string | undefined, name: string): ApiObject | undefined {
    return this.#tables.get(tableName(key))?.objects.get(objectName(namespace, name));
  }

  list(key: ResourceKey, namespace?: string): ApiObject[] {
    const all = [...this.#tables.get(tableName(key))?.objects.values() ?? []];
    const wanted = namespace === undefined
      ? all
      : all.filter((object) => object.metadata.namespace === namespace);
    return wanted.sort(byName);
  }

  /** Writes an object and returns it with the next resource version. The write is durable on return. */
  put(key: ResourceKey, object: ApiObject): ApiObject {
    const revision = this.#revision + 1;
    const metadata = { ...object.metadata, resourceVersion: `${revision}` };
    const stored = { ...object, metadata };
    const { namespace, name } = metadata;
    const previous = this.get(key, namespace, name);
    this.database.write(key, stored, revision);
    this.#remember({ key, object: stored });
    this.#record({
      type: previous ? "MODIFIED" : "ADDED",
      key,
      revision,
      object: stored,
      previous,
    });
    return stored;
  }

  /** Removes an object; returns false if there is none. The removal is durable on return. */
  remove(key: ResourceKey, namespace: string | undefined, name: string): boolean {
    const previous = this.get(key, namespace, name);
    if (!previous) return false;
    const revision = this.#revision + 1;
    this.database.erase(key, namespace, name, revision);
    this.#table(key).objects.delete(objectName(namespace, name));
    const metadata = { ...previous.metadata, resourceVersion: `${revision}` };
    const object = { ...previous, metadata };
    this.#record({ type: "DELETED", key, revision, object, previous });
    return true;
  }

  #record(change: Change): void {
    this.#revision = change.revision;
    this.#history.push(change);
    if (this.#history.length > this.historyLimit * 2) {
      const dropped = this.#history.splice(0, this.#history.length - this.historyLimit);
      this.#droppedRevision = dropped.at(-1)?.revision ?? this.#droppedRevision;
    }
    this.#pending.push(change);
    this.#notify();
  }

  /** Notifies listeners in order. A listener may write: that change is notified after the current one. */
  #notify(): void {
    if (this.#notifying) return;
    this.#notifying = true;
    try {
      for (let change = this.#pending.shift(); change; change = this.#pending.shift()) {
        this.#listeners.notify(change);
      }
    } finally {
      this.#notifying = false;
    }
  }

  #since(revision: number): Change[] {
    if (revision < this.#droppedRevision) {
      throw expired(`too old resource version: ${revision} (${this.#droppedRevision})`);
    }
    const start = this.#history.findLastIndex((change) => change.revision <= revision) + 1;
    return this.#history.slice(start);
  }

  /** Returns the changes of a kind after a revision. Throws 410 if the history does not reach back. */
  changesSince(key: ResourceKey, revision: number): Change[] {
    const name = tableName(key);
    return this.#since(revision).filter((change) => tableName(change.key) === name);
  }

  /** Returns the objects as they were at a revision. Throws 410 if the history does not reach back. */
  listAt(key: ResourceKey, namespace: string | undefined, revision: number): ApiObject[] {
    const objects = new Map(this.list(key).map((object) => [nameOf(object), object]));
    for (const { object, previous } of this.changesSince(key, revision).reverse()) {
      if (previous) objects.set(nameOf(object), previous);
      else objects.delete(nameOf(object));
    }
    return [...objects.values()]
      .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
      .sort(byName);
  }

  /** Calls `listener` after each change, in order. Returns a function that ends the subscription. */
  subscribe(listener: (change: Change) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Returns the kinds that have objects. */
  keys(): ResourceKey[] {
    return [...this.#tables.values()].filter((t) => t.objects.size > 0).map((t) => t.key);
  }

  close(): void {
    this.database.close();
  }
}

/**
 * Opens the store. Throws an error that says what to do if the folder cannot be used, or another process
 * has it open.
 */
export function openStore({ dataDir, historyLimit = 5_000 }: {
  /** Folder for the database, created with mode 0700; without it the database is in memory. */
  readonly dataDir?: string;
  /** Least number of changes that are kept for watches that start in the past; at most twice as many are. */
  readonly historyLimit?: number;
} = {}): Store {
  return new Store(openDatabase(dataDir), historyLimit);
}
