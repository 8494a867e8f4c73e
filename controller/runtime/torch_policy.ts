/** ML policy torch: the variables of torchrun (contract trainjob.md 4.1). */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { EnvVar } from "../../crds/kubernetes.ts";
import { JOB_KEYS, RENDEZVOUS_PORT, STEPS, TORCH_ENV } from "../../crds/names.ts";
import { containerOf, type Draft, jobsOf, jobsOfStep, stepContainers } from "./draft.ts";
import { declarePort, upsertEnv } from "./environment.ts";
import type { MlPolicyPlugin } from "./ml_policy.ts";
import { trainerCount } from "./node_counts.ts";
import { cpusOf, gpusOf } from "./node_resources.ts";
import { isTorchtune, torchtune } from "./torchtune.ts";

const RESERVED: readonly string[] = Object.values(TORCH_ENV);

/**
 * The variables of `trainer.env` that the torch policy owns, sorted; the TrainJob must not set
 * them.
 */
export function reservedTorchEnv(env: readonly EnvVar[] | undefined): string[] {
  return (env ?? []).map(({ name }) => name).filter((name) => RESERVED.includes(name)).sort();
}

/** Processes per node: the TrainJob's number, else `auto` with GPUs, else the CPUs rounded up. */
function processesPerNode(draft: Draft): number | "auto" {
  const wanted = draft.trainJob.spec.trainer?.numProcPerNode;
  if (wanted !== undefined) return wanted;
  const resources = stepContainers(draft, STEPS.trainer)[0]?.resources;
  return gpusOf(resources) > 0 ? "auto" : cpusOf(resources);
}

/** Host name of the first trainer pod, whatever the job and the subdomain are called (gap G5). */
export function masterAddress(draft: Draft): string {
  const { name } = draft.trainJob.metadata;
  const job = jobsOfStep(draft, STEPS.trainer)[0]?.name ?? STEPS.trainer;
  return `${name}-${job}-0-0.${draft.spec.network?.subdomain ?? name}`;
}

function variables(draft: Draft): EnvVar[] {
  const indexPath = `metadata.annotations['${JOB_KEYS.completionIndex}']`;
  return [
    { name: TORCH_ENV.nnodes, value: String(trainerCount(draft)) },
    { name: TORCH_ENV.nprocPerNode, value: String(processesPerNode(draft)) },
    { name: TORCH_ENV.nodeRank, valueFrom: { fieldRef: { fieldPath: indexPath } } },
    { name: TORCH_ENV.masterAddr, value: masterAddress(draft) },
    { name: TORCH_ENV.masterPort, value: String(RENDEZVOUS_PORT) },
  ];
}

function injectTargets(draft: Draft, env: EnvVar[]): FieldProblem | undefined {
  const targets = draft.mlPolicy?.torch?.envInjection?.targets ?? [];
  for (const { jobName, containerNames } of targets) {
    const job = jobsOf(draft).find(({ name }) => name === jobName);
    for (const name of containerNames) {
      const container = job && containerOf(job, name, { init: true });
      if (!container) {
        const message =
          `envInjection target podSet "${jobName}" container "${name}" not found in runtime template`;
        return { field: "spec.runtimeRef", message };
      }
      upsertEnv(container, env);
    }
  }
  return undefined;
}

/** Gives every trainer its place among the nodes, also where the TrainJob has no `trainer` (gap G4). */
export const torchPolicy: MlPolicyPlugin = {
  name: "torch",
  isFor: (policy) => policy?.torch !== undefined,
  apply(draft) {
    const reserved = reservedTorchEnv(draft.trainJob.spec.trainer?.env);
    if (reserved.length > 0) {
      const message = `must not have reserved envs, invalid envs configured: [${
        reserved.join(" ")
      }]`;
      return { field: "spec.trainer.env", message };
    }
    const all = variables(draft);
    const tunes = isTorchtune(draft.trainJob.spec.trainer);
    const master: string[] = [TORCH_ENV.masterAddr, TORCH_ENV.masterPort];
    for (const container of stepContainers(draft, STEPS.trainer)) {
      upsertEnv(container, tunes ? all.filter(({ name }) => !master.includes(name)) : all);
      declarePort(container, RENDEZVOUS_PORT);
    }
    const problem = injectTargets(draft, all);
    if (problem || !tunes) return problem;
    const node = stepContainers(draft, STEPS.trainer)[0];
    return torchtune(draft, {
      nodes: trainerCount(draft),
      processes: processesPerNode(draft),
      gpus: gpusOf(node?.resources),
      masterAddress: masterAddress(draft),
      runtimeCommand: node?.command ?? [],
    });
  },
};
