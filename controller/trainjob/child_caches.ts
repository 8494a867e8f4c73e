/**
 * Reader of the children of policies. Kinds that are watched get a cache with the first child of theirs, so that a
 * cluster without such children has none; others are read from the API server.
 */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import { identityOf } from "../../crds/watched.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { sameJson } from "../../platform/base/json.ts";
import { isNotFound, isNotServed } from "../../platform/kube/errors.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { createOwnWrites, type OwnWrites } from "../../platform/kit/own_writes.ts";
import { formatKey, type Kind, type KubeObject } from "../../platform/kube/resource.ts";
import type { ServedInformer } from "../../platform/kube/watching/served_informer.ts";
import type { Child } from "../runtime/child.ts";

const log = getLogger(["milepost", "controller", "trainjob"]);

/** The manner of a read. */
export interface ChildLookup {
  readonly namespace: string | undefined;
  /** Whether it is read from the API server in any case. */
  readonly fresh: boolean;
  readonly signal: AbortSignal;
}

/** Creates the cache of a kind; `onServed` is called when the API server begins to serve it. */
export type ChildCacheFactory = (
  kind: Kind<KubeObject>,
  onServed: () => void,
) => ServedInformer<KubeObject>;

interface ChildCache {
  readonly informer: ServedInformer<KubeObject>;
  readonly own: OwnWrites<KubeObject>;
}

/** The API server does not serve the kind of a child, as if its definition was removed. */
export class NotServedError extends Error {
  constructor({ kind, group, version, plural }: Kind<unknown>) {
    const source = group === KINDS.jobSet.group
      ? ", which JobSet brings and `milepost crds` prints"
      : " with the scheduler that the runtime names";
    super(
      `the API server does not serve ${kind} of ${group}/${version}: install the CRD ` +
        `${plural}.${group}${source}; the TrainJob then starts`,
    );
    this.name = "NotServedError";
  }
}

/** Reports whether nothing of an object has changed that is kept of it, as if its status is written. */
function isSame({ type, object, old }: Change<KubeObject>): boolean {
  const withoutVersion = ({ metadata, ...rest }: KubeObject) => ({
    ...rest,
    metadata: { ...metadata, resourceVersion: undefined },
  });
  return type === "updated" && old !== undefined &&
    sameJson(withoutVersion(object), withoutVersion(old));
}

async function readLive(
  client: Pick<KubeClient, "get">,
  { kind, name, mode }: Child,
  { namespace, signal }: ChildLookup,
): Promise<KubeObject | undefined> {
  const read: Kind<KubeObject> = mode === "once" ? identityOf(kind) : kind;
  try {
    return await client.get(read, { namespace, name }, { signal });
  } catch (error) {
    if (isNotServed(error)) throw new NotServedError(kind);
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Reads children; as a source it wakes the TrainJobs whose children change. */
export type ChildCaches = ReturnType<typeof createChildCaches>;

/** Creates the reader; no kind is watched yet. */
export function createChildCaches({ client, clock, createCache, parentsOf, waiting }: {
  readonly client: Pick<KubeClient, "get">;
  readonly clock: Pick<Clock, "monotonic">;
  /** Default: no kind is watched. */
  readonly createCache?: ChildCacheFactory | undefined;
  /** Returns the keys of the TrainJobs that an object concerns. */
  readonly parentsOf: (object: KubeObject) => Iterable<string>;
  /** Returns the keys of the TrainJobs that may wait for a kind. */
  readonly waiting: () => Iterable<string>;
}) {
  const caches = new Map<string, ChildCache>();
  const ending = new AbortController();
  let enqueue: (key: string) => void = () => {};
  const enqueueAll = (keys: Iterable<string>) => {
    for (const key of keys) enqueue(key);
  };

  function cacheOf(kind: Kind<KubeObject>): ChildCache | undefined {
    const id = `${kind.plural}.${kind.group}`;
    const known = caches.get(id);
    if (known !== undefined || createCache === undefined) return known;
    const informer = createCache(kind, () => enqueueAll(waiting()));
    const cache = { informer, own: createOwnWrites<KubeObject>({ clock, groupOf: () => "" }) };
    informer.onChange((change) => {
      cache.own.seen(change);
      if (!isSame(change)) enqueueAll(parentsOf(change.object));
    });
    informer.run(ending.signal).catch((error) => {
      if (!ending.signal.aborted) log.error("a cache of children failed", { kind: id, error });
    });
    caches.set(id, cache);
    return cache;
  }

  return {
    /**
     * Returns the object of the child's kind and name, whoever owns it. Of a child that is created once only the
     * metadata is read. Throws a {@link NotServedError} if there is no such kind.
     */
    async read(child: Child, how: ChildLookup): Promise<KubeObject | undefined> {
      const cache = child.mode !== "once" && child.watched ? cacheOf(child.kind) : undefined;
      if (cache === undefined || how.fresh || !cache.informer.synced || cache.informer.resting) {
        return await readLive(client, child, how);
      }
      const key = formatKey({ namespace: how.namespace, name: child.name });
      return cache.own.latest(key, cache.informer.get(key));
    },
    /** Runs a creation or a change, and remembers the response until the cache has it. */
    track(
      { plural, group }: Kind<KubeObject>,
      key: string,
      write: () => Promise<KubeObject>,
    ): Promise<KubeObject> {
      const cache = caches.get(`${plural}.${group}`);
      return cache === undefined ? write() : cache.own.track(key, write);
    },
    start(begin: (key: string) => void) {
      enqueue = begin;
      return () => ending.abort();
    },
  };
}
