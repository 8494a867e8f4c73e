/** Table of the v1 kinds: in what their objects differ, as data. */
import type { JobKind } from "../job_kind.ts";
import { type RestartPolicy, V1_GROUP, V1_LABELS } from "./names.ts";

/** A v1 kind. */
export interface V1Kind {
  readonly kind: V1KindName;
  readonly singular: string;
  readonly plural: string;
  /** The key of the replica types in the spec. */
  readonly specsKey: string;
  /** Every replica type, in the order in which a job is judged. */
  readonly replicaTypes: readonly string[];
  /** The container that trains. */
  readonly container: string;
  /** The port that is added to that container; absent: the kind has no Services. */
  readonly port?: { readonly name: string; readonly number: number };
  readonly restartPolicy: RestartPolicy;
  /** Value of the operator-name label. */
  readonly operatorName: string;
  /** Value of the label `framework` of the operator's metrics. */
  readonly framework: string;
  /** Whether its workers can be scaled by the subresource `scale`. */
  readonly scalable: boolean;
}

type Differences =
  & Pick<V1Kind, "specsKey" | "replicaTypes" | "container" | "port">
  & Partial<Pick<V1Kind, "restartPolicy" | "framework" | "scalable">>;

/** Name of a v1 kind. */
export type V1KindName =
  | "TFJob"
  | "PyTorchJob"
  | "XGBoostJob"
  | "MXJob"
  | "MPIJob"
  | "PaddleJob"
  | "JAXJob";

function v1Kind(kind: V1KindName, differences: Differences): V1Kind {
  const singular = kind.toLowerCase();
  const framework = differences.container;
  return {
    kind,
    singular,
    plural: `${singular}s`,
    operatorName: `${singular}-controller`,
    restartPolicy: "Never",
    framework,
    scalable: false,
    ...differences,
  };
}

/** Every v1 kind by its name. */
export const V1_KINDS = {
  TFJob: v1Kind("TFJob", {
    specsKey: "tfReplicaSpecs",
    replicaTypes: ["Chief", "Evaluator", "Master", "PS", "Worker"],
    container: "tensorflow",
    port: { name: "tfjob-port", number: 2222 },
  }),
  PyTorchJob: v1Kind("PyTorchJob", {
    specsKey: "pytorchReplicaSpecs",
    replicaTypes: ["Master", "Worker"],
    container: "pytorch",
    port: { name: "pytorchjob-port", number: 23456 },
    restartPolicy: "OnFailure",
    scalable: true,
  }),
  XGBoostJob: v1Kind("XGBoostJob", {
    specsKey: "xgbReplicaSpecs",
    replicaTypes: ["Master", "Worker"],
    container: "xgboost",
    port: { name: "xgboostjob-port", number: 9999 },
  }),
  MXJob: v1Kind("MXJob", {
    specsKey: "mxReplicaSpecs",
    replicaTypes: ["Scheduler", "Server", "Worker", "TunerTracker", "TunerServer", "Tuner"],
    container: "mxnet",
    port: { name: "mxjob-port", number: 9091 },
  }),
  MPIJob: v1Kind("MPIJob", {
    specsKey: "mpiReplicaSpecs",
    replicaTypes: ["Launcher", "Worker"],
    container: "mpi",
  }),
  PaddleJob: v1Kind("PaddleJob", {
    specsKey: "paddleReplicaSpecs",
    replicaTypes: ["Master", "Worker"],
    container: "paddle",
    port: { name: "master", number: 36543 },
    restartPolicy: "OnFailure",
    scalable: true,
  }),
  JAXJob: v1Kind("JAXJob", {
    specsKey: "jaxReplicaSpecs",
    replicaTypes: ["Worker"],
    container: "jax",
    port: { name: "jaxjob-port", number: 6666 },
    scalable: true,
  }),
} as const satisfies Readonly<Record<V1KindName, V1Kind>>;

/** The v1 kinds in the order of the table. */
export const V1_KIND_LIST: readonly V1Kind[] = Object.values(V1_KINDS);

/** Returns the v1 kind that a kind of job is; undefined for any other, and for one that is left to another operator. */
export function v1KindOf(
  { group, kind, isForeign }: Pick<JobKind, "group" | "kind" | "isForeign">,
): V1Kind | undefined {
  const isV1 = group === V1_GROUP && !isForeign;
  return isV1 ? V1_KIND_LIST.find((it) => it.kind === kind) : undefined;
}

/** Name of the CustomResourceDefinition of a kind. */
export function v1CrdName({ plural }: Pick<V1Kind, "plural">): string {
  return `${plural}.${V1_GROUP}`;
}

/** Replica types whose names MXJob matches as they are written (v1.8.1, pkg/apis/kubeflow.org/v1/mxnet_defaults.go). */
const CASE_SENSITIVE: ReadonlySet<string> = new Set(["TunerTracker", "TunerServer", "Tuner"]);

/** Returns the replica type that a job means by a name, in any case; undefined if the kind has none. */
export function replicaTypeNamed(
  { replicaTypes }: Pick<V1Kind, "replicaTypes">,
  name: string,
): string | undefined {
  const lower = name.toLowerCase();
  return replicaTypes.find((type) =>
    type === name || (!CASE_SENSITIVE.has(type) && type.toLowerCase() === lower)
  );
}

/** Returns the label selector of the pods and Services of a kind. */
export function v1Selector({ operatorName }: Pick<V1Kind, "operatorName">): string {
  return `${V1_LABELS.jobName},${V1_LABELS.operatorName}=${operatorName}`;
}
