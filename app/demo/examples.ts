/** The objects of `examples/`, read from the folder beside this code. */
import { parse as parseYaml } from "yaml";
import type { ConfigMap } from "../../crds/kubernetes.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";

const FOLDER = new URL("../../examples/", import.meta.url);
/** Name of the ConfigMap that the runtime mounts, as in `examples/kustomization.yaml`. */
const PROGRAM = "digits-training";
const PROGRAM_FILES = ["train.ts", "train.py", "digits.txt"];

function read(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, FOLDER));
}

/** The training program and its data set, as `kubectl apply -k examples` makes them. */
export async function trainingProgram(namespace: string): Promise<ConfigMap> {
  const entries = PROGRAM_FILES.map(async (file) => [file, await read(`training/${file}`)]);
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: PROGRAM, namespace },
    data: Object.fromEntries(await Promise.all(entries)),
  };
}

/** The runtime of the examples. */
export async function exampleRuntime(): Promise<ClusterTrainingRuntime> {
  return KINDS.clusterTrainingRuntime.parse(parseYaml(await read("runtime.yaml")));
}

/** One of `examples/jobs/`, in a namespace. */
export async function exampleJob(name: string, namespace: string): Promise<TrainJob> {
  const job = KINDS.trainJob.parse(parseYaml(await read(`jobs/${name}.yaml`)));
  return { ...job, metadata: { ...job.metadata, namespace } };
}
