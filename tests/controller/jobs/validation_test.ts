/** Tests of the validation of v1 jobs: each refusal, in the words of the operator. */
import assert from "node:assert/strict";
import {
  changedV1JobProblems,
  v1JobProblems,
  v1JobWarnings,
} from "../../../controller/jobs/validation.ts";
import { causeOf, type FieldProblem } from "../../../crds/field_problem.ts";
import { causeText } from "../../../crds/status_cause.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import { V1_KIND_LIST, V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";

const texts = (problems: readonly FieldProblem[]) => problems.map((it) => causeText(causeOf(it)));

/** A replica type with one container of that name. */
const replica = (name: string, more: Record<string, unknown> = {}) => ({
  template: { spec: { containers: [{ name, image: "i" }] } },
  ...more,
});

const withContainers = (...containers: readonly Record<string, unknown>[]) => ({
  template: { spec: { containers } },
});

/** The replica types of a job that is accepted. */
const VALID: Readonly<Record<V1KindName, Record<string, unknown>>> = {
  TFJob: { Worker: replica("tensorflow") },
  PyTorchJob: { Master: replica("pytorch"), Worker: replica("pytorch", { replicas: 2 }) },
  XGBoostJob: { Master: replica("xgboost"), Worker: replica("xgboost", { replicas: 2 }) },
  MXJob: { Scheduler: replica("mxnet"), Server: replica("mxnet"), Worker: replica("mxnet") },
  MPIJob: { Launcher: replica("any"), Worker: replica("other", { replicas: 2 }) },
  PaddleJob: { Worker: replica("paddle", { replicas: 2 }) },
  JAXJob: { Worker: replica("jax", { replicas: 2 }) },
};

interface Given {
  name?: string;
  /** The replica types; null: there is no such field. */
  types?: Record<string, unknown> | null;
  /** Further fields of the spec. */
  spec?: Record<string, unknown>;
}

function job(kind: V1KindName, { name = "a", types = VALID[kind], spec = {} }: Given): V1Job {
  return V1_RESOURCES[kind].parse({
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name },
    spec: {
      ...types === null ? {} : { [V1_KINDS[kind].specsKey]: types },
      ...kind === "MXJob" ? { jobMode: "MXTrain" } : {},
      ...spec,
    },
  });
}

interface Case extends Given {
  kind: V1KindName;
  want: string[];
}

const CONTAINERS = "template.spec.containers";
const BOTH = 'supported values: "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"';

