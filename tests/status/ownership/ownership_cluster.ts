/** A namespace with one TrainJob, its chain of children and a pod, and counted lookups over it. */
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Lookup } from "../../../platform/kube/watching/cached_lookup.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import type {
  OwnedPod,
  OwnershipClaim,
  OwnershipLookups,
} from "../../../status/ownership/ownership.ts";

/** The objects by kind, then by `namespace/name`. */
export type TestCluster = Record<
  "pod" | "job" | "jobSet" | "trainJob" | "serviceAccount",
  Map<string, OwnedPod>
>;

const OWNERS = {
  job: { apiVersion: "batch/v1", kind: "Job" },
  jobSet: { apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet" },
  trainJob: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" },
} as const;

/** A reference to a controller. */
export function controller(kind: keyof typeof OWNERS, name: string, uid: string): OwnerRef {
  return { ...OWNERS[kind], name, uid, controller: true, blockOwnerDeletion: true };
}

/** An object of namespace `team`, with its owners. */
export function owned(name: string, uid: string, ...ownerReferences: OwnerRef[]): OwnedPod {
  return { metadata: { name, namespace: "team", uid, ownerReferences } };
}

/** Claims of the good token for `job-1`. */
export const CLAIM: OwnershipClaim = {
  kind: TRAINJOB,
  namespace: "team",
  job: "job-1",
  pod: { name: "job-1-node-0-0-abcde", uid: "uid-pod-1" },
  serviceAccount: { name: "default", uid: "uid-sa" },
};

/** The lookups of TrainJobs and their chain, each made by `find`. */
export function lookupsOf(
  objects: TestCluster,
  find: (kind: keyof TestCluster) => Lookup<OwnedPod>,
): OwnershipLookups {
  const ofTrainJobs = {
    pod: find("pod"),
    job: find("trainJob"),
    jobNow: ({ namespace, name }: { namespace: string; name: string }) =>
      objects.trainJob.get(`${namespace}/${name}`),
  };
  const [job, jobSet] = [find("job"), find("jobSet")];
  return {
    ofKind: () => ofTrainJobs,
    owner: (kind) => kind === KINDS.job ? job : jobSet,
    serviceAccount: find("serviceAccount"),
  };
}

/** Fresh objects, lookups over them, and how often anything was looked up. */
export function cluster() {
  const pod = owned(CLAIM.pod.name, "uid-pod-1", controller("job", "job-1-node-0", "uid-job"));
  const job = owned("job-1-node-0", "uid-job", controller("jobSet", "job-1", "uid-jobset"));
  const jobSet = owned("job-1", "uid-jobset", controller("trainJob", "job-1", "uid-trainjob"));
  const objects: TestCluster = {
    pod: new Map([["team/job-1-node-0-0-abcde", { ...pod, status: { phase: "Running" } }]]),
    job: new Map([["team/job-1-node-0", job]]),
    jobSet: new Map([["team/job-1", jobSet]]),
    trainJob: new Map([["team/job-1", owned("job-1", "uid-trainjob")]]),
    serviceAccount: new Map([["team/default", owned("default", "uid-sa")]]),
  };
  const count = { lookups: 0 };
  const find = (kind: keyof TestCluster) => (key: { namespace: string; name: string }) => {
    count.lookups += 1;
    return objects[kind].get(`${key.namespace}/${key.name}`);
  };
  return { objects, lookups: lookupsOf(objects, find), count };
}
