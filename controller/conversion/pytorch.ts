/** Conversion of PyTorchJobs: the torch policy starts torchrun's nodes. */
import { TORCH_ENV } from "../../crds/policy_names.ts";
import { trainingContainer } from "../jobs/defaults.ts";
import type { Run } from "../jobs/run.ts";
import { gpusOf } from "../runtime/node_resources.ts";
import { alikeNodes } from "./alike_nodes.ts";
import type { NodesOrRefusals } from "./conversion.ts";

/** Returns the processes of a node: a number, or what torchrun finds. */
function processesOf(run: Run): {
  readonly numProcPerNode?: number;
  readonly refusals: readonly string[];
  readonly notes: readonly string[];
} {
  const { nprocPerNode = "auto" } = run.spec;
  const none = { refusals: [], notes: [] };
  if (/^\d+$/.test(nprocPerNode)) return { ...none, numProcPerNode: Number(nprocPerNode) };
  const [replicas] = run.replicas;
  const container = replicas && trainingContainer(run.kind, replicas.template);
  const hasGpus = gpusOf(container?.resources) > 0;
  if (nprocPerNode === (hasGpus ? "cpu" : "gpu")) {
    const has = hasGpus ? "has GPUs" : "has none";
    const refusal =
      `spec.nprocPerNode: ${nprocPerNode} cannot be asked for in a TrainJob whose container ${has}`;
    return { ...none, refusals: [refusal] };
  }
  const note =
    "torchrun, if the job uses it, starts a process for each CPU of the container's limits; " +
    "under the PyTorchJob it was each CPU of the machine.";
  return { ...none, notes: hasGpus ? [] : [note] };
}

/** Converts the replicas of a PyTorchJob. */
export function pyTorchNodes(run: Run): NodesOrRefusals {
  const processes = processesOf(run);
  const elastic = run.spec.elasticPolicy === undefined
    ? []
    : ["spec.elasticPolicy: the number of a TrainJob's nodes is fixed"];
  const nodes = alikeNodes(run, {
    mlPolicy: { torch: {} },
    fromPolicy: [...Object.values(TORCH_ENV)],
  });
  const refusals = [
    ...elastic,
    ...processes.refusals,
    ..."refusals" in nodes ? nodes.refusals : [],
  ];
  if (refusals.length > 0 || "refusals" in nodes) return { refusals };
  const { numProcPerNode } = processes;
  return {
    ...nodes,
    ...numProcPerNode === undefined ? {} : { numProcPerNode },
    notes: [...nodes.notes, ...processes.notes],
  };
}
