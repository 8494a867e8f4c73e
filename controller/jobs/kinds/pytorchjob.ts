/** PyTorchJob: variables of torch.distributed and torchrun, for a fixed or an elastic number of workers. */
import type { Container, EnvVar } from "../../../platform/kube/kubernetes.ts";
import type { ElasticPolicy } from "../../../crds/v1/job.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import type { KindRules, PodsByType, TypeVerdict } from "../kind_rules.ts";
import { type Replica, replicaName, replicasOf, type Run, totalReplicas } from "../run.ts";
import { portOf, rankAfterMasters, variables } from "./rendezvous.ts";
import { countsOf, masterDecides } from "./verdicts.ts";

const kind = V1_KINDS.PyTorchJob;

/** Where the master is, and which of all the replica is. */
function masterEnvironment(run: Run, { of, index }: Replica): EnvVar[] {
  const master = replicasOf(run, "Master");
  if (master === undefined) return [];
  const port = portOf(run, master);
  const address = replicaName(run, { of: master, index: 0 });
  const processes = /^\d+$/.test(run.spec.nprocPerNode ?? "") ? Number(run.spec.nprocPerNode) : 1;
  const rank = rankAfterMasters(run, of.type, index);
  return variables({
    MASTER_PORT: port,
    PET_MASTER_PORT: port,
    MASTER_ADDR: address,
    PET_MASTER_ADDR: address,
    WORLD_SIZE: totalReplicas(run) * processes,
    RANK: rank,
    PET_NODE_RANK: rank,
  });
}

/** Where elastic workers meet, and how many of them there may be. */
function elasticEnvironment(run: Run, policy: ElasticPolicy): EnvVar[] {
  const worker = replicasOf(run, "Worker");
  const host = policy.rdzvHost ?? `${run.name}-worker-0`;
  const port = policy.rdzvPort ?? portOf(run, worker);
  const configuration = (policy.rdzvConf ?? []).map(({ key, value }) => `${key}=${value}`).join();
  return variables({
    PET_RDZV_ENDPOINT: `${host}:${port}`,
    PET_RDZV_BACKEND: policy.rdzvBackend ?? "c10d",
    PET_NNODES: `${policy.minReplicas}:${policy.maxReplicas}`,
    ...(policy.maxRestarts !== undefined && { PET_MAX_RESTARTS: policy.maxRestarts }),
    ...(policy.nProcPerNode !== undefined && { PET_NPROC_PER_NODE: policy.nProcPerNode }),
    ...(policy.rdzvId !== undefined && { PET_RDZV_ID: policy.rdzvId }),
    ...(configuration !== "" && { PET_RDZV_CONF: configuration }),
    ...(policy.standalone === true && { PET_STANDALONE: "" }),
  });
}

function environment(run: Run, replica: Replica): EnvVar[] {
  const { nprocPerNode, elasticPolicy } = run.spec;
  return [
    ...variables({ PYTHONUNBUFFERED: 1 }),
    ...masterEnvironment(run, replica),
    ...(nprocPerNode === undefined ? [] : variables({ PET_NPROC_PER_NODE: nprocPerNode })),
    ...(elasticPolicy === undefined
      ? variables({ PET_NNODES: totalReplicas(run) })
      : elasticEnvironment(run, elasticPolicy)),
  ];
}

/**
 * A worker waits until its master's name is known, lest it gives up before the master is there. In `standalone` the
 * name is in the pod's file of hosts, which `nslookup` does not read.
 */
function initContainers(run: Run, { of }: Replica): Container[] {
  const master = replicasOf(run, "Master");
  if (master === undefined || of.type === "Master") return [];
  const { settings } = run;
  const name = replicaName(run, { of: master, index: 0 });
  const script =
    `tries=0; until nslookup ${name} || getent hosts ${name}; do tries=$((tries + 1)); [ "$tries" -ge ${settings.pytorchInitContainerMaxTries} ] && exit 1; ` +
    `echo "waiting for ${name}"; sleep 2; done`;
  return [{
    name: "init-pytorch",
    image: settings.pytorchInitContainerImage,
    imagePullPolicy: "IfNotPresent",
    resources: {
      limits: { cpu: "100m", memory: "20Mi" },
      requests: { cpu: "50m", memory: "10Mi" },
    },
    command: ["sh", "-c", script],
  }];
}

/** Without a master, one worker that has succeeded is enough if the job is elastic. */
function judge(run: Run, type: string, byType: PodsByType): TypeVerdict {
  const verdict = masterDecides(run, type, byType);
  const speaks = type === "Worker" && replicasOf(run, "Master") === undefined;
  if (!speaks || run.spec.elasticPolicy === undefined) return verdict;
  return { ...verdict, succeeded: verdict.succeeded || countsOf(byType, type).succeeded > 0 };
}

export const pyTorchJob: KindRules = {
  kind,
  environment,
  initContainers,
  isMaster: (run, { of, index }) =>
    replicasOf(run, "Master") === undefined
      ? of.type === "Worker" && index === 0
      : of.type === "Master",
  judge,
  namesNamespace: (run) => replicasOf(run, "Master") === undefined,
};
