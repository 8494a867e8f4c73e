/** Gang of a v1 job: its pod group, and what its pods say of it. Pure. */
import { COSCHEDULING, VOLCANO } from "../../crds/gang_names.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";
import { metadataOf } from "./owner.ts";
import { memberOfCoscheduling } from "../runtime/gangs/coscheduling.ts";
import { memberOfVolcano } from "../runtime/gangs/volcano.ts";
import { sumOfRequests } from "../../crds/pod_requests.ts";
import { type Replicas, type Run, totalReplicas } from "./run.ts";

/** Whose pods are placed together: those of a job, less its replicas that have succeeded and whose pods are gone. */
export interface Members {
  readonly run: Run;
  readonly collected: number;
}

/** A scheduler that places the pods of a job together. */
export interface GangScheduler {
  /** Given to pods that name no scheduler. */
  readonly schedulerName: string;
  readonly groupKind: Kind<KubeObject>;
  /** Whether pods wait until the scheduler has taken the group. */
  readonly admitsGroups: boolean;
  /** Returns the pod of a type as a member of the group. */
  member(run: Run, type: string, pod: Pod): Pod;
  /** Returns the pod group; `priorityOf` gives the value of a priority class. */
  group(members: Members, priorityOf: (name: string) => number): KubeObject & { spec: unknown };
}

/** The queue of a group that names none. */
const DEFAULT_QUEUE = "default";

const priorityClassOf = ({ template }: Replicas) => template.spec?.priorityClassName;

/** The resources of the first members, those of the highest priority first. */
function resourcesOf(run: Run, members: number, priorityOf: (name: string) => number) {
  const value = (of: Replicas) => {
    const name = priorityClassOf(of);
    return name === undefined ? 0 : priorityOf(name);
  };
  let left = members;
  const first = [...run.replicas].sort((a, b) => value(b) - value(a)).map((of) => {
    const count = Math.min(left, of.count);
    left -= count;
    return { spec: of.template.spec, count };
  });
  return sumOfRequests(first.filter(({ count }) => count > 0));
}

function policyOf({ spec }: Run) {
  return spec.runPolicy?.schedulingPolicy ?? {};
}

/** The fields of the specs of both schedulers. */
function commonSpec({ run, collected }: Members, priorityOf: (name: string) => number) {
  const { minAvailable, minResources } = policyOf(run);
  const left = totalReplicas(run) - collected;
  const wanted = minAvailable ?? left;
  const minMember = collected > 0 ? Math.min(wanted, left) : wanted;
  return { minMember, minResources: minResources ?? resourcesOf(run, minMember, priorityOf) };
}

function groupOf(run: Run, { group, version }: { group: string; version: string }, spec: object) {
  const { name, annotations } = run;
  return {
    apiVersion: `${group}/${version}`,
    kind: "PodGroup",
    metadata: {
      ...metadataOf(run, name),
      ...(Object.keys(annotations).length > 0 && { annotations: { ...annotations } }),
    },
    spec,
  };
}

/** A pod that names a scheduler keeps it. */
function scheduledBy(pod: Pod, schedulerName: string): Pod {
  const { spec } = pod;
  if (spec === undefined || spec.schedulerName) return pod;
  return { ...pod, spec: { ...spec, schedulerName } };
}

const volcano: GangScheduler = {
  schedulerName: "volcano",
  groupKind: KINDS.volcanoPodGroup,
  admitsGroups: true,
  member: (run, type, pod) => {
    const metadata = memberOfVolcano(pod.metadata, run.name);
    const annotations = { ...metadata.annotations, [VOLCANO.taskAnnotation]: type.toLowerCase() };
    return { ...scheduledBy(pod, "volcano"), metadata: { ...metadata, annotations } };
  },
  group(members, priorityOf) {
    const { run } = members;
    const { queue, priorityClass } = policyOf(run);
    return groupOf(run, VOLCANO, {
      ...commonSpec(members, priorityOf),
      queue: queue || DEFAULT_QUEUE,
      ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    });
  },
};

/** The coscheduling plugin, in a scheduler of any name. */
function coscheduling(schedulerName: string): GangScheduler {
  return {
    schedulerName,
    groupKind: KINDS.coschedulingPodGroup,
    admitsGroups: false,
    member: (run, _, pod) => ({
      ...scheduledBy(pod, schedulerName),
      metadata: memberOfCoscheduling(pod.metadata, run.name),
    }),
    group(members, priorityOf) {
      const { run } = members;
      const { scheduleTimeoutSeconds } = policyOf(run);
      return groupOf(run, COSCHEDULING, {
        ...commonSpec(members, priorityOf),
        ...(scheduleTimeoutSeconds !== undefined && { scheduleTimeoutSeconds }),
      });
    },
  };
}

/** Returns the gang scheduler of a name: `volcano`, or any other one that has the coscheduling plugin. */
export function gangScheduler(name: string): GangScheduler {
  return name === volcano.schedulerName ? volcano : coscheduling(name);
}

/** Returns whether some of the job's pods name another scheduler, which is not replaced. */
export function namesOtherScheduler({ replicas }: Run, { schedulerName }: GangScheduler): boolean {
  return replicas.some(({ template }) => {
    const own = template.spec?.schedulerName;
    return own !== undefined && own !== "" && own !== schedulerName;
  });
}
