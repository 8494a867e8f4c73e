/**
 * Reader of the ConfigMaps of TrainJobs. Caches hold only their metadata, because any tenant can create
 * ConfigMaps that look like them; the data is read by name, and only of one that its TrainJob controls
 * (docs/decisions/0041).
 */
import { createHash } from "node:crypto";
import type { TrainJob } from "../../crds/trainjob.ts";
import { CHILD_CONFIG_MAP, type ChildConfigMap, WATCHED } from "../../crds/watched.ts";
import { createBoundedCache, createSizedCache } from "../../platform/base/bounded_cache.ts";
import type { ReadBudget } from "../../platform/kube/watching/cached_lookup.ts";
import type { CallOptions, KubeClient } from "../../platform/kube/client.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { Kind, KubeObject, ObjectKey } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { owns } from "./observed.ts";

/** ConfigMaps whose data is known. */
const MAX_KNOWN = 20_000;
/** Characters of the data that is known; what several ConfigMaps have in common counts once. */
const MAX_CHARACTERS = 8_000_000;

type Data = NonNullable<ChildConfigMap["data"]>;

/** Data by the version of its ConfigMap. */
class KnownData {
  readonly #versions = createBoundedCache<{ resourceVersion: string; digest: string }>(MAX_KNOWN);
  /** Thousands of jobs have the same CA and the same runtime. */
  readonly #contents = createSizedCache<{ digest: string; characters: number; data: Data }>(
    MAX_CHARACTERS,
    ({ characters }) => characters,
  );

  get({ uid, resourceVersion }: NonNullable<ChildConfigMap["metadata"]>): Data | undefined {
    const version = uid === undefined ? undefined : this.#versions.get(uid);
    if (version === undefined || version.resourceVersion !== resourceVersion) return undefined;
    return this.#contents.get(version.digest)?.data;
  }

  set({ metadata, data = {} }: ChildConfigMap): void {
    const { uid, resourceVersion } = metadata ?? {};
    if (uid === undefined || resourceVersion === undefined) return;
    const text = JSON.stringify(data);
    const digest = createHash("sha256").update(text).digest("base64");
    const held = this.#contents.get(digest);
    if (held === undefined) this.#contents.set(digest, { digest, characters: text.length, data });
    this.#versions.set(uid, { resourceVersion, digest: held?.digest ?? digest });
  }
}

/** Reads ConfigMaps of TrainJobs. */
export type ChildConfigMaps = ReturnType<typeof createChildConfigMaps>;

/** Creates the reader. One may serve reconcilers and admission together. */
export function createChildConfigMaps({ client, cache, budget }: {
  readonly client: Pick<KubeClient, "get">;
  /** It may hold only ConfigMaps with the label of a TrainJob. */
  readonly cache: Pick<Informer<ChildConfigMap>, "get">;
  /** The budget that reads are taken from. Absent: nothing bounds them. */
  readonly budget?: ReadBudget;
}) {
  const known = new KnownData();

  /** Returns the object, or no more than its metadata, as the kind says. */
  function get<T>(
    kind: Kind<T>,
    key: ObjectKey,
    call: CallOptions,
  ): Promise<T | undefined> {
    budget?.take(key.namespace ?? "");
    return getOrUndefined(client, kind, key, call);
  }

  return {
    /**
     * Returns the ConfigMap of that name in the job's namespace, whoever owns it; undefined if there is none.
     * It has data only if the job controls it.
     */
    async read(
      trainJob: TrainJob,
      name: string,
      { data, unlabelled, fresh = false, ...call }: CallOptions & {
        /** Whether the data is needed; else the result may lack it. */
        readonly data: boolean;
        /**
         * Whether the metadata is read from the API server if the cache has none: of a job that has begun, ConfigMaps
         * of upstream's controller have no label to watch them by.
         */
        readonly unlabelled: boolean;
        /** Whether the metadata is read from the API server in any case. Default false. */
        readonly fresh?: boolean;
      },
    ): Promise<ChildConfigMap | undefined> {
      const key = { namespace: trainJob.metadata.namespace, name };
      const cached = fresh ? undefined : cache.get(key);
      const asks = cached === undefined && (fresh || unlabelled);
      const found = asks ? await get(WATCHED.configMap, key, call) : cached;
      if (found === undefined || !data || !owns(trainJob, found.metadata)) return found;
      const content = known.get(found.metadata ?? {});
      if (content !== undefined) return { ...found, data: content };
      const read = await get(CHILD_CONFIG_MAP, key, call);
      if (read !== undefined) known.set(read);
      return read;
    },
    /** Remembers the response to a write, so that no read follows it. */
    wrote(object: KubeObject): void {
      known.set(CHILD_CONFIG_MAP.parse(object));
    },
  };
}
