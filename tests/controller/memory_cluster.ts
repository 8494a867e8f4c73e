/**
 * Fake API server in memory for tests of reconcilers: resource versions, UIDs, generations, status
 * subresources, conflicts, finalizers and garbage collection. A test can delay its caches and inject
 * a fault at every call.
 */
import type { CallOptions, KubeClient } from "../../platform/kube/client.ts";
import type { ListResult } from "../../platform/kube/connection/response.ts";
import type { Patch } from "../../platform/kube/connection/request.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import {
  apiVersionOf,
  keyOf,
  type Kind,
  type KubeMeta,
  type KubeObject,
  type ObjectKey,
} from "../../platform/kube/resource.ts";
import { applyJsonPatch, applyMergePatch } from "./memory_patch.ts";
import { createView, type View } from "./memory_view.ts";

/** A call that reached the cluster. */
export interface Call {
  readonly verb: "get" | "list" | "create" | "replace" | "patch" | "delete";
  /** The kind's name, such as `TrainJob`. */
  readonly kind: string;
  readonly key: string;
  readonly subresource?: string;
  readonly body?: unknown;
  /** Whether no more than the metadata was requested. */
  readonly metadataOnly?: boolean;
}

/** An object as the store has it. */
export interface Stored extends KubeObject {
  metadata: KubeMeta;
  spec?: unknown;
  status?: unknown;
  [field: string]: unknown;
}

/** Fails a call, before it takes effect or after; nothing where it shall pass. */
export type Fault = (call: Call, phase: "before" | "after") => Error | undefined;

/** Refuses an object at create and update, as a validating webhook does. */
export type Admission = (
  verb: "create" | "update",
  kind: string,
  object: Stored,
  old: Stored | undefined,
) => KubeError | undefined;

/** Kinds whose status is written through the subresource alone, in every cluster. */
const WITH_STATUS = [
  "TrainJob",
  "JobSet",
  "Job",
  "Pod",
  "PersistentVolumeClaim",
  "Trial",
];

const WRITES = new Set(["create", "replace", "patch", "delete"]);

