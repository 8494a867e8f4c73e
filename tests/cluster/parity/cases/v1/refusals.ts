/** V1 jobs that are refused. */
import { type V1KindName } from "../../../../../crds/v1/kinds.ts";
import type { CaseTable, Step } from "../../case.ts";
import { change, container, create, job, jobOf, type JobSketch, patch, step } from "./sketches.ts";

const refuses = (kind: V1KindName, sketch: JobSketch): readonly Step[] => [
  step([create(job(kind, sketch))]),
];

const WORKERS: JobSketch = { replicas: { Worker: 2 } };
const managedBy = (manager: string) => ({ suspend: false, managedBy: manager });

/** The same refusals for kinds of which one type is enough. */
const ofKind = (kind: V1KindName, type: string): CaseTable => ({
  [`${kind}: a name that no Service may have`]: refuses(kind, {
    replicas: { [type]: 1 },
    metadata: { name: "1a" },
  }),
  [`${kind}: no containers`]: refuses(kind, { replicas: { [type]: { containers: [] } } }),
  [`${kind}: no container of its name`]: refuses(kind, {
    replicas: { [type]: { containers: [container("other")] } },
  }),
  [`${kind}: a container without an image`]: refuses(kind, {
    replicas: { [type]: { containers: [container("other", { image: "" })] } },
  }),
  [`${kind}: an unknown manager`]: refuses(kind, {
    replicas: { [type]: 1 },
    runPolicy: managedBy("example.com/other"),
  }),
  [`${kind}: another manager later`]: [
    step([create(job(kind, {
      replicas: { [type]: 1 },
      runPolicy: managedBy("kubeflow.org/training-operator"),
    }))]),
    change(kind, { runPolicy: { managedBy: "kueue.x-k8s.io/multikueue" } }),
  ],
});

/** Refused jobs. */
export const REFUSALS: CaseTable = {
  ...ofKind("TFJob", "Worker"),
  ...ofKind("PyTorchJob", "Worker"),
  ...ofKind("XGBoostJob", "Master"),
  ...ofKind("PaddleJob", "Worker"),
  ...ofKind("JAXJob", "Worker"),
  "TFJob: a chief and a master": refuses("TFJob", { replicas: { Chief: 1, Master: 1 } }),
  "TFJob: an unknown type": refuses("TFJob", { replicas: { Worker: 1, Other: 1 } }),
  "TFJob: no types": [
    step([create({
      apiVersion: "kubeflow.org/v1",
      kind: "TFJob",
      metadata: { name: "j" },
      spec: { runPolicy: { suspend: false } },
    })]),
  ],
  "PyTorchJob: two masters": refuses("PyTorchJob", { replicas: { Master: 2 } }),
  "PyTorchJob: an unknown type": refuses("PyTorchJob", { replicas: { Worker: 1, Chief: 1 } }),
  "PyTorchJob: no workers at all": refuses("PyTorchJob", { replicas: { Master: 1, Worker: 0 } }),
  "PyTorchJob: elastic without workers": refuses("PyTorchJob", {
    replicas: { Master: 1 },
    more: { elasticPolicy: { minReplicas: 1 } },
  }),
  "PyTorchJob: processes in two places": refuses("PyTorchJob", {
    ...WORKERS,
    more: { nprocPerNode: "2", elasticPolicy: { nProcPerNode: 2 } },
  }),
  "XGBoostJob: no master": refuses("XGBoostJob", WORKERS),
  "XGBoostJob: two masters": refuses("XGBoostJob", { replicas: { Master: 2 } }),
  "JAXJob: an unknown type": refuses("JAXJob", { replicas: { Worker: 1, Master: 1 } }),
  "PaddleJob: an unknown type": refuses("PaddleJob", { replicas: { Worker: 1, PS: 1 } }),
  "TFJob: a queue that changes": [
    step([create(job("TFJob", {
      ...WORKERS,
      runPolicy: { suspend: false, schedulingPolicy: { queue: "a" } },
    }))]),
    step([patch(jobOf("TFJob"), { spec: { runPolicy: { schedulingPolicy: { queue: "b" } } } })]),
  ],
  "TFJob: replicas that are no number": [
    step([create({
      apiVersion: "kubeflow.org/v1",
      kind: "TFJob",
      metadata: { name: "j" },
      spec: { tfReplicaSpecs: { Worker: { replicas: "two", template: {} } } },
    })]),
  ],
  "MPIJob: no launcher": refuses("MPIJob", WORKERS),
  "MXJob: no mode": [
    step([create({
      apiVersion: "kubeflow.org/v1",
      kind: "MXJob",
      metadata: { name: "j" },
      spec: {
        runPolicy: { suspend: false },
        mxReplicaSpecs: { Worker: { template: { spec: { containers: [container("mxnet")] } } } },
      },
    })]),
  ],
};
