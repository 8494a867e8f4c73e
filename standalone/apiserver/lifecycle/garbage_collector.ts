/** Garbage collector: deletes objects whose owners are gone, by the owners' deletion propagation. */
import type { Resource } from "../kinds/api_resource.ts";
import type { ApiObject, OwnerReference } from "../objects/api_object.ts";
import { ignoring } from "../objects/status_error.ts";
import { type Context, inVersion, systemCall } from "../operations/context.ts";
import { deleteObject, type DeleteOptions } from "../operations/deletions.ts";
import { FINALIZERS } from "../operations/strategy.ts";
import { updateObject } from "../operations/writes.ts";
import type { Change, ResourceKey } from "../storage/store.ts";
import { createSerialQueue, type SerialQueue } from "./serial_queue.ts";

const CONTROLLER = "generic-garbage-collector";

function idOf(key: ResourceKey, { metadata }: ApiObject): string {
  return [key.group, key.resource, metadata.namespace ?? "", metadata.name].join(" ");
}

/** Index of objects by the UIDs of their owners. */
class OwnerIndex {
  readonly #dependents = new Map<string, Set<string>>();

  update({ key, object, previous, type }: Pick<Change, "key" | "object" | "previous" | "type">) {
    const id = idOf(key, object);
    for (const { uid } of previous?.metadata.ownerReferences ?? []) {
      const ids = this.#dependents.get(uid);
      ids?.delete(id);
      if (ids?.size === 0) this.#dependents.delete(uid);
    }
    if (type === "DELETED") return;
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const ids = this.#dependents.get(uid) ?? new Set();
      this.#dependents.set(uid, ids.add(id));
    }
  }

  of(uid: string): string[] {
    return [...this.#dependents.get(uid) ?? []];
  }
}

/** Returns the propagation policy of a dependent by its finalizers; Background by default. */
function policyOf({ metadata: { finalizers = [] } }: ApiObject) {
  if (finalizers.includes(FINALIZERS.orphan)) return "Orphan";
  return finalizers.includes(FINALIZERS.foreground) ? "Foreground" : "Background";
}

class GarbageCollector {
  readonly #index = new OwnerIndex();
  readonly #queue: SerialQueue;
  readonly #unsubscribe: () => void;

  constructor(readonly context: Context) {
    this.#queue = createSerialQueue("garbage collection", (id) => this.#handle(id));
    for (const key of context.store.keys()) {
      for (const object of context.store.list(key)) this.#note({ type: "ADDED", key, object });
    }
    this.#unsubscribe = context.store.subscribe((change) => this.#note(change));
  }

  #note(change: Pick<Change, "key" | "object" | "previous" | "type">): void {
    this.#index.update(change);
    const { key, object, type } = change;
    const { metadata } = object;
    if (type !== "DELETED" && (metadata.ownerReferences || metadata.deletionTimestamp)) {
      this.#queue.add(idOf(key, object));
    }
    const waits = metadata.deletionTimestamp !== undefined;
    if (type === "DELETED" || waits) {
      for (const id of this.#index.of(metadata.uid)) this.#queue.add(id);
    }
    if (type === "DELETED") {
      for (const owner of metadata.ownerReferences ?? []) this.#wakeOwner(owner, object);
    }
  }

