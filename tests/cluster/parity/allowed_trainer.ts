/** Differences from upstream's Trainer that stay: `docs/internals/parity.md` says the same, row by row. */
import type { Allowed } from "./compare.ts";
import type { Difference } from "./differences.ts";

const MESSAGE = /^\/answers\/\d+\/message$/;
const ANSWER = /^\/answers\/\d+\/(result|message)$/;

/** A message without the value that it shows. */
function withoutValue(text: unknown): string {
  return String(text).replace(
    /Invalid value: .*?(?=: must|: QLoRA|: a lowercase)/g,
    "Invalid value",
  );
}

const sameButValue = ({ upstream, milepost }: Difference) =>
  withoutValue(upstream) === withoutValue(milepost);

/** What Go leaves out although it was written, or writes although it was not. */
function isZero(value: unknown): boolean {
  return value === undefined || value === "" || value === 0 || value === false ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function withoutZeros(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => isZero(inner) ? undefined : inner) ?? "";
}

/** Every entry must happen, and nothing else may. */
export const ALLOWED_TRAINER: readonly Allowed[] = [
  {
    id: "state",
    why: "`status.state` is a field of Milepost's own, which the column STATE shows",
    path: /^\/trainJobs\/tj\/status\/state$/,
  },
  {
    id: "suspended-goes",
    why:
      "the condition Suspended is removed when a TrainJob resumes: the SDK reads any condition as not running (G19)",
    path: /^\/trainJobs\/tj\/status\/conditions\[Suspended\]$/,
    when: ({ milepost }) => milepost === undefined,
  },
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
    ]),
    path: /env\[(PET_MASTER_ADDR|JAX_COORDINATOR_ADDRESS|DMLC_TRACKER_URI)\]\/value$/,
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
    id: "resources-without-policy",
    why: "`resourcesPerNode` is applied also where the runtime has no `mlPolicy` (G7)",
    cases: ["resources without an mlPolicy"],
    path: /containers\[node\]\/resources$/,
  },
  {
    id: "processes-of-the-merged",
    why: "processes per node follow from what the container has after the merge (G8)",
    cases: [
      "GPUs of the runtime, memory of the TrainJob",
      "GPUs of the runtime, CPUs of the TrainJob",
      "xgboost with GPUs of the runtime, CPUs of the TrainJob",
    ],
    path: /env\[(PET_NPROC_PER_NODE|DMLC_NUM_WORKER)\]\/value$/,
  },
  {
    id: "order-of-variables",
    why: "variables of xgboost precede those of the TrainJob; upstream's order varies",
    path: /^\/jobSets\/.*containers\[node\]\/env\[order\]$/,
    when: ({ upstream }) => String(upstream).includes("DMLC_"),
    byChance: true,
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
    id: "flux-nodes",
    why: "a flux job without nodes is refused: its lead broker runs in node 0",
    cases: ["flux with numNodes 0"],
    path: ANSWER,
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
    id: "mpi-nodes",
    why: "mpi without nodes to run on, or without an implementation, is refused",
    cases: [
      "mpi with numNodes 0",
      "mpi with a launcher apart and no job of nodes",
      "mpi without an implementation",
    ],
    path: ANSWER,
  },
  {
    id: "mpi-implementations",
    why: "MPICH and Intel MPI are allowed beside OpenMPI",
    cases: [
      "mpi of an implementation that upstream does not have",
      "mpi of an unknown implementation",
    ],
    path: ANSWER,
  },
  {
    id: "mpi-prrte",
    why: "the launcher of Open MPI has the variables of version 5 too, unless it sets them itself",
    path: /replicatedJobs\[launcher\].*containers\[node\]\/env\[PRTE_MCA_\w+\]$/,
    when: ({ upstream }) => upstream === undefined,
  },
  {
    id: "claims",
    why: "claims of resources are kept and merge by name; upstream loses them",
    cases: ["claims merge by name"],
    path: /containers\[node\]\/resources$/,
  },
  {
    id: "field-api-version",
    why: "`fieldRef.apiVersion` of a variable is kept; upstream loses it",
    cases: ["a field reference with its API version"],
    path: /fieldRef\/apiVersion$/,
  },
  {
    id: "zero-values",
    why:
      "zeros, empty texts and empty lists are stored as they were written; Go leaves them out, or writes them where nothing was",
    cases: [
      "a variable without a value",
      "a resource reference with a divisor",
      "an empty command and empty args replace the runtime's",
      "a coordinator",
      "a volume claim policy",
      "security, priority and the rest of a pod",
    ],
    path: /^\/(jobSets|configMaps)\//,
    when: ({ upstream, milepost }) => withoutZeros(upstream) === withoutZeros(milepost),
  },
  {
    id: "no-trainer",
    why:
      "a TrainJob that configures a step which its runtime does not have is refused; upstream drops what it says",
    cases: ["a runtime without a trainer step"],
    path: ANSWER,
  },
  {
    id: "patch-targets",
    why:
      "a patch for an unknown job or container, or one that makes a volume invalid, is refused at once (G25)",
    cases: [
      "a job that the runtime does not have",
      "a container that the runtime does not have",
      "an init container that the runtime does not have",
      "a volume patched with another source",
    ],
    path: ANSWER,
  },
  {
    id: "patch-metadata",
    why:
      "patches may not touch metadata without effect, nor the labels that identify pods, Jobs and steps",
    cases: ["other metadata of a Job", "a label that JobSet owns", "the label of a step"],
    path: ANSWER,
  },
  {
    id: "mounts-by-path",
    why:
      "mounts of a patch are distinguished by their path, so a volume can be mounted twice (G15)",
    cases: ["a mount of another volume at the same name"],
    path: ANSWER,
  },
  {
    id: "shown-values",
    why:
      "a refusal shows the name that is wrong, not the whole object around it; of variables it shows no values",
    cases: [
      "reserved variables in trainer.env",
      "one reserved variable among others",
      "mpi with reserved variables",
      "env of the trainer's container",
      "jax with env of the trainer in a patch",
      "a manager with a malformed domain",
      "a trainer without its container",
      "an initializer without its container in a cluster runtime",
    ],
    path: MESSAGE,
    when: sameButValue,
  },
  {
    id: "one-problem",
    why: "of torchtune's problems with QLoRA only the one to correct is reported",
    cases: ["torchtune with QLoRA on two GPUs", "torchtune with QLoRA and two processes"],
    path: MESSAGE,
  },
  {
    id: "unknown-kind",
    why: "the refusal of an unknown kind of runtime names the field",
    cases: ["a runtime of an unknown kind", "a runtime of another group"],
    path: MESSAGE,
    when: ({ upstream, milepost }) =>
      String(milepost).endsWith(String(upstream).split("denied the request: ")[1] ?? "?"),
  },
  {
    id: "bounds-of-numbers",
    why:
      "`numNodes` below 0 and `numProcPerNode` below 1 are refused by the schema, as upstream's next version does",
    cases: ["numNodes below 0", "numProcPerNode below 1", "mpi with no processes"],
    path: ANSWER,
  },
  {
    id: "wrong-types",
    why:
      "a value of a wrong type gets 422 with its field; upstream's webhook answers 400 with Go's words",
    cases: ["numNodes that is no number", "numProcPerNode auto"],
    path: ANSWER,
  },
  {
    id: "name-lengths",
    why: "a name that is too long for its pods is refused, with the length that fits (G13)",
    cases: ["a name too long for its pods"],
    path: ANSWER,
  },
  {
    id: "template-required",
    why: "a runtime without a template is refused; nothing could be made of it",
    cases: ["a runtime without a template", "a runtime without a spec"],
    path: ANSWER,
  },
  {
    id: "own-words",
    why:
      "the refusal of variables for the trainer's own container is in our words after its beginning",
    cases: ["env injected into the trainer's own container"],
    path: MESSAGE,
  },
  {
    id: "frozen",
    why: "optional immutable fields can neither be added nor removed (G3)",
    cases: ["a trainer is added", "a trainer is removed", "a deadline is added"],
    path: ANSWER,
  },
  {
    id: "runtime-updates",
    why: "an update of a TrainingRuntime is validated like its creation (G18)",
    cases: ["a runtime becomes one that is not valid"],
    path: ANSWER,
  },
  {
    id: "runtime-deleted",
    why: "a TrainJob whose runtime was deleted can be resumed (G11)",
    cases: ["the runtime is deleted while a TrainJob is suspended"],
    path: ANSWER,
  },
  {
    id: "failed-is-final",
    why: "a TrainJob that failed is not run again when its JobSet is deleted (G24)",
    cases: ["nothing is made again for a TrainJob that failed"],
    path: /^\/(trainJobs\/tj\/status|jobSets\/tj)/,
  },
  {
    id: "foreign-jobset",
    why:
      "a JobSet of the same name that is not the TrainJob's is neither taken nor mirrored; condition and event tell (G12)",
    cases: ["a running JobSet of the same name that is not the TrainJob's"],
    path: /^\/(trainJobs\/tj\/status|configMaps|events)/,
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
    cases: ["a gang with GPUs as limits alone"],
    path: /^\/coschedulingGroups\/tj\/spec\/minResources/,
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
  {
    id: "foreign-pod-group",
    why: "a pod group of that name that is not the TrainJob's is refused; upstream's pods join it",
    cases: ["a pod group of that name that is nobody's"],
    path: /^\/(trainJobs\/tj\/status|jobSets|configMaps|events)/,
  },
  {
    id: "written-amounts",
    why: "the snapshot has amounts as the runtime has them; Go writes them anew",
    cases: ["a gang whose amounts are written in other ways"],
    path: /^\/configMaps\/tj-runtime-snapshot\/.*\/requests\/cpu$/,
  },
  {
    id: "frozen-jobset",
    why:
      "a change that a paused JobSet cannot take is reported by a condition, too, which says what to do (G14)",
    cases: ["a suspended TrainJob is given what its JobSet does not take"],
    path: /^\/(trainJobs\/tj\/status\/conditions\[ResourcesCreated\]|events)/,
  },
  {
    id: "deadline-counters",
    why:
      "after a deadline the counters follow the pods; upstream's freeze, or vanish, by chance (G26)",
    cases: ["a deadline passes", "a deadline begins when the job resumes"],
    path: /^\/trainJobs\/tj\/status\/jobsStatus/,
    byChance: true,
  },
  {
    id: "recreated-counters",
    why:
      "when a JobSet was deleted by hand, the counters follow the new one; upstream's were sometimes missing",
    cases: ["a JobSet that was deleted is made again"],
    path: /^\/trainJobs\/tj\/status\/jobsStatus/,
    byChance: true,
  },
  {
    id: "job-events",
    why: "events say what happened to a TrainJob, where upstream's has none",
    path:
      /^\/events\/(Normal (JobSetCreated|Running|Suspended|Resumed|Completed)|Warning Failed) about .+$/,
    when: ({ upstream }) => upstream === undefined,
  },
];
