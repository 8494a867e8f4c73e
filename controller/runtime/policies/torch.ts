/** ML policy torch: the variables of torchrun. */
import { type FieldProblem, invalid } from "../../../crds/field_problem.ts";
import type { Container, EnvVar } from "../../../platform/kube/kubernetes.ts";
import { STEPS } from "../../../crds/names.ts";
import { RENDEZVOUS_PORT, TORCH_ENV } from "../../../crds/policy_names.ts";
import {
  containersOf,
  type Draft,
  hasNamed,
  initContainersOf,
  jobsOf,
  stepContainers,
  trainerContainer,
} from "../draft.ts";
import { COMPLETION_INDEX, firstNode } from "../pod_addresses.ts";
import { declarePort, reservedEnvProblems, upsertEnv } from "../container_environment.ts";
import { trainerCount } from "../node_counts.ts";
import { cpusOf, gpusOf } from "../node_resources.ts";
import type { Policy } from "../policy.ts";
import {
  isTorchtune,
  torchtuneCommand,
  type TorchtuneFacts,
  torchtuneProblems,
} from "./torchtune.ts";

const RESERVED: readonly string[] = Object.values(TORCH_ENV);
const MASTER: readonly string[] = [TORCH_ENV.masterAddr, TORCH_ENV.masterPort];

/** Processes per node: the TrainJob's number, else `auto` with GPUs, else the CPUs rounded up. */
function processesPerNode(draft: Draft): number | "auto" {
  const wanted = draft.trainJob.spec.trainer?.numProcPerNode;
  if (wanted !== undefined) return wanted;
  const resources = trainerContainer(draft)?.resources;
  return gpusOf(resources) > 0 ? "auto" : cpusOf(resources);
}

function variables(draft: Draft): EnvVar[] {
  return [
    { name: TORCH_ENV.nnodes, value: String(trainerCount(draft)) },
    { name: TORCH_ENV.nprocPerNode, value: String(processesPerNode(draft)) },
    { name: TORCH_ENV.nodeRank, valueFrom: COMPLETION_INDEX },
    { name: TORCH_ENV.masterAddr, value: firstNode(draft) },
    { name: TORCH_ENV.masterPort, value: String(RENDEZVOUS_PORT) },
  ];
}

/** A target of `envInjection`, with the containers of its job. */
function targetsOf(draft: Draft) {
  return (draft.runtime.mlPolicy?.torch?.envInjection?.targets ?? []).map((target) => {
    const job = jobsOf(draft).find(({ name }) => name === target.jobName);
    const containers: Container[] = job ? [...containersOf(job), ...initContainersOf(job)] : [];
    return { target, containers };
  });
}

function targetProblems(draft: Draft): FieldProblem[] {
  return targetsOf(draft).flatMap(({ target, containers }) =>
    target.containerNames.filter((name) => !hasNamed(containers, name)).map((name) =>
      invalid(
        "spec.runtimeRef",
        target,
        `envInjection target podSet "${target.jobName}" container "${name}" not found in runtime template`,
      )
    )
  );
}

function torchtuneFacts(draft: Draft): TorchtuneFacts {
  return {
    nodes: trainerCount(draft),
    processes: processesPerNode(draft),
    gpus: gpusOf(trainerContainer(draft)?.resources),
    masterAddress: firstNode(draft),
    runtimeCommand: stepContainers(draft, STEPS.trainer).flatMap(({ command = [] }) => command),
  };
}

/** Gives the trainer its rank among the nodes, even if the TrainJob has no `trainer`. */
export const torch: Policy = {
  validate(draft) {
    const { trainer } = draft.trainJob.spec;
    return [
      ...targetProblems(draft),
      ...reservedEnvProblems(trainer?.env, RESERVED, "spec.trainer.env"),
      ...(isTorchtune(trainer) ? torchtuneProblems(draft, torchtuneFacts(draft)) : []),
    ];
  },
  apply(draft) {
    const all = variables(draft);
    const tunes = isTorchtune(draft.trainJob.spec.trainer);
    const trainer = trainerContainer(draft);
    if (trainer) {
      upsertEnv(trainer, tunes ? all.filter(({ name }) => !MASTER.includes(name)) : all);
      declarePort(trainer, RENDEZVOUS_PORT);
    }
    for (const { target, containers } of targetsOf(draft)) {
      for (const container of containers) {
        if (target.containerNames.includes(container.name)) upsertEnv(container, all);
      }
    }
    if (tunes) draft.trainerCommand = torchtuneCommand(draft, torchtuneFacts(draft));
  },
};
