/** Objects that are made of v1 jobs. */
import type { V1KindName } from "../../../../../crds/v1/kinds.ts";
import type { CaseTable, Step } from "../../case.ts";
import { env, type Fields } from "../../sketches.ts";
import { container, create, hasPods, job, type JobSketch, step } from "./sketches.ts";

/** Creates a job, and waits for so many pods. */
const makes = (kind: V1KindName, count: number, sketch: JobSketch): readonly Step[] => [
  step([create(job(kind, sketch))], hasPods(count)),
];

/** A container and a second one, with ports, variables and init containers of the user's. */
const rich = (name: string, port: string): Fields => ({
  containers: [
    container("aside", { env: env({ A: "1" }) }),
    container(name, {
      env: env({ RANK: "mine", B: "2" }),
      ports: [{ name: port, containerPort: 7777 }, { name: "more", containerPort: 8080 }],
      resources: { limits: { cpu: "1", memory: "1Gi" } },
      command: ["train"],
      args: ["--epochs=3"],
    }),
  ],
  metadata: {
    labels: { mine: "yes", "training.kubeflow.org/replica-type": "mine" },
    annotations: { "sidecar.istio.io/inject": "false" },
  },
  pod: {
    initContainers: [container("before")],
    nodeSelector: { pool: "a" },
    restartPolicy: "Always",
  },
});

const ELASTIC = {
  minReplicas: 1,
  maxReplicas: 3,
  rdzvBackend: "c10d",
  rdzvPort: 29400,
  rdzvId: "id",
  rdzvConf: [{ key: "timeout", value: "900" }, { key: "read_timeout", value: "60" }],
  maxRestarts: 10,
};

/** Cases whose pods, Services and other objects are compared whole. */
export const OBJECTS: CaseTable = {
  "TFJob: two workers": makes("TFJob", 2, { replicas: { Worker: 2 } }),
  "TFJob: a chief, a parameter server, workers and an evaluator": makes("TFJob", 5, {
    replicas: { Chief: 1, PS: 1, Worker: 2, Evaluator: 1 },
  }),
  "TFJob: dynamic workers": makes("TFJob", 3, {
    replicas: { PS: 1, Worker: 2 },
    more: { enableDynamicWorker: true },
  }),
  "TFJob: a rich template": makes("TFJob", 2, {
    replicas: {
      Worker: { replicas: 2, restartPolicy: "ExitCode", ...rich("tensorflow", "tfjob-port") },
    },
  }),
  "TFJob: a single worker without anything more": makes("TFJob", 1, {
    replicas: { Worker: {} },
    runPolicy: {},
  }),
  "PyTorchJob: a master and workers": makes("PyTorchJob", 3, {
    replicas: { Master: 1, Worker: 2 },
    more: { nprocPerNode: "2" },
  }),
  "PyTorchJob: only workers": makes("PyTorchJob", 2, { replicas: { Worker: 2 } }),
  "PyTorchJob: elastic": makes("PyTorchJob", 2, {
    replicas: { Worker: 2 },
    more: {
      elasticPolicy: {
        ...ELASTIC,
        metrics: [{
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
        }],
      },
    },
  }),
  "PyTorchJob: a rich template": makes("PyTorchJob", 2, {
    replicas: { Master: 1, Worker: { replicas: 1, ...rich("pytorch", "pytorchjob-port") } },
  }),
  "XGBoostJob: a master and workers": makes("XGBoostJob", 3, {
    replicas: { Master: 1, Worker: 2 },
  }),
  "XGBoostJob: a master alone": makes("XGBoostJob", 1, { replicas: { Master: 1 } }),
  "XGBoostJob: a rich template": makes("XGBoostJob", 2, {
    replicas: { Master: 1, Worker: { replicas: 1, ...rich("xgboost", "xgboostjob-port") } },
  }),
  "MXJob: a scheduler, a server and workers": makes("MXJob", 4, {
    replicas: { Scheduler: 1, Server: 1, Worker: 2 },
  }),
  "MXJob: a rich template": makes("MXJob", 2, {
    replicas: { Scheduler: 1, Worker: { replicas: 1, ...rich("mxnet", "mxjob-port") } },
  }),
  "MPIJob: a launcher and workers": makes("MPIJob", 3, {
    replicas: { Launcher: 1, Worker: 2 },
    more: { slotsPerWorker: 2 },
  }),
  "MPIJob: a launcher that computes, and a main container": makes("MPIJob", 2, {
    replicas: {
      Launcher: {
        replicas: 1,
        containers: [container("mpi", { resources: { limits: { "nvidia.com/gpu": 1 } } })],
      },
      Worker: { replicas: 1, ...rich("mpi", "ssh") },
    },
    more: { mainContainer: "mpi" },
  }),
  "PaddleJob: only workers": makes("PaddleJob", 2, { replicas: { Worker: 2 } }),
  "PaddleJob: a master and workers": makes("PaddleJob", 3, { replicas: { Master: 1, Worker: 2 } }),
  "JAXJob: workers": makes("JAXJob", 2, { replicas: { Worker: 2 } }),
};
