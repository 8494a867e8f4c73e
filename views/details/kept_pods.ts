/** Pods of a job that are gone and whose logs are kept, as only `standalone` does. */
import { MOST_KEPT_LOGS } from "../../crds/kept_log.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ShownPod } from "../../crds/wire/details.ts";
import { ignoring, isAbsentOrForbidden } from "../../platform/kube/errors.ts";
import { type BoundedReads, keeping, listUpTo } from "./bounded_reads.ts";
import { shownPod } from "./shown_pods.ts";

/** What is looked at: more than is kept of one job, as its name may be that of a job before it. */
const MOST_READ = 1_000;

const KEPT = keeping(KINDS.keptLog, ({ metadata, spec }) => ({
  gone: spec.gone,
  owners: metadata.ownerReferences?.map(({ uid }) => uid) ?? [],
  pod: { ...shownPod(spec.pod), gone: true, ...(spec.isSilent && { isSilent: true }) },
}));

/** Reads them; undefined where no logs are kept. */
export type ReadKeptPods = (reads: BoundedReads, of: {
  readonly namespace: string;
  readonly labelSelector: string;
  /** UID of the job. */
  readonly job: string;
}) => Promise<ShownPod[] | undefined>;

/** Returns how those of one API server are read, which is asked once if it has none. */
export function createKeptPods(): ReadKeptPods {
  let isServed = true;
  return async (reads, { namespace, labelSelector, job }) => {
    if (!isServed) return undefined;
    const found = await listUpTo(reads, KEPT, { most: MOST_READ, namespace, labelSelector })
      .catch(ignoring(isAbsentOrForbidden));
    isServed &&= found !== undefined;
    return found?.items.filter(({ owners }) => owners.includes(job))
      .sort((one, other) => Date.parse(other.gone) - Date.parse(one.gone))
      .slice(0, MOST_KEPT_LOGS.ofJob)
      .map(({ pod }) => pod);
  };
}

/**
 * Returns the pods with those that are gone behind them. Logs are found by the names of pods: one that was made again
 * under its name stands for those before, as a restart for each.
 */
export function withKept(
  pods: readonly ShownPod[],
  kept: readonly ShownPod[] = [],
): readonly ShownPod[] {
  if (kept.length === 0) return pods;
  const newest = new Map([...kept.toReversed(), ...pods].map((pod) => [pod.name, pod]));
  return [...newest.values()].map((pod) => {
    const former = kept.filter(({ name, uid }) => name === pod.name && uid !== pod.uid);
    return former.length === 0 ? pod : { ...pod, restarts: pod.restarts + former.length };
  });
}

/** Returns of each rank the pods that are there, else the first of those that are gone. */
export function oneOfEachRank(pods: readonly ShownPod[]): readonly ShownPod[] {
  const rankOf = ({ rank, name }: ShownPod) => rank ?? name;
  const ranks = new Set(pods.filter(({ gone }) => !gone).map(rankOf));
  return pods.filter((pod) => {
    if (!pod.gone) return true;
    const isFirst = !ranks.has(rankOf(pod));
    ranks.add(rankOf(pod));
    return isFirst;
  });
}
