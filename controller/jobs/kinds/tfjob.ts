/** TFJob: TensorFlow's parameter servers and workers, which find each other by `TF_CONFIG`. */
import type { EnvVar } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules, PodsByType, TypeVerdict } from "../kind_rules.ts";
import { variableBytes } from "../../job_bounds.ts";
import {
  type Replica,
  replicaName,
  type Replicas,
  replicasOf,
  type Run,
  totalReplicas,
} from "../run.ts";
import { namesOf, portOf } from "./rendezvous.ts";
import { countsOf, decides, failsOnly } from "./verdicts.ts";

const kind = V1_KINDS.TFJob;
const CONFIG = "TF_CONFIG";
const SUCCEEDS_WITH_ALL = "AllWorkers";

const keyOf = ({ type }: Replicas) => type.toLowerCase();

/** Returns the addresses of a type's replicas by their names. */
function addresses(run: Run, of: Replicas): (name: string) => string {
  const port = portOf(run, of);
  const { customClusterDomain } = run.settings;
  const domain = customClusterDomain === "" ? "" : `.${customClusterDomain}`;
  return (name) => `${name}.${run.namespace}.svc${domain}:${port}`;
}

/** The addresses of a type's replicas. */
const endpointsOf = (run: Run, of: Replicas) => [...namesOf(run, of).map(addresses(run, of))];

/** Every replica knows every other. */
function denseConfig(run: Run, { of, index }: Replica) {
  const types = [...run.replicas].sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1);
  return {
    cluster: Object.fromEntries(types.map((it) => [keyOf(it), endpointsOf(run, it)])),
    task: { type: keyOf(of), index },
    environment: "cloud",
  };
}

/** A worker knows itself and the parameter servers, so that others come and go. */
function sparseConfig(run: Run, { of, index }: Replica) {
  const servers = replicasOf(run, "PS");
  const own = addresses(run, of)(replicaName(run, { of, index }));
  const cluster = {
    Worker: { worker: { [index]: own }, ps: servers ? endpointsOf(run, servers) : null },
    PS: { worker: {}, ps: [own] },
  }[of.type] ?? { worker: {}, ps: [] };
  return { cluster, task: { type: keyOf(of), index } };
}

/** A job of one replica is local: it has nobody to find. */
function environment(run: Run, replica: Replica): EnvVar[] {
  if (totalReplicas(run) === 1) return [];
  const config = isSparse(run) ? sparseConfig(run, replica) : denseConfig(run, replica);
  return [{ name: CONFIG, value: JSON.stringify(config) }];
}

/** Whether workers come and go, so that each knows only itself and the servers. */
const isSparse = ({ spec }: Run) => spec.enableDynamicWorker === true;

/** The variable without its addresses, then each of these as JSON has it. */
function* configPieces(run: Run): Generator<string> {
  const cluster = Object.fromEntries(run.replicas.map((of) => [keyOf(of), []]));
  const task = { type: "evaluator", index: Number.MAX_SAFE_INTEGER };
  yield JSON.stringify({ cluster, task, environment: "cloud" });
  for (const of of run.replicas) {
    const isAlone = isSparse(run) && of.type !== "PS";
    const names = isAlone ? [replicaName(run, { of, index: of.count })] : namesOf(run, of);
    const addressOf = addresses(run, of);
    for (const name of names) yield `"${addressOf(name)}",`;
  }
}

/** The type that speaks for the job if it has one, instead of the workers. */
function chiefOf(run: Run): Replicas | undefined {
  return replicasOf(run, "Chief") ?? replicasOf(run, "Master");
}

/** The first worker has ended well. */
function firstSucceeded(byType: PodsByType): boolean {
  const pod = byType.pod("Worker", 0);
  const state = pod?.status?.containerStatuses?.find(({ name }) => name === kind.container)?.state;
  return pod?.status?.phase === "Succeeded" && (state?.terminated?.exitCode ?? 0) === 0;
}

function judgeWorkers(run: Run, byType: PodsByType): TypeVerdict {
  const all = decides(run, "Worker", byType);
  const anyWillDo = run.spec.successPolicy !== SUCCEEDS_WITH_ALL;
  return { ...all, succeeded: all.succeeded || (anyWillDo && firstSucceeded(byType)) };
}

function judge(run: Run, type: string, byType: PodsByType): TypeVerdict {
  const chief = chiefOf(run);
  const forgives = type === "Worker" && isSparse(run);
  const failed = !forgives && countsOf(byType, type).permanent > 0;
  if (type === chief?.type) return { ...decides(run, type, byType), failed };
  if (type === "Worker" && chief === undefined) return { ...judgeWorkers(run, byType), failed };
  return { ...failsOnly(byType, type), failed };
}

export const tfJob: KindRules = {
  kind,
  environment,
  onlyTrainingContainer: true,
  podLists: (run) => [{
    name: CONFIG,
    pieces: configPieces(run),
    maxBytes: variableBytes(CONFIG, 1),
  }],
  isMaster: (run, { of, index }) =>
    chiefOf(run) === undefined
      ? of.type === "Worker" && index === 0
      : of.type === "Chief" || of.type === "Master",
  judge,
  namesNamespace: () => true,
};
