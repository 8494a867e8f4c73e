/** Requests with several problems, whose refusals name them all in one message. */
import type { CaseTable } from "../case.ts";
import {
  container,
  create,
  env,
  type Fields,
  initializerJob,
  job,
  jobPatch,
  node,
  plain,
  renders,
  runtime,
  runtimePatch,
  torch,
  trainJob,
} from "../sketches.ts";

const both = { dataset: { storageUri: "hf://a/b" }, model: { storageUri: "hf://c/d" } };
const on = (jobs: readonly Fields[], spec: Fields) => renders(plain({ jobs }), trainJob(spec));
const target = (jobName: string, ...containerNames: string[]) => ({ jobName, containerNames });
const injecting = (targets: readonly Fields[]) =>
  torch({ mlPolicy: { numNodes: 1, torch: { envInjection: { targets } } } });
const withoutMount = (step: "dataset-initializer" | "model-initializer") => job(step, { step });
const onTuned = (model: string, trainer: Fields, mlPolicy: Fields = {}) => {
  const name = `torchtune-${model}`;
  return renders(
    torch({ name, mlPolicy: { torch: {}, ...mlPolicy } }),
    trainJob({
      runtimeRef: { kind: "TrainingRuntime", name },
      trainer: { command: ["tune", "run"], ...trainer },
    }),
  );
};
const LORA = ["model.lora_attn_modules=[q_proj]"];

const INITIALIZERS: CaseTable = {
  "a dataset and a model if the runtime has neither": on([node()], { initializer: both }),
  "a dataset without its mount, a model without its job": on(
    [withoutMount("dataset-initializer"), node()],
    { initializer: both },
  ),
  "a dataset without its job, a model without its mount": on(
    [withoutMount("model-initializer"), node()],
    { initializer: both },
  ),
  "a dataset that is missing, and a patch of a bad manager": on([node()], {
    initializer: { dataset: {} },
    runtimePatches: [runtimePatch("me", [])],
  }),
};

const PATCHES: CaseTable = {
  "patches of two bad managers": on([node()], {
    runtimePatches: [runtimePatch("one", []), runtimePatch("two", [])],
  }),
  "patches of bad managers with env of the trainer": on([node()], {
    runtimePatches: ["one", "two"].map((manager) =>
      runtimePatch(manager, [
        jobPatch("node", { containers: [{ name: "node", env: env({ A: "1" }) }] }),
      ])
    ),
  }),
  "a manager with two mistakes": on([node()], { runtimePatches: [runtimePatch("Me_/ x", [])] }),
  "patches of env of the trainer and of an initializer": on(
    [initializerJob("dataset-initializer"), node()],
    {
      runtimePatches: [runtimePatch("example.com/me", [
        jobPatch("dataset-initializer", {
          containers: [{ name: "dataset-initializer", env: env({ A: "1" }) }],
        }),
        jobPatch("node", { containers: [{ name: "node", env: env({ A: "1" }) }] }),
      ])],
    },
  ),
};

const POLICIES: CaseTable = {
  "torch with reserved variables and a target that is not there": renders(
    injecting([target("node", "nothing")]),
    trainJob({ trainer: { env: env({ PET_NNODES: "1" }) } }),
  ),
  "torch with three targets that are not there": renders(
    injecting([target("node", "a", "b"), target("nowhere", "c")]),
    trainJob({ trainer: {} }),
  ),
  "torchtune with everything wrong": onTuned("gemma-2b", {
    numNodes: 2,
    args: [...LORA, "output_dir=/x", "epochs=1", "tokenizer.path=/y"],
  }),
  "torchtune with LoRA on several nodes of a small model": onTuned("llama3.2-1b", {
    numNodes: 3,
    args: LORA,
  }),
  "torchtune with reserved variables and a bad model": onTuned("qwen3-8b", {
    env: env({ PET_MASTER_PORT: "1", PET_NNODES: "2" }),
    args: ["model.quantize_base=True"],
  }),
  "torchtune on a runtime whose name has no model": renders(
    torch(),
    trainJob({ trainer: { command: ["tune", "run"], numNodes: 2 } }),
  ),
  "xgboost with every variable of its own": renders(
    runtime({ mlPolicy: { xgboost: {} } }),
    trainJob({
      trainer: {
        env: env({
          DMLC_NUM_WORKER: "1",
          A: "1",
          DMLC_TRACKER_PORT: "2",
          DMLC_TASK_ID: "3",
          DMLC_TRACKER_URI: "x",
        }),
      },
    }),
  ),
  "mpi with too many nodes and reserved variables": renders(
    runtime({
      mlPolicy: { mpi: { runLauncherAsNode: true } },
      jobs: [job("launcher", { step: "trainer" })],
    }),
    trainJob({ trainer: { numNodes: 2, env: env({ OMPI_MCA_plm_rsh_args: "x" }) } }),
  ),
  "an empty queue and two priority classes that do not exist": renders(
    plain({
      podGroupPolicy: { volcano: {} },
      jobSetMetadata: { annotations: { "scheduling.volcano.sh/queue-name": "" } },
      jobs: [
        job("a", { pod: { priorityClassName: "none" } }),
        node({ pod: { priorityClassName: "nothing" } }),
      ],
    }),
  ),
};

const OBJECTS: CaseTable = {
  "a runtime with replicas and without containers": [{
    actions: [create(plain({
      jobs: [
        job("dataset-initializer", {
          step: "dataset-initializer",
          containers: [container("other")],
          more: { replicas: 3 },
        }),
        node({ containers: [container("other")], more: { replicas: 0 } }),
      ],
    }))],
  }],
  "a TrainJob against several rules of the schema": on([node()], {
    activeDeadlineSeconds: 0,
    managedBy: "me",
  }),
};

/** See above. */
export const SEVERAL_PROBLEMS: CaseTable = { ...INITIALIZERS, ...PATCHES, ...POLICIES, ...OBJECTS };
