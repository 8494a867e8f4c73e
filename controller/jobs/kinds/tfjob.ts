/** TFJob: TensorFlow's parameter servers and workers, which find each other by `TF_CONFIG`. */
import type { EnvVar } from "../../../crds/kubernetes.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules, Standing, TypeVerdict } from "../kind_rules.ts";
import { type Replica, type Replicas, replicasOf, type Run, totalReplicas } from "../run.ts";
import { namesOf, portOf } from "./rendezvous.ts";
import { countsOf, decides, failsOnly } from "./verdicts.ts";

const kind = V1_KINDS.TFJob;
const SUCCEEDS_WITH_ALL = "AllWorkers";

const keyOf = ({ type }: Replicas) => type.toLowerCase();

/** The addresses of a type's replicas. */
function endpointsOf(run: Run, of: Replicas): string[] {
  const port = portOf(run, of);
  const { customClusterDomain } = run.settings;
  const domain = customClusterDomain === "" ? "" : `.${customClusterDomain}`;
  return namesOf(run, of).map((name) => `${name}.${run.namespace}.svc${domain}:${port}`);
}

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
  const own = endpointsOf(run, of)[index] ?? "";
  const cluster = {
    Worker: { worker: { [index]: own }, ps: servers ? endpointsOf(run, servers) : null },
    PS: { worker: {}, ps: [own] },
  }[of.type] ?? { worker: {}, ps: [] };
  return { cluster, task: { type: keyOf(of), index } };
}

/** A job of one replica is local: it has nobody to find. */
function environment(run: Run, replica: Replica): EnvVar[] {
  if (totalReplicas(run) === 1) return [];
  const config = run.spec.enableDynamicWorker === true
    ? sparseConfig(run, replica)
    : denseConfig(run, replica);
  return [{ name: "TF_CONFIG", value: JSON.stringify(config) }];
}

/** The type that speaks for the job if it has one, instead of the workers. */
function chiefOf(run: Run): Replicas | undefined {
  return replicasOf(run, "Chief") ?? replicasOf(run, "Master");
}

/** The first worker has ended well. */
function firstSucceeded(standing: Standing): boolean {
  const pod = standing.pod("Worker", 0);
  const state = pod?.status?.containerStatuses?.find(({ name }) => name === kind.container)?.state;
  return pod?.status?.phase === "Succeeded" && (state?.terminated?.exitCode ?? 0) === 0;
}

function judgeWorkers(run: Run, standing: Standing): TypeVerdict {
  const all = decides(run, "Worker", standing);
  const anyWillDo = run.spec.successPolicy !== SUCCEEDS_WITH_ALL;
  return { ...all, succeeded: all.succeeded || (anyWillDo && firstSucceeded(standing)) };
}

function judge(run: Run, type: string, standing: Standing): TypeVerdict {
  const chief = chiefOf(run);
  const forgives = type === "Worker" && run.spec.enableDynamicWorker === true;
  const failed = !forgives && countsOf(standing, type).permanent > 0;
  if (type === chief?.type) return { ...decides(run, type, standing), failed };
  if (type === "Worker" && chief === undefined) return { ...judgeWorkers(run, standing), failed };
  return { ...failsOnly(standing, type), failed };
}

export const tfJob: KindRules = {
  kind,
  environment,
  onlyTrainingContainer: true,
  isMaster: (run, { of, index }) =>
    chiefOf(run) === undefined
      ? of.type === "Worker" && index === 0
      : of.type === "Chief" || of.type === "Master",
  judge,
  namesNamespace: () => true,
};