const cases: Record<string, Case> = {
  "a name that is no DNS label": {
    kind: "TFJob",
    name: "1a",
    want: [
      'metadata.name: Invalid value: "1a": should match: a DNS-1035 label must consist of lower case ' +
      "alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric " +
      "character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
  },
  "a name that is too long": {
    kind: "JAXJob",
    name: "a".repeat(64),
    want: [
      `metadata.name: Invalid value: "${
        "a".repeat(64)
      }": should match: must be no more than 63 characters`,
    ],
  },
  "no replica types": {
    kind: "TFJob",
    types: null,
    want: ["spec.tfReplicaSpecs: Required value: must be required"],
  },
  "no replica types of a kind that needs one": {
    kind: "XGBoostJob",
    types: {},
    want: ["spec.xgbReplicaSpecs[Master]: Required value: must be present"],
  },
  "no containers": {
    kind: "TFJob",
    types: { Worker: {} },
    want: [
      `spec.tfReplicaSpecs[Worker].${CONTAINERS}: Required value: must be specified`,
      `spec.tfReplicaSpecs[Worker].${CONTAINERS}: Required value: must have at least one container with name tensorflow`,
    ],
  },
  "an empty list of containers": {
    kind: "PyTorchJob",
    types: { Worker: withContainers() },
    want: [
      `spec.pytorchReplicaSpecs[Worker].${CONTAINERS}: Required value: must be specified`,
      `spec.pytorchReplicaSpecs[Worker].${CONTAINERS}: Required value: must have at least one container with name pytorch`,
    ],
  },
  "no container that trains": {
    kind: "TFJob",
    types: { PS: replica("tensorflow"), Worker: replica("tf") },
    want: [
      `spec.tfReplicaSpecs[Worker].${CONTAINERS}: Required value: must have at least one container with name tensorflow`,
    ],
  },
  "no container that trains, of a PaddleJob, whose name has quotes": {
    kind: "PaddleJob",
    types: { Worker: replica("x") },
    want: [
      `spec.paddleReplicaSpecs[Worker].${CONTAINERS}: Required value: must have at least one container with name "paddle"`,
    ],
  },
  "containers without an image": {
    kind: "JAXJob",
    types: { Worker: withContainers({ name: "side" }, { name: "jax", image: "" }) },
    want: [
      `spec.jaxReplicaSpecs[Worker].${CONTAINERS}[0].image: Required value: must be required`,
      `spec.jaxReplicaSpecs[Worker].${CONTAINERS}[1].image: Required value: must be required`,
    ],
  },
  "a container without a name, of an MPIJob": {
    kind: "MPIJob",
    types: { Launcher: withContainers({ name: "", image: "i" }) },
    want: [
      `spec.mpiReplicaSpecs[Launcher].${CONTAINERS}[0].name: Required value: must be required`,
    ],
  },
  "a Chief beside a Master": {
    kind: "TFJob",
    types: { Chief: replica("tensorflow"), master: replica("tensorflow") },
    want: ["spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"],
  },
  "a replica type in two spellings": {
    kind: "MXJob",
    types: { Scheduler: replica("mxnet"), scheduler: replica("mxnet") },
    want: ["spec.mxReplicaSpecs[scheduler]: Forbidden: must not be a second Scheduler"],
  },
  "another replica type": {
    kind: "PyTorchJob",
    types: { PS: replica("pytorch") },
    want: [
      'spec.pytorchReplicaSpecs[PS]: Unsupported value: "PS": supported values: "Master", "Worker"',
    ],
  },
  "another replica type of an MPIJob": {
    kind: "MPIJob",
    types: { Launcher: replica("m"), Master: replica("m") },
    want: [
      'spec.mpiReplicaSpecs[Master]: Unsupported value: "Master": supported values: "Launcher", "Worker"',
    ],
  },
  "a second Master": {
    kind: "PyTorchJob",
    types: { Master: replica("pytorch", { replicas: 2 }) },
    want: ["spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1"],
  },
  "a Master of no replica": {
    kind: "XGBoostJob",
    types: { Master: replica("xgboost", { replicas: 0 }) },
    want: ["spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1"],
  },
  "no Master of an XGBoostJob": {
    kind: "XGBoostJob",
    types: { Worker: replica("xgboost") },
    want: ["spec.xgbReplicaSpecs[Master]: Required value: must be present"],
  },
  "no Launcher of an MPIJob": {
    kind: "MPIJob",
    types: { Worker: replica("mpi") },
    want: ["spec.mpiReplicaSpecs[Launcher]: Required value: must be present"],
  },
  "a second Launcher": {
    kind: "MPIJob",
    types: { Launcher: replica("mpi", { replicas: 2 }) },
    want: ["spec.mpiReplicaSpecs[Launcher].replicas: Forbidden: must be 1"],
  },
  "no replica of a PyTorchJob's workers": {
    kind: "PyTorchJob",
    types: { Worker: replica("pytorch", { replicas: 0 }) },
    want: ["spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1"],
  },
  "fewer than no replicas": {
    kind: "TFJob",
    types: { Worker: replica("tensorflow", { replicas: -1 }) },
    want: [
      "spec.tfReplicaSpecs[Worker].replicas: Invalid value: -1: must be greater than or equal to 0",
    ],
  },
  "another restart policy": {
    kind: "TFJob",
    types: { Worker: replica("tensorflow", { restartPolicy: "Sometimes" }) },
    want: [
      'spec.tfReplicaSpecs[Worker].restartPolicy: Unsupported value: "Sometimes": ' +
      'supported values: "Always", "OnFailure", "Never", "ExitCode"',
    ],
  },
  "another policy of clean-up": {
    kind: "JAXJob",
    spec: { runPolicy: { cleanPodPolicy: "Some" } },
    want: [
      'spec.runPolicy.cleanPodPolicy: Unsupported value: "Some": supported values: "All", "Running", "None"',
    ],
  },
  "another policy of clean-up in an MPIJob's own field": {
    kind: "MPIJob",
    spec: { cleanPodPolicy: "running" },
    want: [
      'spec.cleanPodPolicy: Unsupported value: "running": supported values: "All", "Running", "None"',
    ],
  },
  "another policy of success": {
    kind: "TFJob",
    spec: { successPolicy: "Any" },
    want: ['spec.successPolicy: Unsupported value: "Any": supported values: "AllWorkers"'],
  },
  "another mode of an MXJob": {
    kind: "MXJob",
    spec: { jobMode: "Train" },
    want: ['spec.jobMode: Unsupported value: "Train": supported values: "MXTrain", "MXTune"'],
  },
  "no mode of an MXJob": {
    kind: "MXJob",
    spec: { jobMode: "" },
    want: ["spec.jobMode: Required value: must be required"],
  },
  "another manager": {
    kind: "TFJob",
    spec: { runPolicy: { managedBy: "x" } },
    want: [`spec.runPolicy.managedBy: Unsupported value: "x": ${BOTH}`],
  },
  "an empty manager": {
    kind: "JAXJob",
    spec: { runPolicy: { managedBy: "" } },
    want: [`spec.runPolicy.managedBy: Unsupported value: "": ${BOTH}`],
  },
  "an elastic policy without workers": {
    kind: "PyTorchJob",
    types: { Master: replica("pytorch") },
    spec: { elasticPolicy: {} },
    want: [
      "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used",
    ],
  },
  "processes in two fields": {
    kind: "PyTorchJob",
    spec: { elasticPolicy: { nProcPerNode: 2 }, nprocPerNode: "auto" },
    want: ["spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode"],
  },
};

for (const [sentence, { kind, want, ...given }] of Object.entries(cases)) {
  Deno.test(`v1JobProblems() refuses ${sentence}`, () => {
    assert.deepEqual(texts(v1JobProblems(V1_KINDS[kind], job(kind, given))), want);
  });
}

const accepted: Record<string, Given & { kind: V1KindName }> = {
  "names of types in any case": {
    kind: "PyTorchJob",
    types: { master: replica("pytorch"), WORKER: replica("pytorch") },
  },
  "other types of a TFJob": { kind: "TFJob", types: { Other: replica("tensorflow") } },
  "other types of an MXJob": { kind: "MXJob", types: { tunerserver: replica("mxnet") } },
  "a Master that says that it is one": {
    kind: "XGBoostJob",
    types: { Master: replica("xgboost", { replicas: 1 }) },
  },
  "workers of an MPIJob that are none": {
    kind: "MPIJob",
    types: { Launcher: replica("mpi"), Worker: replica("mpi", { replicas: 0 }) },
  },
  "every choice": {
    kind: "TFJob",
    types: { Worker: replica("tensorflow", { restartPolicy: "ExitCode" }) },
    spec: {
      successPolicy: "AllWorkers",
      runPolicy: { cleanPodPolicy: "All", managedBy: "kueue.x-k8s.io/multikueue" },
    },
  },
  "empty choices, which mean the defaults": {
    kind: "TFJob",
    types: { Worker: replica("tensorflow", { restartPolicy: "" }) },
    spec: { successPolicy: "", runPolicy: { cleanPodPolicy: "" } },
  },
  "workers in lower case under an elastic policy": {
    kind: "PyTorchJob",
    types: { worker: replica("pytorch") },
    spec: { elasticPolicy: { minReplicas: 1 } },
  },
};

for (const [sentence, { kind, ...given }] of Object.entries(accepted)) {
  Deno.test(`v1JobProblems() accepts ${sentence}`, () => {
    assert.deepEqual(texts(v1JobProblems(V1_KINDS[kind], job(kind, given))), []);
  });
}

for (const kind of V1_KIND_LIST) {
  Deno.test(`v1JobProblems() accepts the simplest ${kind.kind}`, () => {
    assert.deepEqual(v1JobProblems(kind, job(kind.kind, {})), []);
  });

  Deno.test(`changedV1JobProblems() refuses another manager of a ${kind.kind}`, () => {
    const managedBy = "kueue.x-k8s.io/multikueue";
    const plain = job(kind.kind, {});
    const managed = job(kind.kind, { spec: { runPolicy: { managedBy } } });
    assert.deepEqual(texts(changedV1JobProblems(kind, managed, plain)), [
      `spec.runPolicy.managedBy: Invalid value: "${managedBy}": field is immutable`,
    ]);
    assert.deepEqual(texts(changedV1JobProblems(kind, plain, managed)), [
      'spec.runPolicy.managedBy: Invalid value: "null": field is immutable',
    ]);
    assert.deepEqual(changedV1JobProblems(kind, managed, managed), []);
  });
}

Deno.test("changedV1JobProblems() refuses what is new, and lets an old job with a problem be suspended", () => {
  const types = { Worker: replica("tensorflow", { restartPolicy: "Sometimes" }) };
  const old = job("TFJob", { types });
  const suspended = job("TFJob", { types, spec: { runPolicy: { suspend: true } } });
  assert.deepEqual(changedV1JobProblems(V1_KINDS.TFJob, suspended, old), []);
  const worse = job("TFJob", { types, spec: { successPolicy: "Any" } });
  assert.deepEqual(texts(changedV1JobProblems(V1_KINDS.TFJob, worse, old)), [
    'spec.successPolicy: Unsupported value: "Any": supported values: "AllWorkers"',
  ]);
});

Deno.test("v1JobProblems() finds every problem of a job", () => {
  const given = {
    name: "A",
    types: { Worker: replica("x"), Other: replica("pytorch") },
    spec: { runPolicy: { managedBy: "y", cleanPodPolicy: "z" } },
  };
  assert.deepEqual(
    v1JobProblems(V1_KINDS.PyTorchJob, job("PyTorchJob", given)).map((it) => it.field),
    [
      "metadata.name",
      "spec.runPolicy.managedBy",
      "spec.runPolicy.cleanPodPolicy",
      "spec.pytorchReplicaSpecs[Worker].template.spec.containers",
      "spec.pytorchReplicaSpecs[Other]",
    ],
  );
});

Deno.test("v1JobWarnings() warn of the former field for processes", () => {
  const spec = { elasticPolicy: { nProcPerNode: 2 } };
  assert.deepEqual(v1JobWarnings(V1_KINDS.PyTorchJob, job("PyTorchJob", { spec })), [
    "spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead",
  ]);
  assert.deepEqual(v1JobWarnings(V1_KINDS.PyTorchJob, job("PyTorchJob", {})), []);
});
