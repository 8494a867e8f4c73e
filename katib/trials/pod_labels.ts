/** Pod label lookup: from the cache if it keeps the wanted labels, else by one read for each pod. */
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { sharedCall } from "../../platform/base/shared_calls.ts";
import { KINDS } from "../../crds/kinds.ts";
import { WATCHED_POD_LABELS, type WatchedPod } from "../../crds/watched.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";

/** A pod by its name and UID. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

type Labels = Readonly<Record<string, string>>;

/** Options of {@link createPodLabels}. */
export interface PodLabelsOptions {
  readonly pods: Pick<Informer<WatchedPod>, "get">;
  readonly client: Pick<KubeClient, "get">;
  /** Deadline of one read, in milliseconds. */
  readonly deadlineMs: number;
}

/** Most pods whose labels are cached after a read; the labels that matter never change. */
const REMEMBERED = 20_000;

/** Creates the lookup. */
export function createPodLabels({ pods, client, deadlineMs }: PodLabelsOptions) {
  const known = createBoundedCache<Labels>(REMEMBERED);
  const reads = new Map<string, Promise<Labels | undefined>>();

  async function read({ namespace, name, uid }: PodIdentity): Promise<Labels | undefined> {
    const bounds = { deadlineMs, honorRetryAfter: false };
    const live = await getOrUndefined(client, KINDS.pod, { namespace, name }, bounds);
    if (live?.metadata?.uid !== uid) return undefined;
    const labels = live.metadata.labels ?? {};
    known.set(uid, labels);
    return labels;
  }

  return {
    /**
     * Returns the labels of the pod, at least those of `keys`, or undefined if that very pod was deleted.
     * Rejects if they cannot be read now.
     */
    of(
      pod: PodIdentity,
      keys: readonly string[],
    ): Labels | undefined | Promise<Labels | undefined> {
      const held = known.get(pod.uid);
      if (held !== undefined) return held;
      const cached = pods.get({ namespace: pod.namespace, name: pod.name });
      const suffices = keys.every((key) => WATCHED_POD_LABELS.includes(key));
      if (suffices && cached?.metadata?.uid === pod.uid) return cached.metadata.labels ?? {};
      return sharedCall(reads, pod.uid, () => read(pod));
    },
  };
}
