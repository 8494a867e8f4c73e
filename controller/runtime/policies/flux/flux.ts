/** ML policy flux: an instance of the workload manager Flux in every job, which runs the trainer's program. */
import { type FieldProblem, forbidden, invalid } from "../../../../crds/field_problem.ts";
import { KINDS } from "../../../../crds/kinds.ts";
import type {
  Container,
  PodSpec,
  Volume,
  VolumeMount,
} from "../../../../platform/kube/kubernetes.ts";
import { shellWord } from "../../../../platform/base/shell_words.ts";
import { LABELS, NODE, policyChildNames, STEPS } from "../../../../crds/names.ts";
import { FLUX } from "../../../../crds/policy_names.ts";
import type { Child } from "../../child.ts";
import { childNameProblems } from "../../child_names.ts";
import {
  type Draft,
  hasNamed,
  initContainersOf,
  jobsOfStep,
  podSpecOf,
  trainerContainer,
} from "../../draft.ts";
import { upserted } from "../../merge.ts";
import { hostOf, subdomainOf, trainerJobName } from "../../pod_addresses.ts";
import { trainerCount } from "../../node_counts.ts";
import { gpusOf } from "../../node_resources.ts";
import type { Policy } from "../../policy.ts";
import { CONFIG_MAP_RULES } from "../child_rules.ts";
import { curveCertificate, generateCurveKeys } from "./curve.ts";
import { entrypointScript, type FluxInstance, initScript } from "./scripts.ts";

const { env: SETTINGS, volumes: VOLUMES } = FLUX;

/** Values of the settings that neither TrainJob nor runtime names, as upstream. */
const DEFAULTS: Readonly<Record<string, string>> = {
  [SETTINGS.viewImage]: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
  [SETTINGS.networkDevice]: "eth0",
  [SETTINGS.queuePolicy]: "fcfs",
};

/** A setting: the value of that variable of the trainer, which has the TrainJob's. */
function setting(draft: Draft, name: string): string {
  const env = trainerContainer(draft)?.env ?? [];
  return env.find((variable) => variable.name === name)?.value || (DEFAULTS[name] ?? "");
}

function tasksPerNode({ trainJob, runtime }: Draft): number {
  return trainJob.spec.trainer?.numProcPerNode ?? runtime.mlPolicy?.flux?.numProcPerNode ?? 1;
}

function instanceOf(draft: Draft): FluxInstance {
  const { namespace } = draft.trainJob.metadata;
  return {
    hostPrefix: hostOf(draft, trainerJobName(draft), 0, 0).slice(0, -1),
    domain: `${subdomainOf(draft)}.${namespace}.svc`,
    nodes: trainerCount(draft),
    tasks: tasksPerNode(draft),
    gpus: gpusOf(trainerContainer(draft)?.resources),
    networkDevice: setting(draft, SETTINGS.networkDevice),
    queuePolicy: setting(draft, SETTINGS.queuePolicy),
  };
}

/**
 * The program with its arguments as one line of shell: the TrainJob's command, else the runtime's, and the
 * TrainJob's arguments. A single word may be a whole line, as upstream takes it.
 */
function programLine({ trainJob }: Draft, container: Container | undefined): string {
  const { command = container?.command ?? [], args = [] } = trainJob.spec.trainer ?? {};
  const words = [...command, ...args];
  const line = words.length === 1 ? words.join().trim().split(/\s+/) : words;
  return line.filter((word) => word !== "" || words.length > 1).map(shellWord).join(" ");
}

function volumesOf(trainJob: string): Volume[] {
  const scripts = policyChildNames.configMaps.fluxEntrypoint(trainJob);
  return [
    { name: VOLUMES.spack.name, emptyDir: {} },
    { name: VOLUMES.install.name, emptyDir: {} },
    { name: scripts, configMap: { name: scripts, defaultMode: 0o755 } },
    { name: VOLUMES.memory.name, emptyDir: { medium: "Memory" } },
    {
      name: VOLUMES.curve.name,
      secret: { secretName: policyChildNames.secrets.fluxCurve(trainJob), defaultMode: 0o400 },
    },
  ];
}

/** Mounts of the trainer. Its shared memory can be written, unlike upstream's. */
function mountsOf(trainJob: string): VolumeMount[] {
  return [
    { ...VOLUMES.install },
    { ...VOLUMES.spack },
    scriptsMount(trainJob),
    { ...VOLUMES.curve, readOnly: true },
    { ...VOLUMES.memory },
  ];
}

