/** The objects of a TrainJob that trains, as they are after injection, of the size that they have. Pure. */
import {
  CA_KEY,
  IDENTITY_VOLUME,
  JOBSET_API_VERSION,
  LABELS,
  MULTIKUEUE_CONTROLLER,
  PUSH_AUDIENCE,
  STATUS_ENV,
  TRAINER_API_VERSION,
} from "../../crds/names.ts";

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

/** What a container is told where it pushes, and how it shows who it is. */
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

/** Nobody reconciles it: what is measured is the endpoint. */
export function trainJobOf(name: string) {
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: { name },
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

/** The Job of a JobSet. */
export function jobOf(trainJob: string, owner: Owner) {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: `${trainJob}-node-0`, ownerReferences: ownerReferences(owner) },
    spec: {
      completionMode: "Indexed",
      completions: 1,
      parallelism: 1,
      backoffLimit: 0,
      template: {
        metadata: { labels: { [LABELS.trainJobName]: trainJob } },
        spec: podSpec(trainJob),
      },
    },
  };
}

/** The pod of a Job. */
export function podOf(trainJob: string, owner: Owner) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${trainJob}-node-0-0-bench`,
      labels: { [LABELS.trainJobName]: trainJob },
      ownerReferences: ownerReferences(owner),
    },
    spec: { ...podSpec(trainJob), nodeName: "bench" },
  };
}
