/** Objects of a TrainJob that trains, after injection and in real size. Pure. */
import {
  CA_KEY,
  IDENTITY_VOLUME,
  LABELS,
  MULTIKUEUE_CONTROLLER,
  PUSH_AUDIENCE,
  STATUS_ENV,
  TRAINER_API_VERSION,
} from "../../crds/names.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_API_VERSION, JOBSET_KEYS } from "../../crds/jobset_names.ts";

/** An object by which another is controlled. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

const ownerReferences = (owner: Owner) => [
  { ...owner, controller: true, blockOwnerDeletion: true },
];

/** Variables that point a container to the endpoint and to its identity. */
function identityEnv() {
  const directory = IDENTITY_VOLUME.mountPath;
  return Object.values(STATUS_ENV).flatMap(({ url, caCert, token }) => [
    { name: url, value: "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:8082" },
    { name: caCert, value: `${directory}/${CA_KEY}` },
    { name: token, value: `${directory}/token` },
  ]);
}

function podSpec(trainJob: string) {
  const sources = [
    { serviceAccountToken: { audience: PUSH_AUDIENCE, expirationSeconds: 3600, path: "token" } },
    { configMap: { name: `${trainJob}-tls-config`, items: [{ key: CA_KEY, path: CA_KEY }] } },
  ];
  return {
    restartPolicy: "Never",
    containers: [{
      name: "node",
      image: "registry.example/training/torch:2.9.1-cuda12.8",
      command: ["torchrun", "/workspace/train.py"],
      args: ["--epochs=3", "--batch-size=64", "--learning-rate=0.0003"],
      env: [
        { name: "PET_NNODES", value: "1" },
        { name: "PET_NPROC_PER_NODE", value: "8" },
        { name: "PET_MASTER_ADDR", value: `${trainJob}-node-0-0.${trainJob}` },
        { name: "PET_MASTER_PORT", value: "29500" },
        ...identityEnv(),
      ],
      resources: { limits: { cpu: "8", memory: "64Gi" }, requests: { cpu: "8", memory: "64Gi" } },
      volumeMounts: [
        { name: IDENTITY_VOLUME.name, mountPath: IDENTITY_VOLUME.mountPath, readOnly: true },
      ],
    }],
    volumes: [{ name: IDENTITY_VOLUME.name, projected: { sources } }],
  };
}

/** Nobody reconciles it: what is measured is the endpoint. `owner`: whose trial it is. */
export function trainJobOf(name: string, owner?: Owner) {
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: { name, ...(owner && { ownerReferences: ownerReferences(owner) }) },
    spec: {
      managedBy: MULTIKUEUE_CONTROLLER,
      runtimeRef: { name: "torch-distributed" },
      trainer: { image: "registry.example/training/torch:2.9.1-cuda12.8", numNodes: 1 },
    },
  };
}

/** The JobSet of a TrainJob; left to an executor that is not there. */
export function jobSetOf(name: string, owner: Owner) {
  const template = {
    metadata: { labels: { [LABELS.trainJobName]: name } },
    spec: podSpec(name),
  };
  return {
    apiVersion: JOBSET_API_VERSION,
    kind: "JobSet",
    metadata: { name, ownerReferences: ownerReferences(owner) },
    spec: {
      managedBy: MULTIKUEUE_CONTROLLER,
      replicatedJobs: [{
        name: "node",
        replicas: 1,
        template: { spec: { parallelism: 1, completions: 1, template } },
      }],
    },
  };
}

/** What a Job and its pods say of their place in a JobSet with one Job, as labels and annotations. */
function placeKeys(jobSet: Owner): Readonly<Record<string, string>> {
  return {
    [JOBSET_KEYS.jobSetName]: jobSet.name,
    [JOBSET_KEYS.jobSetUid]: jobSet.uid,
    [JOBSET_KEYS.replicatedJobName]: "node",
    [JOBSET_KEYS.replicatedJobReplicas]: "1",
    [JOBSET_KEYS.jobIndex]: "0",
    [JOBSET_KEYS.jobGlobalIndex]: "0",
    [JOBSET_KEYS.globalReplicas]: "1",
    [JOBSET_KEYS.groupName]: "default",
    [JOBSET_KEYS.groupReplicas]: "1",
    [JOBSET_KEYS.jobGroupIndex]: "0",
    // A SHA-1 as JobSet's controller writes it.
    [JOBSET_KEYS.jobKey]: "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    [JOBSET_KEYS.restartAttempt]: "0",
  };
}

/** The Job of a JobSet. */
export function jobOf(trainJob: string, jobSet: Owner) {
  const keys = placeKeys(jobSet);
  const labels = { [LABELS.trainJobName]: trainJob, ...keys };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: `${trainJob}-node-0`,
      labels: keys,
      annotations: keys,
      ownerReferences: ownerReferences(jobSet),
    },
    spec: {
      completionMode: "Indexed",
      completions: 1,
      parallelism: 1,
      backoffLimit: 0,
      template: { metadata: { labels, annotations: keys }, spec: podSpec(trainJob) },
    },
  };
}

/** The pod of a Job. */
export function podOf(trainJob: string, jobSet: Owner, job: Owner) {
  const keys = placeKeys(jobSet);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${job.name}-0-bench`,
      labels: {
        [LABELS.trainJobName]: trainJob,
        ...keys,
        [JOB_KEYS.completionIndex]: "0",
        [JOB_KEYS.jobName]: job.name,
        [JOB_KEYS.controllerUid]: job.uid,
        [JOB_KEYS.legacyJobName]: job.name,
        [JOB_KEYS.legacyControllerUid]: job.uid,
      },
      annotations: { ...keys, [JOB_KEYS.completionIndex]: "0" },
      ownerReferences: ownerReferences(job),
    },
    spec: { ...podSpec(trainJob), nodeName: "bench" },
  };
}

/** What a kubelet says of a pod that runs since `at`. */
export function runningStatus(at: Date) {
  const time = at.toISOString().replace(/\.\d{3}Z$/, "Z");
  const types = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
  return {
    phase: "Running",
    startTime: time,
    hostIP: "10.1.2.3",
    podIP: "10.244.1.2",
    conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: time })),
    containerStatuses: [{
      name: "node",
      ready: true,
      restartCount: 0,
      image: "registry.example/training/torch:2.9.1-cuda12.8",
      imageID: "sha256:0e5b2a",
      state: { running: { startedAt: time } },
    }],
  };
}