function scriptsMount(trainJob: string): VolumeMount {
  const name = policyChildNames.configMaps.fluxEntrypoint(trainJob);
  return { name, ...VOLUMES.scripts, readOnly: true };
}

function script(name: string): string[] {
  return ["/bin/bash", `${VOLUMES.scripts.mountPath}/${name}`];
}

function installFlux(draft: Draft, pod: PodSpec): void {
  const { name = "" } = draft.trainJob.metadata;
  pod.volumes = upserted(pod.volumes, volumesOf(name), "name");
  pod.initContainers = [...pod.initContainers ?? [], {
    name: FLUX.installer,
    image: setting(draft, SETTINGS.viewImage),
    command: script(FLUX.scripts.init),
    volumeMounts: [{ ...VOLUMES.install }, scriptsMount(name)],
  }];
  for (const container of pod.containers.filter((one) => one.name === NODE)) {
    container.volumeMounts = upserted(container.volumeMounts, mountsOf(name), "mountPath");
  }
}

/** The scripts have to know their values when the job is rendered. */
function settingProblems({ trainJob }: Draft): FieldProblem[] {
  return (trainJob.spec.trainer?.env ?? []).flatMap(({ name, valueFrom }, index) =>
    Object.hasOwn(DEFAULTS, name) && valueFrom
      ? [forbidden(`spec.trainer.env[${index}].valueFrom`, `${name} must be given as a value`)]
      : []
  );
}

function countProblems(draft: Draft): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const tasks = tasksPerNode(draft);
  if (tasks < 1) {
    const message = "must be greater than or equal to 1 for Flux TrainJob";
    problems.push(invalid("spec.trainer.numProcPerNode", tasks, message));
  }
  if (trainerCount(draft) < 1) {
    const message = "must be greater than or equal to 1 for Flux TrainJob, since node 0 leads";
    problems.push(invalid("spec.trainer.numNodes", trainerCount(draft), message));
  }
  return problems;
}

/** One volume has the name of the ConfigMap, and the names of volumes are DNS labels (G13). */
function nameProblems(draft: Draft): FieldProblem[] {
  const { name = "" } = draft.trainJob.metadata;
  return childNameProblems(draft, "volume", policyChildNames.configMaps.fluxEntrypoint(name));
}

function jobProblems(draft: Draft): FieldProblem[] {
  const jobs = jobsOfStep(draft, STEPS.trainer);
  if (jobs.length === 0) {
    const message = `must have a job with the label ${LABELS.ancestorStep}: ${STEPS.trainer} in ` +
      "the runtime, for the brokers of Flux";
    return [invalid("spec.runtimeRef", draft.trainJob.spec.runtimeRef.name, message)];
  }
  return jobs.some((job) => hasNamed(initContainersOf(job), FLUX.installer))
    ? [
      invalid(
        "spec.trainer.initContainers",
        FLUX.installer,
        `InitContainer '${FLUX.installer}' is reserved`,
      ),
    ]
    : [];
}

/** The key comes from real randomness, so it cannot be derived from the TrainJob, unlike upstream's (G17). */
function children(draft: Draft): Child[] {
  const { name = "" } = draft.trainJob.metadata;
  const instance = instanceOf(draft);
  const { entrypoint, init } = FLUX.scripts;
  return [
    {
      kind: KINDS.configMap,
      name: policyChildNames.configMaps.fluxEntrypoint(name),
      mode: "equal",
      content: {
        data: { [entrypoint]: entrypointScript(instance), [init]: initScript(instance) },
      },
    },
    {
      kind: KINDS.secret,
      name: policyChildNames.secrets.fluxCurve(name),
      mode: "once",
      async make() {
        const certificate = curveCertificate(name, await generateCurveKeys());
        const data = { [FLUX.curveKey]: new TextEncoder().encode(certificate).toBase64() };
        return { type: "Opaque", data };
      },
    },
  ];
}

/** Node 0 leads and runs the program in all nodes. */
export const flux: Policy = {
  validate: (draft) => [
    ...settingProblems(draft),
    ...countProblems(draft),
    ...nameProblems(draft),
    ...jobProblems(draft),
  ],
  apply(draft) {
    draft.trainerCommand = [
      ...script(FLUX.scripts.entrypoint),
      programLine(draft, trainerContainer(draft)),
    ];
    draft.commandHasArgs = true;
    for (const job of jobsOfStep(draft, STEPS.trainer)) {
      const pod = podSpecOf(job);
      if (pod) installFlux(draft, pod);
    }
  },
  children,
  rules: CONFIG_MAP_RULES,
};
