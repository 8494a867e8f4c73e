/** ML policy mpi: a launcher that starts the processes of all nodes over SSH. */
import { type FieldProblem, invalid } from "../../../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../../../crds/jobset.ts";
import { JOB_LIMITS } from "../../../../crds/job_limits.ts";
import { KINDS } from "../../../../crds/kinds.ts";
import type {
  Container,
  EnvVar,
  Volume,
  VolumeMount,
} from "../../../../platform/kube/kubernetes.ts";
import { LAUNCHER, NODE, policyChildNames, STEPS } from "../../../../crds/names.ts";
import { MPI } from "../../../../crds/policy_names.ts";
import type { TrainingRuntimeSpec } from "../../../../crds/training_runtime.ts";
import type { Child } from "../../child.ts";
import { reservedEnvProblems, upsertEnv } from "../../container_environment.ts";
import { podListProblem } from "../../../job_bounds.ts";
import { containersOf, type Draft, jobsOf, podSpecOf, stepOf } from "../../draft.ts";
import { upserted } from "../../merge.ts";
import { fieldOfCount } from "../../node_counts.ts";
import { gpusOf } from "../../node_resources.ts";
import { endpointOf } from "../../pod_addresses.ts";
import type { Policy } from "../../policy.ts";
import { mergeResources } from "../../trainer_stages.ts";
import { CONFIG_MAP_RULES } from "../child_rules.ts";
import { MPI_IMPLEMENTATIONS, type MpiImplementation } from "./implementations.ts";
import { generateSshKeys } from "./ssh_keys.ts";

/** The settings of a runtime, with the defaults of its schema. */
function settingsOf({ mlPolicy }: Partial<TrainingRuntimeSpec>) {
  const {
    numProcPerNode = 1,
    mpiImplementation: implementation = "OpenMPI",
    sshAuthMountPath = "/root/.ssh",
    runLauncherAsNode = false,
  } = mlPolicy?.mpi ?? {};
  return { numProcPerNode, implementation, sshAuthMountPath, runLauncherAsNode };
}

function implementationOf(runtime: Partial<TrainingRuntimeSpec>): MpiImplementation | undefined {
  const { implementation } = settingsOf(runtime);
  return Object.hasOwn(MPI_IMPLEMENTATIONS, implementation)
    ? MPI_IMPLEMENTATIONS[implementation]
    : undefined;
}

function jobNamed(draft: Draft, name: string): ReplicatedJob | undefined {
  return jobsOf(draft).find((job) => job.name === name);
}

function containerOf(job: ReplicatedJob | undefined): Container | undefined {
  return job && containersOf(job).find(({ name }) => name === NODE);
}

/** The GPUs of the first job that trains, as upstream; every host has as many slots. */
function gpusOfNode(draft: Draft): number {
  const first = jobsOf(draft)
    .filter((job) => job.name === NODE || stepOf(job) === STEPS.trainer)
    .map(containerOf).find((container) => container !== undefined);
  return gpusOf(
    mergeResources(first?.resources, draft.trainJob.spec.trainer?.resourcesPerNode ?? {}),
  );
}

/** Processes of a node: the TrainJob's number, else the runtime's; of a runtime that says 1, the GPUs. */
function slotsOf(draft: Draft): number {
  const { numProcPerNode } = settingsOf(draft.runtime);
  const wanted = draft.trainJob.spec.trainer?.numProcPerNode;
  if (wanted !== undefined) return wanted;
  return numProcPerNode === 1 ? Math.max(1, gpusOfNode(draft)) : numProcPerNode;
}

function variablesOf(draft: Draft): EnvVar[] {
  return implementationOf(draft.runtime)?.variables(slotsOf(draft)) ?? [];
}

/** Gives the launcher what its mpirun reads. */
function setVariables(draft: Draft, launcher: Container): void {
  upsertEnv(launcher, variablesOf(draft));
  const known = new Set(launcher.env?.map(({ name }) => name));
  const { defaults = [] } = implementationOf(draft.runtime) ?? {};
  upsertEnv(launcher, defaults.filter(({ name }) => !known.has(name)));
}

/**
 * Counts the pods of the job `node`: by the TrainJob's numNodes, else by the parallelism that the job states unless it
 * is the trainer, else by the policy's numNodes (G9). A launcher that is a node itself counts as one of them, beside
 * one other at least.
 */
