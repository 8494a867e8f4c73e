/** Names of the ML policies: their variables, ports, files and volumes in pods. */

/** Variables of the torch policy, which a TrainJob may not set itself. */
export const TORCH_ENV = {
  nnodes: "PET_NNODES",
  nprocPerNode: "PET_NPROC_PER_NODE",
  nodeRank: "PET_NODE_RANK",
  masterAddr: "PET_MASTER_ADDR",
  masterPort: "PET_MASTER_PORT",
} as const;
/** Variables of the jax policy. Unlike those of the others they yield to the TrainJob's own, as upstream's. */
export const JAX_ENV = {
  numProcesses: "JAX_NUM_PROCESSES",
  processId: "JAX_PROCESS_ID",
  coordinatorAddress: "JAX_COORDINATOR_ADDRESS",
} as const;
/** Variables of the xgboost policy, which a TrainJob may not set itself. */
export const XGBOOST_ENV = {
  trackerUri: "DMLC_TRACKER_URI",
  trackerPort: "DMLC_TRACKER_PORT",
  taskId: "DMLC_TASK_ID",
  numWorker: "DMLC_NUM_WORKER",
} as const;
/** Variables of the tensorflow policy, which a TrainJob may not set itself. */
export const TENSORFLOW_ENV = {
  config: "TF_CONFIG",
  /** The index of the pod's task, to which the value of `TF_CONFIG` refers. */
  taskIndex: "TF_TASK_INDEX",
} as const;
/** Port of the rendezvous that Torch, JAX and XGBoost use. */
export const RENDEZVOUS_PORT = 29500;
/** Port of every task of TensorFlow, as that of a TFJob. */
export const TENSORFLOW_PORT = 2222;
/** Names of the flux policy: variables that set it, its init container, its volumes and their places. */
export const FLUX = {
  env: {
    viewImage: "FLUX_VIEW_IMAGE",
    networkDevice: "FLUX_NETWORK_DEVICE",
    queuePolicy: "FLUX_QUEUE_POLICY",
  },
  installer: "flux-installer",
  volumes: {
    spack: { name: "spack-install", mountPath: "/opt/software" },
    install: { name: "flux-install", mountPath: "/mnt/flux" },
    /** Named after its ConfigMap. */
    scripts: { mountPath: "/etc/flux-config" },
    memory: { name: "shared-memory", mountPath: "/dev/shm" },
    curve: { name: "flux-curve", mountPath: "/curve" },
  },
  scripts: { entrypoint: "entrypoint.sh", init: "init.sh" },
  curveKey: "curve.cert",
  port: 8050,
} as const;

/** Files of the ML policy mpi in the pods of its launcher and its nodes. */
export const MPI = {
  sshAuth: {
    volume: "mpi-ssh-auth",
    /** Type of the Secret. */
    type: "kubernetes.io/ssh-auth",
    keys: { privateKey: "ssh-privatekey", publicKey: "ssh-publickey" },
  },
  hostfile: { volume: "mpi-hostfile", mountPath: "/etc/mpi", key: "hostfile" },
} as const;
