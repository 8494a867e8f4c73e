/** Pod group of a TrainJob: what the groups of all gang schedulers have in common. Pure. */
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { ResourceSum } from "../../../platform/base/resource_list.ts";
import type { FollowingChild, Progress } from "../child.ts";
import { type Draft, jobsOf, podSpecOf } from "../draft.ts";
import { podRequests } from "../pod_requests.ts";
import { type Gang, gangOf, type Members } from "./members.ts";

/** The group of one scheduler. */
export interface PodGroupSketch {
  readonly kind: Kind<KubeObject>;
  /** Whether the scheduler counts pods that have succeeded among those that it waits for. */
  readonly countsSucceeded: boolean;
  /** The fields of the spec beside `minMember` and `minResources`. */
  readonly spec: Readonly<Record<string, unknown>>;
}

function resourcesOf(members: readonly Members[]): Record<string, string> {
  const sum = new ResourceSum();
  for (const { job, pods } of members) {
    const spec = podSpecOf(job);
    if (spec) sum.add(new ResourceSum().add(podRequests(spec)).times(pods).toList());
  }
  return sum.toList();
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
  const resources = resourcesOf(members);
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
  { kind, countsSucceeded, spec }: PodGroupSketch,
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