function nodeCount(draft: Draft, node: ReplicatedJob): number {
  const isTrainer = stepOf(node) === STEPS.trainer;
  const parallelism = isTrainer ? undefined : node.template.spec?.parallelism;
  const wanted = draft.trainJob.spec.trainer?.numNodes ??
    (parallelism === undefined ? nodesOfPolicy(draft) : undefined);
  if (wanted === undefined) return Math.max(1, parallelism ?? 1);
  return settingsOf(draft.runtime).runLauncherAsNode ? Math.max(1, wanted - 1) : wanted;
}

/** The policy's numNodes, raised to 1 as upstream does. */
function nodesOfPolicy({ runtime: { mlPolicy } }: Draft): number | undefined {
  return mlPolicy?.numNodes === undefined ? undefined : Math.max(1, mlPolicy.numNodes);
}

function setCounts(draft: Draft): void {
  const node = jobNamed(draft, NODE);
  if (node === undefined) return;
  draft.counts.set(NODE, nodeCount(draft, node));
  // One launcher starts all processes, however many nodes there are.
  for (const job of jobsOf(draft)) {
    if (job !== node && stepOf(job) === STEPS.trainer) draft.counts.set(job.name, 1);
  }
}

function sshVolume(trainJob: string): Volume {
  const { privateKey, publicKey } = MPI.sshAuth.keys;
  const item = (key: string, path: string, mode: number) => ({ key, path, mode });
  return {
    name: MPI.sshAuth.volume,
    secret: {
      secretName: policyChildNames.secrets.mpiSshAuth(trainJob),
      defaultMode: 0o400,
      items: [
        item(privateKey, "id_rsa", 0o640),
        item(publicKey, "id_rsa.pub", 0o644),
        item(publicKey, "authorized_keys", 0o644),
      ],
    },
  };
}

function hostfileVolume(trainJob: string): Volume {
  const { volume, key } = MPI.hostfile;
  const name = policyChildNames.configMaps.mpiHostfile(trainJob);
  return { name: volume, configMap: { name, items: [{ key, path: key, mode: 0o444 }] } };
}

/** Mounts the keys in launcher and nodes, and the hostfile in the launcher. */
function mountFiles(draft: Draft, job: ReplicatedJob): void {
  const pod = podSpecOf(job);
  if (pod === undefined) return;
  const { name = "" } = draft.trainJob.metadata;
  const isLauncher = job.name === LAUNCHER;
  const mounts: VolumeMount[] = [
    { name: MPI.sshAuth.volume, mountPath: settingsOf(draft.runtime).sshAuthMountPath },
    ...(isLauncher ? [{ name: MPI.hostfile.volume, mountPath: MPI.hostfile.mountPath }] : []),
  ];
  const volumes = [sshVolume(name), ...(isLauncher ? [hostfileVolume(name)] : [])];
  pod.volumes = upserted(pod.volumes, volumes, "name");
  const container = containerOf(job);
  if (container) container.volumeMounts = upserted(container.volumeMounts, mounts, "mountPath");
}

/**
 * Gives the nodes what the TrainJob says about the launcher, if that is a node like them: variables and resources; and
 * the image, if the runtime has the same one for both (G9).
 */
function equipNodes(draft: Draft): void {
  const node = jobNamed(draft, NODE);
  const container = containerOf(node);
  const { trainer } = draft.trainJob.spec;
  if (!node || !container || !trainer || stepOf(node) === STEPS.trainer) return;
  if (!settingsOf(draft.runtime).runLauncherAsNode) return;
  upsertEnv(container, trainer.env ?? []);
  if (trainer.resourcesPerNode) {
    container.resources = mergeResources(container.resources, trainer.resourcesPerNode);
  }
  const launcher = containerOf(jobNamed(draft, LAUNCHER));
  if (trainer.image && launcher?.image === container.image) container.image = trainer.image;
}

/** One line for each pod, in the order of the jobs; with the launcher if that is a node. */
function* hostLines(draft: Draft): Generator<string> {
  const { runLauncherAsNode } = settingsOf(draft.runtime);
  const implementation = implementationOf(draft.runtime);
  const slots = slotsOf(draft);
  for (const job of jobsOf(draft)) {
    if (job.name !== NODE && !(runLauncherAsNode && job.name === LAUNCHER)) continue;
    for (let replica = 0; replica < (job.replicas ?? 1); replica++) {
      for (let pod = 0; pod < (draft.counts.get(job.name) ?? 1); pod++) {
        yield `${implementation?.hostLine(endpointOf(draft, job.name, replica, pod), slots)}\n`;
      }
    }
  }
}

