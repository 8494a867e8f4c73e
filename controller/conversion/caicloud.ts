/** Conversion of the TFJob of 2018: its arguments tell each program the cluster, as its controller's did. Pure. */
import {
  CAICLOUD_LABELS,
  type CaicloudReplicaSpec,
  type CaicloudTfJob,
} from "../../crds/caicloud_tfjob.ts";
import type { PodTemplateSpec } from "../../platform/kube/kubernetes.ts";
import { NODE } from "../../crds/names.ts";
import { TENSORFLOW_ENV, TENSORFLOW_PORT } from "../../crds/policy_names.ts";
import { V1_KINDS, type V1Kind } from "../../crds/v1/kinds.ts";
import { DEFAULT_V1_SETTINGS } from "../jobs/v1_settings.ts";
import { type Replicas, replicasOf, type Run } from "../jobs/run.ts";
import { podProblem } from "../jobs/size.ts";
import { assembled, refusalTexts } from "./assembly.ts";
import type { Conversion, Nodes } from "./conversion.ts";
import { nodeHost, type NodeNames, templateRefusals } from "./pod_texts.ts";
import { replicatedJob, UNLIMITED } from "./replicated_job.ts";

/** The first container trains, whatever its name is: none has that of the kind. */
const KIND: V1Kind = { ...V1_KINDS.TFJob, specsKey: "tfReplicaSpec", container: "" };

const pathOf = (type: string) => `spec.${KIND.specsKey}[${type}]`;
const restartPolicyOf = ({ template }: CaicloudReplicaSpec) => template?.spec?.restartPolicy;
/** What a pod without a policy has. */
const isAlways = (policy: string | undefined) => policy === undefined || policy === "Always";

/** The template without what the controller wrote into it. */
function templateOf({ template = {} }: CaicloudReplicaSpec): PodTemplateSpec {
  const { metadata, spec } = template;
  const labels = Object.entries(metadata?.labels ?? {})
    .filter(([key]) => !CAICLOUD_LABELS.includes(key));
  const { labels: _, ...others } = metadata ?? {};
  const kept = { ...others, ...labels.length > 0 ? { labels: Object.fromEntries(labels) } : {} };
  return { ...Object.keys(kept).length > 0 ? { metadata: kept } : {}, ...spec && { spec } };
}

/** The job as the engine of the v1 kinds would read it. */
function runOf({ metadata }: CaicloudTfJob, specs: readonly CaicloudReplicaSpec[]): Run {
  const { namespace = "", name = "", uid = "", annotations = {} } = metadata;
  const replicas = specs.map((spec): Replicas => ({
    type: spec.tfReplicaType,
    count: spec.replicas ?? 1,
    restartPolicy: restartPolicyOf(spec) === "Never" ? "Never" : "OnFailure",
    template: templateOf(spec),
  }));
  return {
    kind: KIND,
    namespace,
    name,
    uid,
    annotations,
    replicas,
    tooLarge: podProblem(KIND, replicas, DEFAULT_V1_SETTINGS.maxPodsPerJob),
    cleanPodPolicy: "None",
    suspended: false,
    spec: {},
    settings: DEFAULT_V1_SETTINGS,
    status: {},
    restart: undefined,
  };
}

/** The types: one Local, or workers and parameter servers; the controller could run nothing else. */
function typeRefusals(specs: readonly CaicloudReplicaSpec[]): string[] {
  const types = specs.map(({ tfReplicaType }) => tfReplicaType);
  const twice = types.filter((type, index) => types.indexOf(type) !== index);
  if (twice.length > 0) return [...new Set(twice)].map((it) => `${pathOf(it)}: is there twice`);
  const isLocal = types.length === 1 && types[0] === "Local";
  const isDistributed = types.length === 2 && types.includes("PS") && types.includes("Worker");
  return isLocal || isDistributed
    ? []
    : [`spec.${KIND.specsKey}: must be a Local alone, or a PS and a Worker`];
}

/** What Kubernetes would not run, and what ran differently from what it says. */
function replicaRefusals(spec: CaicloudReplicaSpec): string[] {
  const { tfReplicaType: type, replicas = 1, template } = spec;
  const path = pathOf(type);
  const containers = template?.spec?.containers ?? [];
  const policy = restartPolicyOf(spec);
  const isKnown = isAlways(policy) || policy === "OnFailure" || policy === "Never";
  return [
    ...replicas < 1 ? [`${path}.replicas: must be at least 1`] : [],
    ...type === "Local" && replicas > 1
      ? [`${path}.replicas: a Local job had one replica, whatever it said`]
      : [],
    ...containers.length === 0 ? [`${path}.template.spec.containers: must be specified`] : [],
    ...containers.flatMap(({ image }, index) =>
      image ? [] : [`${path}.template.spec.containers[${index}].image: must be required`]
    ),
    ...(type === "Local" ? [] : containers[0]?.env ?? [])
      .filter(({ name }) => Object.values<string>(TENSORFLOW_ENV).includes(name))
      .map(({ name }) =>
        `${path}.template.spec.containers[0].env: ${name} is set by the policy tensorflow`
      ),
    ...isKnown ? [] : [`${path}.template.spec.restartPolicy: ${policy} is none of a pod`],
    ...isAlways(policy) && type !== "PS"
      ? [
        `${path}.template.spec.restartPolicy: Always, which it is if nothing is said, starts a replica again also after it has succeeded; ` +
        "a Job cannot, use OnFailure",
      ]
      : [],
  ];
}

