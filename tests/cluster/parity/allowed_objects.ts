/** Differences from upstream's Trainer that stay, in the objects that are made. */
import { compareQuantities, parseQuantity } from "../../../platform/base/quantity.ts";
import type { Allowed } from "./compare.ts";

/** What Go leaves out although it was written, or writes although it was not. */
function isZero(value: unknown): boolean {
  return value === undefined || value === "" || value === 0 || value === false ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function withoutZeros(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => isZero(inner) ? undefined : inner) ?? "";
}

/** Reports whether two texts, or numbers, are one quantity. */
function sameAmount(upstream: unknown, milepost: unknown): boolean {
  const [one, other] = [parseQuantity(String(upstream)), parseQuantity(String(milepost))];
  return one !== undefined && other !== undefined && compareQuantities(one, other) === 0;
}

export const ALLOWED_OBJECTS: readonly Allowed[] = [
  {
    id: "own-variables",
    why:
      "a TrainJob without `spec.trainer` gets the variables of its policy and their port too (G4)",
    path: /containers\[node\]\/(env\[(PET|JAX|DMLC)_\w+\]|ports\[29500\])$/,
    when: ({ upstream }) => upstream === undefined,
  },
  {
    id: "master-address",
    why: "the master's address respects a custom subdomain and the name of the trainer's job (G5)",
    cases: ["torch", "jax", "xgboost"].flatMap((policy) => [
      `${policy} with a custom subdomain`,
      `${policy} with a trainer job of another name`,
    ]).concat(
      "GPUs of a job that is not the trainer, before it",
      "torchtune with a custom subdomain and a job of another name",
    ),
    path: /(env\[(PET_MASTER_ADDR|JAX_COORDINATOR_ADDRESS|DMLC_TRACKER_URI)\]\/value|\/command)$/,
  },
  {
    id: "unnamed-port",
    why: "the port of a policy does not replace another unnamed port (G6)",
    cases: [
      "torch with an unnamed port of another number",
      "xgboost with an unnamed port of another number",
    ],
    path: /ports\[8080\]$/,
  },
  {
    id: "several-ports",
    why:
      "a container gets all its unnamed ports, and one number for two protocols; upstream makes one port twice, and then nothing (G6)",
    cases: [
      "two unnamed ports of a container",
      "torch with two unnamed ports of the runtime",
      "torch with one port of both protocols",
      "jax with two unnamed ports of the runtime",
    ],
    path: /^\/(trainJobs\/tj\/status|jobSets|events)/,
  },
  {
    id: "resources-without-policy",
    why: "`resourcesPerNode` is applied also where the runtime has no `mlPolicy` (G7)",
    cases: ["resources without an mlPolicy", "a gang without an mlPolicy"],
    path: /(containers\[node\]\/resources|\/spec\/minResources)(\/|$)/,
  },
  {
    id: "processes-of-the-merged",
    why: "processes per node follow from what the container has after the merge (G8)",
    cases: [
      "GPUs of the runtime, memory of the TrainJob",
      "GPUs of the runtime, CPUs of the TrainJob",
      "xgboost with GPUs of the runtime, CPUs of the TrainJob",
      "mpi with GPUs of the runtime, CPUs of the TrainJob",
      "GPUs of a job that is not the trainer, before it",
    ],
    path:
      /(env\[(PET_NPROC_PER_NODE|DMLC_NUM_WORKER|OMPI_MCA_orte_set_default_slots)\]\/value|\/hostfile)$/,
  },
  {
    id: "order-of-variables",
    why: "variables of xgboost precede those of the TrainJob; upstream's order varies",
    path: /^\/jobSets\/.*containers\[node\]\/env\[order\]$/,
    when: ({ upstream }) => String(upstream).includes("DMLC_"),
    byChance: true,
  },
  {
    id: "empty-image",
    why: "an empty image of the trainer changes nothing; upstream's pods cannot be created then",
    cases: ["an empty image"],
    path: /(status\/jobsStatus\[node\]|containers\[node\]\/image)$/,
  },
  {
    id: "claims",
    why: "claims of resources are kept and merge by name; upstream loses them",
    cases: ["claims merge by name"],
    path: /containers\[node\]\/resources$/,
  },
  {
    id: "field-api-version",
    why: "`fieldRef.apiVersion` and `fileKeyRef` of a variable are kept; upstream loses them",
    cases: ["a field reference with its API version", "a variable from a file"],
    path: /(fieldRef\/apiVersion|fileKeyRef)$/,
  },
  {
    id: "zero-values",
    why:
      "zeros, empty texts and empty lists are stored as they were written; Go leaves them out, or writes them where nothing was",
    path: /^\/(trainJobs\/tj\/spec|jobSets|configMaps)\//,
    when: ({ upstream, milepost }) => withoutZeros(upstream) === withoutZeros(milepost),
  },
  {
    id: "written-amounts",
    why: "the snapshot has amounts as the runtime has them; Go writes them anew",
    path: /^\/configMaps\/tj-runtime-snapshot\/.*\/(requests|limits)\/.+$/,
    when: ({ upstream, milepost }) => sameAmount(upstream, milepost),
  },
  {
    id: "patch-variables",
    why:
      "a variable of a patch replaces the runtime's as a whole; upstream merges the two, so that a value joins a reference, and an empty value changes nothing",
    cases: [
      "a value in a patch where the runtime has a reference",
      "a reference in a patch where the runtime has a value",
      "a reference in a patch where the runtime has another",
      "an empty value in a patch",
      "a variable without a value in a patch",
    ],
    path: /(status\/jobsStatus\[\w+\]|containers\[log\]\/env\[\w\]\/.*)$/,
  },
  {
    id: "patch-false",
    why: "`false` in a patch takes effect where the runtime says `true`; Go leaves it out",
    cases: ["a mount in a patch that may be written"],
    path: /volumeMounts\[\/a\]\/readOnly$/,
  },
  {
    id: "flux-scripts",
    why: "the scripts of flux are Milepost's own; they do the same",
    path: /^\/configMaps\/tj-flux-entrypoint\/data\/(entrypoint|init)\.sh$/,
  },
  {
    id: "flux-memory",
    why: "the shared memory of a flux node can be written; upstream mounts it for reading only",
    path: /containers\[node\]\/volumeMounts\[\/dev\/shm\]\/readOnly$/,
  },
  {
    id: "flux-words",
    why:
      "words of a flux program that a shell would split are quoted; upstream loses where they end",
    cases: ["flux with words that a shell would split"],
    path: /containers\[node\]\/command$/,
  },
  {
    id: "flux-numbers",
    why:
      "a flux job without `spec.trainer` or `numNodes` takes the runtime's numbers; upstream panics, and makes nothing (G2)",
    cases: [
      "a bare TrainJob on a flux runtime",
      "flux with numNodes of the policy alone",
      "upstream's flux-distributed: an empty trainer",
    ],
    path: /^\/(outcome|trainJobs\/tj\/status|jobSets|configMaps|secrets)/,
  },
  {
    id: "flux-trainer",
    why: "flux equips the trainer's job, whatever its name is; upstream only a job `node` (G5)",
    cases: ["flux with a trainer job of another name"],
    path: /^\/jobSets\/tj\/spec\/replicatedJobs\[brokers\]/,
  },
  {
    id: "flux-empty-setting",
    why: "an empty setting of flux is none; upstream's init container has no image then",
    cases: ["flux with an empty setting"],
    path: /(status\/jobsStatus\[node\]|initContainers\[flux-installer\]\/image)$/,
  },
  {
    id: "mpi-launcher",
    why: "`mlPolicy.numNodes` counts the nodes of mpi, and there is one launcher (G9)",
    cases: ["mpi with numNodes of the policy"],
    path:
      /^\/(jobSets\/tj\/spec\/replicatedJobs\[\w+\]\/template\/spec\/(completions|parallelism)|configMaps\/tj-mpi-hostfile\/data\/hostfile)$/,
  },
  {
    id: "mpi-image",
    why:
      "an image of the trainer replaces that of the nodes of mpi too, if the launcher is a node and has the same (G9)",
    cases: ["mpi with an image of the trainer"],
    path: /replicatedJobs\[node\].*containers\[node\]\/image$/,
  },
  {
    id: "mpi-prrte",
    why: "the launcher of Open MPI has the variables of version 5 too, unless it sets them itself",
    path: /replicatedJobs\[launcher\].*containers\[node\]\/env\[PRTE_MCA_\w+\]$/,
    when: ({ upstream }) => upstream === undefined,
  },
  {
    id: "gang-turns",
    why: "members of a gang that `dependsOn` holds back count when it is their turn (G10)",
    cases: [
      "a gang behind an initializer",
      "a gang of Volcano behind an initializer",
      "a gang with a launcher that waits for its nodes",
    ],
    path: /^\/(coscheduling|volcano)Groups\/tj\/spec\/min(Member|Resources)/,
  },
  {
    id: "gang-limits",
    why: "a limit counts as the request of a gang's pod, as the API server makes it one (G10)",
    cases: ["a gang with GPUs as limits alone", "jax in a gang, suspended"],
    path: /^\/(coscheduling|volcano)Groups\/tj\/spec\/minResources/,
  },
  {
    id: "gang-replicas",
    why: "every replica of a replicated job counts in a gang (G10)",
    cases: ["a gang with replicas"],
    path: /^\/coschedulingGroups\/tj\/spec\/min(Member|Resources)/,
  },
  {
    id: "gang-of-nobody",
    why:
      "a gang of no nodes has a pod group of one, because the API server refuses upstream's of none, and then nothing is made",
    cases: ["a gang of no nodes"],
    path: /^\/(trainJobs\/tj\/status|jobSets|coschedulingGroups|configMaps|events)/,
  },
];
