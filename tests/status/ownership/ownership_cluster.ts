/** A namespace with one TrainJob, its chain of children and a pod, and counted lookups over it. */
import type { OwnerRef } from "../../../kube/resource.ts";
import type {
  OwnedPod,
  OwnershipClaim,
  OwnershipLookups,
} from "../../../status/ownership/ownership.ts";

/** The objects by kind, then by `namespace/name`. */
export type TestCluster = Record<
  Exclude<keyof OwnershipLookups, "trainJobNow">,
  Map<string, OwnedPod>
>;

const KINDS = {
  job: { apiVersion: "batch/v1", kind: "Job" },
  jobSet: { apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet" },
  trainJob: { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" },
} as const;

/** A reference to a controller. */
export function controller(kind: keyof typeof KINDS, name: string, uid: string): OwnerRef {
  return { ...KINDS[kind], name, uid, controller: true, blockOwnerDeletion: true };
}

/** An object of namespace `team`, with its owners. */
export function owned(name: string, uid: string, ...ownerReferences: OwnerRef[]): OwnedPod {
  return { metadata: { name, namespace: "team", uid, ownerReferences } };
}

/** What the good token claims for `job-1`. */
export const CLAIM: OwnershipClaim = {
  namespace: "team",
  trainJob: "job-1",
  pod: { name: "job-1-node-0-0-abcde", uid: "uid-pod-1" },
  serviceAccount: { name: "default", uid: "uid-sa" },
};

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
  const lookups: OwnershipLookups = {
    pod: find("pod"),
    job: find("job"),
    jobSet: find("jobSet"),
    trainJob: find("trainJob"),
    trainJobNow: ({ namespace, name }) => objects.trainJob.get(`${namespace}/${name}`),
    serviceAccount: find("serviceAccount"),
  };
  return { objects, lookups, count };
}