/** The arguments that the controller gave to every program of a type, instead of its own. */
function argumentsOf(run: Run, { type }: Replicas): string[] {
  const hosts = (of: string, job: string) =>
    Array.from(
      { length: replicasOf(run, of)?.count ?? 0 },
      (_, index) => `${nodeHost(run, { job, index })}:${TENSORFLOW_PORT}`,
    ).join(",");
  return [
    `--worker_hosts=${hosts("Worker", NODE)}`,
    `--ps_hosts=${hosts("PS", "ps")}`,
    `--job_name=${type.toLowerCase()}`,
    `--task_index=$(${TENSORFLOW_ENV.taskIndex})`,
  ];
}

function withArguments(template: PodTemplateSpec, args: readonly string[]): PodTemplateSpec {
  const { spec } = template;
  if (spec === undefined) return template;
  const [first, ...others] = spec.containers;
  if (first === undefined) return template;
  return { ...template, spec: { ...spec, containers: [{ ...first, args: [...args] }, ...others] } };
}

/** A pod that fails is made again, also one that is never restarted. */
const AGAIN = { backoffLimit: UNLIMITED };

/** Names of the former pods and Services, of which half was random: no template can write them out. */
const NO_NAMES: NodeNames = new Map();

function localNodes(run: Run, local: Replicas): Nodes {
  const parts = { name: NODE, isTrainer: true, variables: () => [], names: NO_NAMES, job: AGAIN };
  return {
    mlPolicy: { numNodes: 1 },
    replicatedJobs: [replicatedJob(run, local, parts)],
    numNodes: 1,
    notes: [],
  };
}

/** Arguments that the controller itself had written into a job that was read from a cluster. */
const GENERATED = /^--(?:worker_hosts|ps_hosts|job_name|task_index)=/;

function distributedNodes(run: Run): Nodes {
  const numNodes = replicasOf(run, "Worker")?.count ?? 1;
  const own = run.replicas.filter(({ template }) =>
    template.spec?.containers[0]?.args?.some((it) => !GENERATED.test(it))
  );
  return {
    mlPolicy: { numNodes, tensorflow: {} },
    replicatedJobs: run.replicas.map((of) =>
      replicatedJob(run, { ...of, template: withArguments(of.template, argumentsOf(run, of)) }, {
        name: of.type === "Worker" ? NODE : "ps",
        isTrainer: of.type === "Worker",
        variables: () => [],
        names: NO_NAMES,
        job: AGAIN,
      })
    ),
    successOf: [NODE],
    numNodes,
    notes: [
      `The arguments name the nodes of the TrainJob ${run.name}, and count them: the runtime is only for this TrainJob.`,
      ...own.map(({ type }) =>
        `The arguments of ${type} are left out: its program never got them, but those that tell the cluster.`
      ),
      "TF_CONFIG tells the same cluster; there was none before.",
      "Parameter servers end with the job; before they went on.",
      "mlPolicy.tensorflow needs Milepost's definitions of runtimes.",
    ],
  };
}

/** What no field of a TrainJob says. */
function notesOf({ spec }: CaicloudTfJob, specs: readonly CaicloudReplicaSpec[]): string[] {
  const unread = (["dataDir", "modelDir", "logDir", "exportDir"] as const).filter((it) => spec[it]);
  const { runtimeID } = spec;
  return [
    ...runtimeID ? [`runtimeID: ${runtimeID} is lost; it told apart the pods of each run.`] : [],
    ...unread.map((it) => `${it}: ${spec[it]} is lost; no pod was told it before.`),
    ...specs.filter(({ terminationPolicy }) => terminationPolicy !== undefined).map((it) =>
      `terminationPolicy of ${it.tfReplicaType} is lost; it never counted: every worker has to succeed, as before.`
    ),
    ...specs.filter((it) => it.tfReplicaType === "PS" && isAlways(restartPolicyOf(it))).map(() =>
      "restartPolicy of PS is OnFailure: one that ends by itself is not started again."
    ),
  ];
}

/** Converts a TFJob of 2018. */
export function convertCaicloud(job: CaicloudTfJob): Conversion {
  const { tfReplicaSpec, tfReplicaSpecs } = job.spec;
  if (tfReplicaSpec !== undefined && tfReplicaSpecs !== undefined) {
    return { refusals: ["spec.tfReplicaSpecs: is another name of tfReplicaSpec, which is there"] };
  }
  const specs = tfReplicaSpec ?? tfReplicaSpecs ?? [];
  const wrong = [...typeRefusals(specs), ...specs.flatMap(replicaRefusals)];
  if (wrong.length > 0) return { refusals: wrong };
  const run = runOf(job, specs);
  if (run.tooLarge !== undefined) return { refusals: refusalTexts([run.tooLarge]) };
  const refusals = templateRefusals(run, CAICLOUD_LABELS);
  if (refusals.length > 0) return { refusals };
  const local = replicasOf(run, "Local");
  const nodes = local === undefined ? distributedNodes(run) : localNodes(run, local);
  return assembled({ metadata: job.metadata, nodes, notes: notesOf(job, specs) });
}
