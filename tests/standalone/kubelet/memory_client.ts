/** Fake API server for the kubelet, in memory: watches, status patches, tokens. */
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { WatchEvent } from "../../../platform/kube/watching/watch.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import type { Kind, KubeObject, ObjectKey } from "../../../platform/kube/resource.ts";

type Json = Record<string, unknown>;

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isJson(patch)) return patch;
  const result: Json = isJson(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

function refuse(code: number, reason: string, message = reason): KubeError {
  return new KubeError(message, { code, reason });
}

/** An object of the store. */
export interface Stored extends KubeObject {
  metadata: NonNullable<KubeObject["metadata"]> & { deletionGracePeriodSeconds?: number };
  spec?: Json;
  status?: Json;
  [field: string]: unknown;
}

/** The server: a client of it, and doors for the test. */
export class MemoryServer {
  readonly objects = new Map<string, Stored>();
  /** Every TokenRequest that came. */
  readonly tokenRequests: unknown[] = [];
  /** Why a TokenRequest is refused. */
  tokenRefusal: () => KubeError | undefined = () => undefined;
  /** Life of the tokens that are issued, in milliseconds. */
  tokenLifeMs = 3_600_000;
  now: () => number = () => Date.now();
  #version = 0;
  readonly #watchers = new Set<
    (kind: string, type: "added" | "updated" | "deleted", o: Stored) => void
  >();

  #key(kind: Kind<unknown>, key: ObjectKey): string {
    return `${kind.kind}|${key.namespace ?? ""}|${key.name}`;
  }

  #publish(kind: string, type: "added" | "updated" | "deleted", object: Stored): void {
    for (const tell of this.#watchers) tell(kind, type, structuredClone(object));
  }

  /** Creates or replaces an object as a user would. */
  put(kind: Kind<unknown>, from: object): Stored {
    const object: Json = { ...from };
    const meta = isJson(object.metadata) ? object.metadata : {};
    const key = this.#key(kind, { namespace: text(meta.namespace), name: text(meta.name) ?? "" });
    const old = this.objects.get(key);
    const stored: Stored = {
      ...structuredClone(object),
      metadata: {
        creationTimestamp: new Date(this.now()).toISOString(),
        uid: old?.metadata.uid ?? crypto.randomUUID(),
        ...meta,
        resourceVersion: String(++this.#version),
      },
    };
    this.objects.set(key, stored);
    this.#publish(kind.kind, old ? "updated" : "added", stored);
    return stored;
  }

  read(kind: Kind<unknown>, key: ObjectKey): Stored | undefined {
    return this.objects.get(this.#key(kind, key));
  }

  /** Deletes as a user would: a pod with a node gets a deletion timestamp. */
  remove(kind: Kind<unknown>, key: ObjectKey, graceSeconds?: number): void {
    const stored = this.read(kind, key);
    if (!stored) throw refuse(404, "NotFound");
    const graceful = kind.kind === "Pod" && stored.spec?.nodeName !== undefined;
    if (graceful && graceSeconds !== 0) {
      this.put(kind, {
        ...stored,
        metadata: {
          ...stored.metadata,
          deletionTimestamp: new Date(this.now()).toISOString(),
          deletionGracePeriodSeconds: graceSeconds ?? stored.spec?.terminationGracePeriodSeconds ??
            30,
        },
      });
      return;
    }
    this.objects.delete(this.#key(kind, key));
    stored.metadata.resourceVersion = String(++this.#version);
    this.#publish(kind.kind, "deleted", stored);
  }

  #selected(kind: string, fieldSelector: string | undefined, namespace: string | undefined) {
    const [path, value] = (fieldSelector ?? "").split("=");
    return (object: Stored, ofKind: string) =>
      ofKind === kind && (!namespace || object.metadata.namespace === namespace) &&
      (path !== "spec.nodeName" || object.spec?.nodeName === value);
  }

  async *#watch<T>(
    kind: Kind<T>,
    options: {
      fieldSelector?: string;
      namespace?: string;
      resourceVersion?: string;
      signal: AbortSignal;
    },
  ): AsyncGenerator<WatchEvent<T>> {
    const matches = this.#selected(kind.kind, options.fieldSelector, options.namespace);
    const queue: WatchEvent<T>[] = [];
    let wake = () => {};
    const seen = new Set<string>();
    for (const [key, object] of this.objects) {
      if (!matches(object, key.split("|")[0] ?? "")) continue;
      seen.add(object.metadata.uid ?? "");
      if (Number(object.metadata.resourceVersion) > Number(options.resourceVersion)) {
        queue.push({ type: "added", object: kind.parse(structuredClone(object)) });
      }
    }
    const tell = (ofKind: string, type: "added" | "updated" | "deleted", object: Stored) => {
      const uid = object.metadata.uid ?? "";
      if (!matches(object, ofKind)) return;
      const shown = type === "updated" && !seen.has(uid) ? "added" : type;
      seen.add(uid);
      queue.push({ type: shown, object: kind.parse(object) });
      wake();
    };
    this.#watchers.add(tell);
    const abort = () => wake();
    options.signal.addEventListener("abort", abort);
    try {
      while (!options.signal.aborted) {
        const next = queue.shift();
        if (next) yield next;
        else await new Promise<void>((resolve) => wake = resolve);
      }
    } finally {
      this.#watchers.delete(tell);
      options.signal.removeEventListener("abort", abort);
    }
  }

  #patch<T>(kind: Kind<T>, key: ObjectKey, body: unknown): T {
    const old = this.read(kind, key);
    if (!old) throw refuse(404, "NotFound");
    const uid = isJson(body) && isJson(body.metadata) ? body.metadata.uid : undefined;
    if (uid !== undefined && uid !== old.metadata.uid) throw refuse(409, "Conflict");
    const merged = merge(old, body);
    return kind.parse(structuredClone(this.put(kind, isJson(merged) ? merged : {})));
  }

  #subresource(kind: Kind<unknown>, key: ObjectKey, name: string, body: unknown): unknown {
    if (name === "token") {
      const refusal = this.tokenRefusal();
      if (refusal) throw refusal;
      this.tokenRequests.push(body);
      return {
        status: {
          token: `token-${this.tokenRequests.length}`,
          expirationTimestamp: new Date(this.now() + this.tokenLifeMs).toISOString(),
        },
      };
    }
    if (name !== "binding" || !isJson(body) || !isJson(body.target)) throw refuse(404, "NotFound");
    const old = this.read(kind, key);
    if (!old) throw refuse(404, "NotFound");
    if (old.spec?.nodeName) throw refuse(409, "Conflict");
    this.put(kind, { ...old, spec: { ...old.spec, nodeName: body.target.name } });
    return {};
  }

  /** The client of this server. */
  client(): KubeClient {
    const later = <T>(work: () => T): Promise<T> => Promise.resolve().then(work);
    return {
      get: (kind, key) =>
        later(() => {
          const stored = this.read(kind, key);
          if (!stored) throw refuse(404, "NotFound", `${kind.plural} "${key.name}" not found`);
          return kind.parse(structuredClone(stored));
        }),
      list: (kind, options) =>
        later(() => {
          const matches = this.#selected(kind.kind, options?.fieldSelector, options?.namespace);
          const items = [...this.objects]
            .filter(([key, object]) => matches(object, key.split("|")[0] ?? ""))
            .map(([, object]) => kind.parse(structuredClone(object)));
          return { items, resourceVersion: String(this.#version), problems: [] };
        }),
      create: (kind, object) =>
        later(() => {
          const key = { namespace: object.metadata?.namespace, name: object.metadata?.name ?? "" };
          if (this.read(kind, key)) throw refuse(409, "AlreadyExists");
          return kind.parse(structuredClone(this.put(kind, object)));
        }),
      replace: (kind, object) => later(() => kind.parse(structuredClone(this.put(kind, object)))),
      patch: (kind, key, patch) =>
        later(() => {
          if (patch.type === "json") throw refuse(415, "UnsupportedMediaType");
          return this.#patch(kind, key, patch.body);
        }),
      delete: (kind, key, options) =>
        later(() => {
          const uid = options?.preconditions?.uid;
          if (uid !== undefined && this.read(kind, key)?.metadata.uid !== uid) {
            throw refuse(409, "Conflict");
          }
          this.remove(kind, key, options?.gracePeriodSeconds);
        }),
      createSubresource: (kind, key, name, body) =>
        later(() => this.#subresource(kind, key, name, body)),
      watch: (kind, options) => this.#watch(kind, options),
      read: () => Promise.reject(refuse(404, "NotFound")),
      stream: () => Promise.reject(refuse(404, "NotFound")),
    };
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