  /** Enqueues an owner that waits for its dependents when one of them is gone. */
  #wakeOwner(owner: OwnerReference, dependent: ApiObject): void {
    const found = this.#ownerOf(owner, dependent);
    if (found && found !== "unknown" && found.metadata.deletionTimestamp !== undefined) {
      const resource = this.context.registry.byKind(owner.apiVersion, owner.kind);
      if (resource) this.#queue.add(idOf(resource, found));
    }
  }

  /** Returns the owner of a reference; undefined if it is gone, `unknown` if its kind is not served. */
  #ownerOf(owner: OwnerReference, { metadata }: ApiObject): ApiObject | "unknown" | undefined {
    const resource = this.context.registry.byKind(owner.apiVersion, owner.kind);
    if (!resource) return "unknown";
    const namespace = resource.namespaced ? metadata.namespace : undefined;
    const found = this.context.store.get(resource, namespace, owner.name);
    return found?.metadata.uid === owner.uid ? found : undefined;
  }

  #read(id: string): { resource: Resource; object: ApiObject } | undefined {
    const [group = "", plural = "", namespace = "", name = ""] = id.split(" ");
    const key = { group, resource: plural };
    const resource = this.context.registry.byKey(key);
    const object = this.context.store.get(key, namespace || undefined, name);
    return resource && object && { resource, object: inVersion(object, resource) };
  }

  async #handle(id: string): Promise<void> {
    const found = this.#read(id);
    if (!found) return;
    const { finalizers = [], deletionTimestamp } = found.object.metadata;
    if (deletionTimestamp !== undefined && finalizers.includes(FINALIZERS.orphan)) {
      await this.#orphan(found.resource, found.object);
    } else if (deletionTimestamp !== undefined && finalizers.includes(FINALIZERS.foreground)) {
      await this.#awaitDependents(found.resource, found.object);
    }
    await this.#checkOwners(id);
  }

  async #update(
    resource: Resource,
    object: ApiObject,
    change: (metadata: ApiObject["metadata"]) => Partial<ApiObject["metadata"]>,
  ): Promise<void> {
    const call = systemCall(CONTROLLER, resource, object.metadata);
    await updateObject(this.context, call, (current) => {
      const { metadata } = current;
      if (metadata.uid !== object.metadata.uid) return current;
      return { ...current, metadata: { ...metadata, ...change(metadata) } };
    }).catch(ignoring(404));
  }

  #dropFinalizer(resource: Resource, object: ApiObject, finalizer: string): Promise<void> {
    return this.#update(resource, object, ({ finalizers = [] }) => ({
      finalizers: finalizers.filter((one) => one !== finalizer),
    }));
  }

  #dropOwners(resource: Resource, object: ApiObject, uids: ReadonlySet<string>): Promise<void> {
    return this.#update(resource, object, ({ ownerReferences = [] }) => ({
      ownerReferences: ownerReferences.filter(({ uid }) => !uids.has(uid)),
    }));
  }

  async #orphan(resource: Resource, owner: ApiObject): Promise<void> {
    const uids = new Set([owner.metadata.uid]);
    for (const id of this.#index.of(owner.metadata.uid)) {
      const dependent = this.#read(id);
      if (dependent) await this.#dropOwners(dependent.resource, dependent.object, uids);
    }
    await this.#dropFinalizer(resource, owner, FINALIZERS.orphan);
  }

  /** Foreground deletion: dependents that block the owner's deletion are deleted first. */
  async #awaitDependents(resource: Resource, owner: ApiObject): Promise<void> {
    const blocking = this.#index.of(owner.metadata.uid).filter((id) => {
      const references = this.#read(id)?.object.metadata.ownerReferences ?? [];
      return references.some((one) => one.uid === owner.metadata.uid && one.blockOwnerDeletion);
    });
    if (blocking.length === 0) await this.#dropFinalizer(resource, owner, FINALIZERS.foreground);
    else for (const id of blocking) this.#queue.add(id);
  }

  /** Deletes an object if none of its owners remains; else drops references to owners that are gone. */
  async #checkOwners(id: string): Promise<void> {
    const found = this.#read(id);
    if (!found) return;
    const { resource, object } = found;
    const references = object.metadata.ownerReferences ?? [];
    if (references.length === 0 || object.metadata.deletionTimestamp !== undefined) return;
    const owners = references.map((reference) => ({
      reference,
      owner: this.#ownerOf(reference, object),
    }));
    const waiting = owners.filter(({ owner }) =>
      owner !== undefined && owner !== "unknown" && isWaiting(owner)
    );
    const gone = owners.filter(({ owner }) => owner === undefined);
    if (waiting.length + gone.length === 0) return;
    if (waiting.length + gone.length < owners.length) {
      const uids = new Set([...gone, ...waiting].map(({ reference }) => reference.uid));
      return await this.#dropOwners(resource, object, uids);
    }
    const foreground = waiting.length > 0 && this.#index.of(object.metadata.uid).length > 0;
    await this.#delete(resource, object, foreground ? "Foreground" : policyOf(object));
  }

  async #delete(
    resource: Resource,
    object: ApiObject,
    propagationPolicy: NonNullable<DeleteOptions["propagationPolicy"]>,
  ): Promise<void> {
    const preconditions = { uid: object.metadata.uid };
    const call = systemCall(CONTROLLER, resource, object.metadata);
    await deleteObject(this.context, call, { propagationPolicy, preconditions }).catch(
      ignoring(404, 409),
    );
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#queue.stop();
  }
}

/** Says if an owner is being deleted in the foreground. */
function isWaiting({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers?.includes(FINALIZERS.foreground) ?? false);
}

/** Starts the garbage collector and returns a function that stops it. */
export function startGarbageCollector(context: Context): () => Promise<void> {
  const collector = new GarbageCollector(context);
  return () => collector.stop();
}
