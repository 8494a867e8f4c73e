/** Loads of the reconcile benchmark: the jobs that are created, and the objects that their controller makes of them. */
import { JOBSET_API_VERSION } from "../../crds/jobset_names.ts";
import { TRAINER_API_VERSION } from "../../crds/names.ts";
import { V1_API_VERSION } from "../../crds/v1/names.ts";
import { trainJob } from "../../tests/support/standalone.ts";

/** What is created, and what is counted. */
export interface Load {
  /** Path of the collection in which the jobs are created. */
  readonly jobs: string;
  job(name: string): unknown;
  /** Paths of the collections in which there is to be something for each job: how many. */
  readonly made: Readonly<Record<string, number>>;
}

/** The runtime of the TrainJobs, and the namespace of all jobs: `default` has a Service already. */
export const RUNTIME = "bench";
export const NAMESPACE = "bench";

/** TrainJobs, and the JobSet of each. */
export const TRAIN_JOBS: Load = {
  jobs: `/apis/${TRAINER_API_VERSION}/namespaces/${NAMESPACE}/trainjobs`,
  job: (name) => trainJob(name, RUNTIME, { namespace: NAMESPACE }),
  made: { [`/apis/${JOBSET_API_VERSION}/jobsets`]: 1 },
};

const replicas = (count: number) => ({
  replicas: count,
  restartPolicy: "OnFailure",
  template: { spec: { containers: [{ name: "pytorch", image: "busybox", command: ["true"] }] } },
});

/** PyTorchJobs of a master and two workers: a pod and a Service for each. */
export const PYTORCH_JOBS: Load = {
  jobs: `/apis/${V1_API_VERSION}/namespaces/${NAMESPACE}/pytorchjobs`,
  job: (name) => ({
    apiVersion: V1_API_VERSION,
    kind: "PyTorchJob",
    metadata: { name },
    spec: { pytorchReplicaSpecs: { Master: replicas(1), Worker: replicas(2) } },
  }),
  made: {
    [`/api/v1/namespaces/${NAMESPACE}/pods`]: 3,
    [`/api/v1/namespaces/${NAMESPACE}/services`]: 3,
  },
};
