/** TrainJobs on the runtimes that upstream ships, and on that of its example of flux, as its files have them. */
import type { CaseTable } from "../case.ts";
import type { NamespaceView } from "../cluster_view.ts";
import { readManifests } from "../loopback_webhooks.ts";
import type { Manifest } from "../manifest.ts";
import {
  create,
  env,
  type Fields,
  gpusPerNode,
  hasEvent,
  jobPatch,
  runtimePatch,
  trainJob,
} from "../sketches.ts";
import { upstreamTrainerSources } from "../upstream_trainer.ts";

const FOLDER = "manifests/base/runtimes";
const FILES: readonly string[] = [
  `${FOLDER}/torch_distributed.yaml`,
  `${FOLDER}/deepspeed_distributed.yaml`,
  `${FOLDER}/mlx_distributed.yaml`,
  `${FOLDER}/jax_distributed.yaml`,
  `${FOLDER}/xgboost_distributed.yaml`,
  `${FOLDER}/data-cache/torch_distributed_with_cache.yaml`,
  `${FOLDER}/torchtune/llama3_2/llama3_2_1B.yaml`,
  `${FOLDER}/torchtune/qwen2_5/qwen2_5_1.5B.yaml`,
  "examples/flux/flux-runtime.yaml",
];

/** The runtimes, each as one of the case's namespace: cases share what belongs to the cluster. */
async function shippedRuntimes(): Promise<Manifest[]> {
  const sources = await upstreamTrainerSources();
  const documents = await Promise.all(FILES.map((file) => readManifests(`${sources}/${file}`)));
  return documents.flat().filter(({ kind }) => kind === "ClusterTrainingRuntime")
    .map((manifest) => ({ ...manifest, kind: "TrainingRuntime" }));
}

/** Whether there is a JobSet, or an event says why not: some pods would need what only upstream installs. */
const made = (view: NamespaceView) =>
  view.get("jobSets", "tj") !== undefined || hasEvent(view, "TrainJob");

const on = ({ kind, metadata: { name } }: Manifest, spec: Fields) =>
  trainJob({ runtimeRef: { kind, name }, ...spec });

/** What TrainJobs set, whatever the policy is. */
const SPECS: Readonly<Record<string, Fields>> = {
  "an empty trainer": { trainer: {} },
  "nodes, GPUs, variables and a patch": {
    trainer: {
      numNodes: 2,
      env: env({ TRAIN_JOB_NAME: "mine", LOG: "debug" }),
      ...gpusPerNode("2"),
    },
    runtimePatches: [
      runtimePatch("example.com/me", [
        jobPatch("node", { nodeSelector: { pool: "a" } }, { labels: { team: "a" } }),
      ], { annotations: { "example.com/a": "1" } }),
    ],
  },
  "processes, CPUs and a program": {
    trainer: {
      numNodes: 1,
      numProcPerNode: 3,
      command: ["python"],
      args: ["train.py"],
      resourcesPerNode: { requests: { cpu: "4", memory: "8Gi" } },
    },
    suspend: true,
  },
};

const initialized = {
  dataset: { storageUri: "hf://a/b", secretRef: { name: "token" }, env: env({ A: "1" }) },
  model: { storageUri: "hf://c/d", secretRef: { name: "token" } },
};
const TUNE = { command: ["tune", "run"] };
const LORA = ["model.lora_attn_modules=[q_proj,v_proj,output_proj]", "model.lora_rank=8"];
/** What TrainJobs of torchtune set. */
const TUNED: Readonly<Record<string, Fields>> = {
  "tune run": { trainer: TUNE },
  "tune run, data and model of its own": {
    initializer: initialized,
    trainer: { ...TUNE, args: ["epochs=3", "dataset.source=json"], ...gpusPerNode("1") },
  },
  "LoRA on four GPUs": { trainer: { ...TUNE, args: LORA, ...gpusPerNode("4") } },
};

async function cases(): Promise<CaseTable> {
  const runtimes = await shippedRuntimes();
  const rows = runtimes.flatMap((runtime) => {
    const { name } = runtime.metadata;
    const specs = name.startsWith("torchtune") ? { ...SPECS, ...TUNED } : SPECS;
    return Object.entries(specs).map(([says, spec]) =>
      [`upstream's ${name}: ${says}`, [{
        actions: [create(runtime), create(on(runtime, spec))],
        until: made,
      }]] as const
    );
  });
  return Object.fromEntries(rows);
}

/** See above. */
export const SHIPPED: CaseTable = await cases();