/** The error of an absent object. */
export function notFound(kind: Kind<unknown>, name: string): KubeError {
  const resource = kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`;
  const details = { name, group: kind.group, kind: kind.plural };
  return new KubeError(`${resource} "${name}" not found`, {
    code: 404,
    reason: "NotFound",
    details,
  });
}

/** The error of a stale resource version or uid. */
export function conflict(name: string): KubeError {
  return new KubeError(
    `Operation cannot be fulfilled on "${name}": the object has been modified`,
    { code: 409, reason: "Conflict" },
  );
}

/** The error of an object that breaks its kind's rules. */
export function invalid(message: string): KubeError {
  return new KubeError(message, { code: 422, reason: "Invalid" });
}

function toStored(value: unknown): Stored {
  const clone: unknown = JSON.parse(JSON.stringify(value));
  if (typeof clone !== "object" || clone === null) throw invalid("must be an object");
  const metadata: unknown = "metadata" in clone ? clone.metadata : {};
  const meta: KubeMeta = typeof metadata === "object" && metadata !== null ? metadata : {};
  return { ...clone, metadata: meta };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The cluster. */
export class MemoryCluster {
  /** Kinds whose status is written through the subresource alone. */
  readonly withStatus = new Set(WITH_STATUS);
  /** Fields of a status that the definitions of the kinds drop. */
  readonly dropped = new Set<string>();
  /** Every call in order, refused ones included. */
  readonly calls: Call[] = [];
  /** Asked at each call. */
  readonly faults: Fault[] = [];
  /** Asked at each create and update. */
  readonly admission: Admission[] = [];
  /** Wall-clock time for creation timestamps, in milliseconds. */
  now: () => number = () => Date.parse("2026-01-01T00:00:00Z");

  readonly #store = new Map<string, Map<string, Stored>>();
  readonly #kinds = new Map<string, Kind<unknown>>();
  readonly #views: View[] = [];
  readonly #held: (() => void)[] = [];
  #holds: (kind: string) => boolean = () => false;
  #version = 0;
  #uid = 0;

  /** The writes among the calls. */
  get writes(): Call[] {
    return this.calls.filter((call) => WRITES.has(call.verb));
  }

  /** From now on caches see no change, or none of those kinds, until {@link catchUp}. */
  hold(...kinds: readonly Kind<unknown>[]): void {
    const names = kinds.map(({ kind }) => kind);
    this.#holds = (kind) => names.length === 0 || names.includes(kind);
  }

  /** The caches see all that they missed, and every change from now on. */
  catchUp(): void {
    this.#holds = () => false;
    for (const deliver of this.#held.splice(0)) deliver();
  }

  /** Returns the stored object, without a call. */
  peek<T>(kind: Kind<T>, key: string): T | undefined {
    const stored = this.#of(kind).get(key);
    return stored && kind.parse(structuredClone(stored));
  }

  /** All objects of a kind, without a call. */
  all<T>(kind: Kind<T>): T[] {
    return [...this.#of(kind).values()].map((stored) => kind.parse(structuredClone(stored)));
  }

  /** Stores an object as it is, status included, without a call, faults or admission. */
  put<T extends KubeObject>(kind: Kind<T>, object: T): T {
    const stored = toStored(object);
    const old = this.#of(kind).get(keyOf(stored));
    this.#identify(kind, stored, old);
    this.#commit(kind, stored, old);
    return kind.parse(structuredClone(stored));
  }

  /** Changes a stored object, status included, without a call. Throws where it is absent. */
  edit<T extends KubeObject>(kind: Kind<T>, key: string, body: unknown): T {
    const old = this.#of(kind).get(key);
    if (!old) throw notFound(kind, key);
    const stored = toStored(applyMergePatch(old, body));
    if (!same(old.spec, stored.spec)) {
      stored.metadata.generation = (old.metadata.generation ?? 1) + 1;
    }
    this.#commit(kind, stored, old);
    return kind.parse(structuredClone(stored));
  }

  /** Deletes a stored object with its dependents, without a call. */
  remove(kind: Kind<unknown>, key: string): void {
    const old = this.#of(kind).get(key);
    if (old) this.#drop(kind, old);
  }

  /** A cache of the kind. `indexes` as the informer's. */
  informer<T extends KubeObject>(
    kind: Kind<T>,
    indexes: Record<string, (object: T) => string[]> = {},
    label?: string,
  ): Informer<T> {
    const { informer, view } = createView(kind, { indexes, label });
    this.#views.push(view);
    for (const stored of this.#of(kind).values()) view.apply("added", stored);
    return informer;
  }

  /** A client; what it does is recorded in {@link calls} and subject to {@link faults}. */
  client(): KubeClient {
    return {
      get: (kind, key, options) =>
        this.#call(
          {
            verb: "get",
            kind: kind.kind,
            key: text(key),
            ...(kind.metadataOnly && { metadataOnly: true }),
          },
          options,
          () => kind.parse(structuredClone(this.#need(kind, key))),
        ),
      list: (kind, options) =>
        this.#call(
          { verb: "list", kind: kind.kind, key: options?.namespace ?? "" },
          options,
          () => {
            return this.#list(kind, options?.namespace);
          },
        ),
      create: (kind, object, options) =>
        this.#call(
          { verb: "create", kind: kind.kind, key: keyOf(object), body: object },
          options,
          () => kind.parse(this.#create(kind, object)),
        ),
      replace: (kind, object, options) =>
        this.#call(
          {
            verb: "replace",
            kind: kind.kind,
            key: keyOf(object),
            subresource: options?.subresource,
            body: object,
          },
          options,
          () => kind.parse(this.#update(kind, toStored(object), options?.subresource)),
        ),
      patch: (kind, key, patch, options) =>
        this.#call(
          {
            verb: "patch",
            kind: kind.kind,
            key: text(key),
            subresource: options?.subresource,
            body: patch.type === "json" ? patch.operations : patch.body,
          },
          options,
          () => kind.parse(this.#patch(kind, key, patch, options?.subresource)),
        ),
      delete: (kind, key, options) =>
        this.#call(
          { verb: "delete", kind: kind.kind, key: text(key), body: options },
          options,
          () => {
            const old = this.#need(kind, key);
            const { uid, resourceVersion } = options?.preconditions ?? {};
            if (uid !== undefined && uid !== old.metadata.uid) throw conflict(key.name);
            if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
              throw conflict(key.name);
            }
            this.#drop(kind, old);
          },
        ),
      createSubresource: () => Promise.reject(new Error("the cluster in memory has no such call")),
      watch: () => {
        throw new Error("the cluster in memory has caches, not watches");
      },
      read: () => Promise.reject(new Error("the cluster in memory has no paths")),
      stream: () => Promise.reject(new Error("the cluster in memory has no paths")),
    };
  }

  async #call<T>(call: Call, options: CallOptions | undefined, work: () => T): Promise<T> {
    await Promise.resolve();
    options?.signal?.throwIfAborted();
    this.calls.push(call);
    this.#fail(call, "before");
    const result = work();
    this.#fail(call, "after");
    return result;
  }

  #fail(call: Call, phase: "before" | "after"): void {
    for (const fault of this.faults) {
      const error = fault(call, phase);
      if (error) throw error;
    }
  }

  #of(kind: Kind<unknown>): Map<string, Stored> {
    const objects = this.#store.get(kind.kind) ?? new Map<string, Stored>();
    this.#store.set(kind.kind, objects);
    this.#kinds.set(kind.kind, kind);
    return objects;
  }

  #need(kind: Kind<unknown>, key: ObjectKey): Stored {
    const stored = this.#of(kind).get(text(key));
    if (!stored) throw notFound(kind, key.name);
    return stored;
  }

  #list<T>(kind: Kind<T>, namespace: string | undefined): ListResult<T> {
    const items = [...this.#of(kind).values()]
      .filter((stored) => namespace === undefined || stored.metadata.namespace === namespace)
      .map((stored) => kind.parse(structuredClone(stored)));
    return { items, resourceVersion: String(this.#version), problems: [] };
  }

  #identify(kind: Kind<unknown>, stored: Stored, old: Stored | undefined): void {
    stored.apiVersion = apiVersionOf(kind);
    stored.kind = kind.kind;
    stored.metadata.uid ??= old?.metadata.uid ?? `uid-${++this.#uid}`;
    stored.metadata.creationTimestamp ??= old?.metadata.creationTimestamp ??
      new Date(this.now()).toISOString().replace(/\.\d+Z$/, "Z");
    stored.metadata.generation ??= old?.metadata.generation ?? 1;
  }

  #create(kind: Kind<unknown>, object: KubeObject): Stored {
    const stored = toStored(object);
    const key = keyOf(stored);
    if (this.#of(kind).has(key)) {
      throw new KubeError(`${kind.plural} "${stored.metadata.name}" already exists`, {
        code: 409,
        reason: "AlreadyExists",
      });
    }
    delete stored.metadata.uid;
    delete stored.metadata.creationTimestamp;
    if (this.withStatus.has(kind.kind)) delete stored.status;
    this.#admit("create", kind.kind, stored, undefined);
    this.#identify(kind, stored, undefined);
    this.#commit(kind, stored, undefined);
    return structuredClone(stored);
  }

  #patch(
    kind: Kind<unknown>,
    key: ObjectKey,
    patch: Patch,
    subresource: string | undefined,
  ): Stored {
    const old = this.#need(kind, key);
    if (patch.type === "strategic") throw invalid("the cluster in memory takes no strategic merge");
    const changed = patch.type === "json"
      ? applyJsonPatch(old, patch.operations)
      : applyMergePatch(old, patch.body);
    return this.#update(kind, toStored(changed), subresource);
  }

  #update(kind: Kind<unknown>, next: Stored, subresource: string | undefined): Stored {
    const name = next.metadata.name ?? "";
    const old = this.#need(kind, { namespace: next.metadata.namespace, name });
    const { uid, resourceVersion } = next.metadata;
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw conflict(name);
    }
    if (uid !== undefined && uid !== old.metadata.uid) throw conflict(name);
    const stored = this.#restrict(kind, structuredClone(next), old, subresource);
    if (same(old, stored)) return structuredClone(old);
    this.#admit("update", kind.kind, stored, old);
    if (!same(old.spec, stored.spec)) {
      stored.metadata.generation = (old.metadata.generation ?? 1) + 1;
    }
    if (old.metadata.deletionTimestamp && (stored.metadata.finalizers ?? []).length === 0) {
      this.#of(kind).delete(keyOf(old));
      this.#publish(kind, "deleted", stored);
      this.#collect(old);
      return structuredClone(stored);
    }
    this.#commit(kind, stored, old);
    return structuredClone(stored);
  }

  /** Keeps what a request may not change: the status, or all but the status. */
  #restrict(
    kind: Kind<unknown>,
    next: Stored,
    old: Stored,
    subresource: string | undefined,
  ): Stored {
    if (!this.withStatus.has(kind.kind)) return next;
    const kept = structuredClone(old);
    if (subresource === "status") return { ...kept, status: next.status };
    if (kept.status === undefined) delete next.status;
    else next.status = kept.status;
    return next;
  }

  #admit(verb: "create" | "update", kind: string, object: Stored, old: Stored | undefined): void {
    for (const admission of this.admission) {
      const error = admission(verb, kind, object, old);
      if (error) throw error;
    }
  }

  #commit(kind: Kind<unknown>, stored: Stored, old: Stored | undefined): void {
    stored.metadata.resourceVersion = String(++this.#version);
    if (typeof stored.status === "object" && stored.status !== null) {
      for (const field of this.dropped) Reflect.deleteProperty(stored.status, field);
    }
    this.#of(kind).set(keyOf(stored), stored);
    this.#publish(kind, old ? "updated" : "added", stored);
  }

  #drop(kind: Kind<unknown>, old: Stored): void {
    if ((old.metadata.finalizers ?? []).length > 0) {
      if (old.metadata.deletionTimestamp) return;
      const stored = structuredClone(old);
      stored.metadata.deletionTimestamp = new Date(this.now()).toISOString();
      return this.#commit(kind, stored, old);
    }
    this.#of(kind).delete(keyOf(old));
    this.#publish(kind, "deleted", old);
    this.#collect(old);
  }

  /** Deletes what the object owned alone. */
  #collect(owner: Stored): void {
    for (const [kindName, objects] of [...this.#store]) {
      const kind = this.#kinds.get(kindName);
      if (!kind) continue;
      for (const dependent of [...objects.values()]) {
        const owners = dependent.metadata.ownerReferences ?? [];
        if (!owners.some(({ uid }) => uid === owner.metadata.uid)) continue;
        if (owners.every(({ uid }) => uid === owner.metadata.uid)) this.#drop(kind, dependent);
      }
    }
  }

  #publish(
    kind: Kind<unknown>,
    type: "added" | "updated" | "deleted",
    stored: Stored,
  ): void {
    const object = structuredClone(stored);
    const deliver = () => {
      for (const view of this.#views) if (view.kind === kind.kind) view.apply(type, object);
    };
    if (this.#holds(kind.kind)) this.#held.push(deliver);
    else deliver();
  }
}

function text(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name;
}
