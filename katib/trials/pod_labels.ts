/** Labels of pods: from the cache where it keeps the ones that are asked for, else by one read a pod. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import { KINDS } from "../../crds/kinds.ts";
import { WATCHED_POD_LABELS, type WatchedPod } from "../../crds/watched.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Informer } from "../../kube/informer.ts";
import { getOrUndefined } from "../../kube/upsert.ts";

/** A pod by its name and UID. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

type Labels = Readonly<Record<string, string>>;

/** Answers what labels a pod has. */
export interface PodLabels {
  /**
   * Those of the pod, at least the ones of `keys` that it has; undefined where the very pod is gone.
   * Rejects where they cannot be read now.
   */
  of(
    pod: PodIdentity,
    keys: readonly string[],
    signal: AbortSignal,
  ): Labels | undefined | Promise<Labels | undefined>;
}

/** What {@link createPodLabels} is made with. */
export interface PodLabelsOptions {
  readonly pods: Pick<Informer<WatchedPod>, "get">;
  readonly client: Pick<KubeClient, "get">;
  /** Of one read, in milliseconds. */
  readonly deadlineMs: number;
}

/** Pods whose labels were read. Which labels a pod was made with does not change. */
const REMEMBERED = 20_000;

/** Creates {@link PodLabels}. */
export function createPodLabels({ pods, client, deadlineMs }: PodLabelsOptions): PodLabels {
  const known = createBoundedCache<Labels>(REMEMBERED);
  const reads = new Map<string, Promise<Labels | undefined>>();

  async function read({ namespace, name, uid }: PodIdentity): Promise<Labels | undefined> {
    const bounds = { deadlineMs, heedRetryAfter: false };
    const live = await getOrUndefined(client, KINDS.pod, { namespace, name }, bounds);
    if (live?.metadata?.uid !== uid) return undefined;
    const labels = live.metadata.labels ?? {};
    known.set(uid, labels);
    return labels;
  }

  return {
    of(pod, keys) {
      const held = known.get(pod.uid);
      if (held !== undefined) return held;
      const cached = pods.get({ namespace: pod.namespace, name: pod.name });
      const suffices = keys.every((key) => WATCHED_POD_LABELS.includes(key));
      if (suffices && cached?.metadata?.uid === pod.uid) return cached.metadata.labels ?? {};
      const running = reads.get(pod.uid) ?? read(pod).finally(() => reads.delete(pod.uid));
      reads.set(pod.uid, running);
      return running;
    },
  };
}