/** The hostfile is a ConfigMap. */
function lengthProblems(draft: Draft): FieldProblem[] {
  const node = jobNamed(draft, NODE);
  const problem = node && podListProblem({
    ...fieldOfCount(draft, node),
    name: `the ${MPI.hostfile.key}`,
    pieces: hostLines(draft),
    maxBytes: JOB_LIMITS.configMapBytes,
  });
  return problem === undefined ? [] : [problem];
}

function implementationProblems(runtime: Partial<TrainingRuntimeSpec>): string[] {
  if (implementationOf(runtime)) return [];
  const known = Object.keys(MPI_IMPLEMENTATIONS).join(", ");
  return [
    `MPI implementation "${settingsOf(runtime).implementation}" is not supported; known: ${known}`,
  ];
}

/** With several nodes there must be a launcher that starts, and nodes where it starts, what is trained. */
function jobProblems(draft: Draft): FieldProblem[] {
  const { runtimeRef, trainer } = draft.trainJob.spec;
  const numNodes = trainer?.numNodes ?? nodesOfPolicy(draft) ?? 1;
  if (numNodes < 1) {
    const message = "must be at least 1 with the ML policy mpi, whose hostfile would name no node";
    return [invalid("spec.trainer.numNodes", numNodes, message)];
  }
  const missing = [LAUNCHER, NODE].filter((name) => jobNamed(draft, name) === undefined);
  if (numNodes < 2 || missing.length === 0) return [];
  if (trainer?.numNodes !== undefined && settingsOf(draft.runtime).runLauncherAsNode) {
    const message =
      "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher and node";
    return [invalid("spec.trainer.numNodes", numNodes, message)];
  }
  const message = `must have a job ${missing.join(" and a job ")} in the runtime: with the ML ` +
    `policy mpi the job ${LAUNCHER} starts the processes of the ${numNodes} nodes of job ${NODE}`;
  return [invalid("spec.runtimeRef", runtimeRef.name, message)];
}

/** The keys are made once: nodes that run keep trusting them. */
function children(draft: Draft): Child[] {
  const { name = "" } = draft.trainJob.metadata;
  const { privateKey, publicKey } = MPI.sshAuth.keys;
  const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
  return [
    {
      kind: KINDS.secret,
      name: policyChildNames.secrets.mpiSshAuth(name),
      mode: "once",
      async make() {
        const keys = await generateSshKeys();
        const data = {
          [privateKey]: base64(keys.privateKey),
          [publicKey]: base64(keys.publicKey),
        };
        return { type: MPI.sshAuth.type, immutable: true, data };
      },
    },
    {
      kind: KINDS.configMap,
      name: policyChildNames.configMaps.mpiHostfile(name),
      mode: "equal",
      content: { data: { [MPI.hostfile.key]: [...hostLines(draft)].join("") } },
    },
  ];
}

/** The jobs `launcher` and `node` are found by their names, as upstream's. */
export const mpi: Policy = {
  validateRuntime: (runtime) =>
    implementationProblems(runtime).map((message) =>
      invalid(
        "spec.mlPolicy.mpi.mpiImplementation",
        settingsOf(runtime).implementation,
        message,
      )
    ),
  validate: (draft) => [
    ...jobProblems(draft),
    ...lengthProblems(draft),
    ...reservedEnvProblems(
      draft.trainJob.spec.trainer?.env,
      variablesOf(draft).map(({ name }) => name),
      "spec.trainer.env",
    ),
    ...implementationProblems(draft.runtime).map((message) =>
      invalid("spec.runtimeRef", draft.trainJob.spec.runtimeRef.name, message)
    ),
  ],
  variables: (draft) =>
    jobsOf(draft).some((job) => job.name !== LAUNCHER && stepOf(job) === STEPS.trainer)
      ? []
      : variablesOf(draft),
  count: setCounts,
  apply(draft) {
    equipNodes(draft);
    const launcher = containerOf(jobNamed(draft, LAUNCHER));
    if (launcher) setVariables(draft, launcher);
    for (const name of [NODE, LAUNCHER]) {
      const job = jobNamed(draft, name);
      if (job) mountFiles(draft, job);
    }
  },
  children,
  rules: CONFIG_MAP_RULES,
};
