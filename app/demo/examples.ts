/**
 * The objects of `examples/`. Their files are part of the program, so that a bundle or an executable
 * has them on every machine.
 */
import { parse as parseYaml } from "yaml";
import type { ConfigMap } from "../../platform/kube/kubernetes.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import failing from "../../examples/jobs/failing.yaml" with { type: "text" };
import paused from "../../examples/jobs/paused.yaml" with { type: "text" };
import python from "../../examples/jobs/python.yaml" with { type: "text" };
import softmax from "../../examples/jobs/softmax.yaml" with { type: "text" };
import runtime from "../../examples/runtime.yaml" with { type: "text" };
import images from "../../examples/training/digits.txt" with { type: "text" };
import pythonProgram from "../../examples/training/train.py" with { type: "text" };
import pythonReport from "../../examples/training/report.py" with { type: "text" };

/** Name of the ConfigMap that the runtime mounts, as in `examples/kustomization.yaml`. */
const PROGRAM = "digits-training";
const PROGRAM_FILES = {
  "train.py": pythonProgram,
  "report.py": pythonReport,
  "digits.txt": images,
};
const JOBS: Readonly<Record<string, string>> = { failing, paused, python, softmax };

/** The variable that says how long the programs train at least. */
export const TRAIN_SECONDS = "TRAIN_SECONDS";

/** The training program in Python and its data set, as `kubectl apply -k examples` makes them. */
export function trainingProgram(namespace: string): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: PROGRAM, namespace },
    data: { ...PROGRAM_FILES },
  };
}

/** The runtime of the examples. */
export function exampleRuntime(): ClusterTrainingRuntime {
  return KINDS.clusterTrainingRuntime.parse(parseYaml(runtime));
}

/** One of `examples/jobs/`, in a namespace, that trains for so many seconds at least. Throws if there is no such example. */
export function exampleJob(name: string, namespace: string, seconds = 0): TrainJob {
  const text = JOBS[name];
  if (text === undefined) throw new Error(`there is no example named ${name}`);
  const job = KINDS.trainJob.parse(parseYaml(text));
  const placed = { ...job, metadata: { ...job.metadata, namespace } };
  if (seconds === 0) return placed;
  const { trainer } = job.spec;
  const env = [...trainer?.env ?? [], { name: TRAIN_SECONDS, value: String(seconds) }];
  return { ...placed, spec: { ...job.spec, trainer: { ...trainer, env } } };
}
