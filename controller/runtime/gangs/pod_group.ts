/** Pod group of a TrainJob: what the groups of all gang schedulers have in common. Pure. */
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import type { ObjectMeta } from "../../../platform/kube/kubernetes.ts";
import type { FollowingChild, Progress } from "../child.ts";
import { type Draft, jobsOf, podSpecOf } from "../draft.ts";
import { podRequests, sumOfRequests } from "../../../crds/pod_requests.ts";
import { type Gang, gangOf } from "./members.ts";

/** Metadata of a pod, or of its template. */
export type PodMarks = Pick<ObjectMeta, "labels" | "annotations">;

/** Makes all pods members of the group, which has the TrainJob's name. */
export function joinGroup(
  draft: Draft,
  member: (pod: PodMarks | undefined, group: string) => PodMarks,
): void {
  for (const job of jobsOf(draft)) {
    const template = job.template.spec?.template;
    if (template) template.metadata = member(template.metadata, draft.trainJob.metadata.name ?? "");
  }
}

/** Resources of pods that do not count now: a merge patch has to name them to remove them. */
function absentResources(draft: Draft, present: Record<string, string>): Record<string, null> {
  const all = jobsOf(draft).flatMap((job) => Object.keys(podRequests(podSpecOf(job) ?? NO_POD)));
  return Object.fromEntries(
    all.filter((name) => present[name] === undefined).map((name) => [name, null]),
  );
}

const NO_POD = { containers: [] };

function quorum(draft: Draft, { members, succeeded }: Gang, countsSucceeded: boolean) {
  const pods = members.reduce((sum, it) => sum + it.pods, 0) + (countsSucceeded ? succeeded : 0);
  const resources = sumOfRequests(
    members.map(({ job, pods }) => ({ spec: podSpecOf(job), count: pods })),
  );
  return {
    // Schedulers have no group of nobody.
    minMember: Math.max(1, pods),
    minResources: { ...resources, ...absentResources(draft, resources) },
  };
}

/**
 * Returns the pod group. While the JobSet runs, only the number of members and their resources follow, and only if
 * it matters: no other write is needed for a job without dependencies.
 */
export function podGroup(
  draft: Draft,
  progress: Progress,
  { kind, countsSucceeded, spec }: {
    readonly kind: Kind<KubeObject>;
    /** Whether the scheduler counts pods that have succeeded among those that it waits for. */
    readonly countsSucceeded: boolean;
    /** The fields of the spec beside `minMember` and `minResources`. */
    readonly spec: Readonly<Record<string, unknown>>;
  },
): FollowingChild {
  const gang = gangOf(draft, progress);
  const members = quorum(draft, gang, countsSucceeded);
  return {
    kind,
    name: draft.trainJob.metadata.name ?? "",
    mode: "while-suspended",
    watched: true,
    content: { spec: { ...members, ...spec } },
    ...(gang.matters && { whileRunning: { spec: members } }),
  };
}
