/** TrainJobs that run torchtune: recipe, configuration, and what it refuses. */
import type { CaseTable } from "../case.ts";
import {
  container,
  type Fields,
  gpusPerNode,
  job,
  node,
  onNode,
  renders,
  torch,
  trainJob,
} from "../sketches.ts";

const RUNTIME_COMMAND = [
  "tune",
  "run",
  "output_dir=/workspace/output",
  "tokenizer.path=/workspace/model/tokenizer.model",
  "checkpointer.checkpoint_dir=/workspace/model",
  "else=dropped",
];

function tuned(model: string, trainer: Fields = {}, gpus = "2") {
  const name = `torchtune-${model}`;
  const resources = { limits: { "nvidia.com/gpu": gpus } };
  return renders(
    torch({
      name,
      jobs: [node({ containers: [container("node", { command: RUNTIME_COMMAND, resources })] })],
    }),
    trainJob({
      runtimeRef: { kind: "TrainingRuntime", name },
      trainer: { command: ["tune", "run"], ...trainer },
    }),
  );
}

/** On a runtime without resources. */
const bare = (model: string, trainer: Fields = {}, mlPolicy: Fields = {}) => {
  const name = `torchtune-${model}`;
  return renders(
    torch({
      name,
      mlPolicy: { torch: {}, ...mlPolicy },
      ...onNode({ command: RUNTIME_COMMAND, args: ["of", "the", "runtime"] }),
    }),
    trainJob({
      runtimeRef: { kind: "TrainingRuntime", name },
      trainer: { command: ["tune", "run"], ...trainer },
    }),
  );
};

const LORA = ["model.lora_attn_modules=[q_proj,v_proj]"];
const QLORA = [...LORA, "model.quantize_base=True"];

/** See above. */
export const TORCHTUNE: CaseTable = {
  "torchtune on two GPUs": tuned("llama3.2-1b"),
  "torchtune on one GPU": tuned("llama3.2-1b", gpusPerNode("1")),
  "torchtune with one process": tuned("llama3.2-3b", { numProcPerNode: 1 }),
  "torchtune with two processes": tuned("qwen2.5-1.5b", { numProcPerNode: 2 }),
  "torchtune with LoRA": tuned("llama3.2-1b", { args: LORA }),
  "torchtune with LoRA on one GPU": tuned("llama3.2-1b", { args: LORA, ...gpusPerNode("1") }),
  "torchtune with QLoRA on one GPU": tuned("llama3.2-1b", { args: QLORA, ...gpusPerNode("1") }),
  "torchtune with DoRA": tuned("llama3.2-1b", { args: [...QLORA, "model.use_dora=True"] }),
  "torchtune with arguments": tuned("llama3.2-1b", { args: ["epochs=1", "dtype=bf16"] }),
  "torchtune on several nodes": tuned("llama3.3-70b", { numNodes: 2 }),
  "torchtune on more nodes than the model has": tuned("llama3.2-1b", { numNodes: 2 }),
  "torchtune with a model that is not supported": tuned("gemma-2b"),
  "torchtune with QLoRA on two GPUs": tuned("llama3.2-1b", { args: QLORA }),
  "torchtune with QLoRA and two processes": tuned("llama3.2-1b", {
    args: QLORA,
    numProcPerNode: 2,
  }),
  "torchtune with QLoRA and qwen": tuned("qwen2.5-1.5b", { args: QLORA, ...gpusPerNode("1") }),
  "torchtune with LoRA on several nodes": tuned("llama3.3-70b", { args: LORA, numNodes: 2 }),
  "torchtune with an argument that the runtime manages": tuned("llama3.2-1b", {
    args: ["epochs=1", "output_dir=/elsewhere"],
  }),
  "torchtune without GPUs": bare("llama3.2-1b"),
  "torchtune on one CPU": bare("llama3.2-1b", { resourcesPerNode: { requests: { cpu: "1" } } }),
  "torchtune on four CPUs with LoRA": bare("llama3.2-3b", {
    args: LORA,
    resourcesPerNode: { requests: { cpu: "4" } },
  }),
  "torchtune with GPUs as requests": bare("qwen2.5-1.5b", {
    resourcesPerNode: { requests: { "nvidia.com/gpu": "2" } },
  }),
  "torchtune with QLoRA on one CPU": bare("llama3.2-1b", { args: QLORA }),
  "torchtune with QLoRA on eight GPUs": tuned("llama3.3-70b", { args: QLORA, ...gpusPerNode("8") }),
  "torchtune with LoRA, one process and many GPUs": tuned("llama3.3-70b", {
    args: LORA,
    numProcPerNode: 1,
    ...gpusPerNode("8"),
  }),
  "torchtune with no nodes": bare("llama3.3-70b", { numNodes: 0, args: LORA }),
  "torchtune with nodes of the policy": bare("llama3.3-70b", {}, { numNodes: 2 }),
  "torchtune with LoRA on nodes of the policy": bare("llama3.3-70b", { args: LORA }, {
    numNodes: 2,
  }),
  "torchtune with a small model on nodes of the policy": bare("llama3.2-1b", {}, { numNodes: 2 }),
  "torchtune with quantization off": tuned("llama3.2-1b", {
    args: [...LORA, "model.quantize_base=False"],
  }),
  "torchtune with quantization said twice": tuned("llama3.3-70b", {
    args: [...LORA, "model.quantize_base=False", "model.quantize_base= true "],
  }),
  "torchtune with DoRA of another section": tuned("llama3.3-70b", {
    args: [...QLORA, "my.model.use_dora=TRUE"],
  }),
  "torchtune with quantization without LoRA": tuned("llama3.2-1b", {
    args: ["model.quantize_base=true"],
    ...gpusPerNode("1"),
  }),
  "torchtune with image, variables and resources": tuned("llama3.2-1b", {
    image: "example.com/tune:2",
    env: [{ name: "A", value: "1" }],
    args: ["epochs=1"],
    resourcesPerNode: { requests: { memory: "64Gi" }, limits: { "nvidia.com/gpu": "2" } },
  }),
  "torchtune's runtime without tune run": tuned("llama3.2-1b", { args: ["epochs=1"], command: [] }),
  "torchtune's runtime with a program": tuned("llama3.2-1b", { command: ["bash", "-c", "true"] }),
  "torchtune with a custom subdomain and a job of another name": renders(
    torch({
      name: "torchtune-llama3.3-70b",
      jobSet: { network: { subdomain: "mine" } },
      jobs: [job("workers", { step: "trainer" })],
    }),
    trainJob({
      runtimeRef: { kind: "TrainingRuntime", name: "torchtune-llama3.3-70b" },
      trainer: { command: ["tune", "run"], numNodes: 2 },
    }),
  ),
  "torchtune with two jobs of the trainer": renders(
    torch({
      name: "torchtune-llama3.3-70b",
      jobs: [
        node({ containers: [container("node", { command: RUNTIME_COMMAND })] }),
        job("more", {
          step: "trainer",
          containers: [container("node", { command: ["x", "output_dir=/more"] })],
        }),
      ],
    }),
    trainJob({
      runtimeRef: { kind: "TrainingRuntime", name: "torchtune-llama3.3-70b" },
      trainer: { command: ["tune", "run"], numProcPerNode: 2 },
    }),
  ),
  "a command that only begins like torchtune's": tuned("llama3.2-1b", {
    command: ["tune", "run", "mine"],
  }),
};
