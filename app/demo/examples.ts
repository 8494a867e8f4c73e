/**
 * The objects of `examples/`. Their files are part of the program, so that a bundle or an executable
 * has them wherever it runs.
 */
import { parse as parseYaml } from "yaml";
import type { ConfigMap } from "../../crds/kubernetes.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import failing from "../../examples/jobs/failing.yaml" with { type: "text" };
import paused from "../../examples/jobs/paused.yaml" with { type: "text" };
import softmax from "../../examples/jobs/softmax.yaml" with { type: "text" };
import runtime from "../../examples/runtime.yaml" with { type: "text" };
import images from "../../examples/training/digits.txt" with { type: "text" };
import python from "../../examples/training/train.py" with { type: "text" };
import typescript from "../../examples/training/train.ts" with { type: "text" };

/** Name of the ConfigMap that the runtime mounts, as in `examples/kustomization.yaml`. */
const PROGRAM = "digits-training";
const PROGRAM_FILES = { "train.ts": typescript, "train.py": python, "digits.txt": images };
const JOBS = { failing, paused, softmax };

/** The training program and its data set, as `kubectl apply -k examples` makes them. */
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

/** One of `examples/jobs/`, in a namespace. */
export function exampleJob(name: keyof typeof JOBS, namespace: string): TrainJob {
  const job = KINDS.trainJob.parse(parseYaml(JOBS[name]));
  return { ...job, metadata: { ...job.metadata, namespace } };
}
