/** TrainJobs that run torchtune: recipe, configuration, and what it refuses. */
import type { CaseTable } from "../case.ts";
import { container, type Fields, node, renders, torch, trainJob } from "../sketches.ts";

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

const LORA = ["model.lora_attn_modules=[q_proj,v_proj]"];
const QLORA = [...LORA, "model.quantize_base=True"];
const gpus = (count: string) => ({ resourcesPerNode: { limits: { "nvidia.com/gpu": count } } });

/** See above. */
export const TORCHTUNE: CaseTable = {
  "torchtune on two GPUs": tuned("llama3.2-1b"),
  "torchtune on one GPU": tuned("llama3.2-1b", gpus("1")),
  "torchtune with one process": tuned("llama3.2-3b", { numProcPerNode: 1 }),
  "torchtune with two processes": tuned("qwen2.5-1.5b", { numProcPerNode: 2 }),
  "torchtune with LoRA": tuned("llama3.2-1b", { args: LORA }),
  "torchtune with LoRA on one GPU": tuned("llama3.2-1b", { args: LORA, ...gpus("1") }),
  "torchtune with QLoRA on one GPU": tuned("llama3.2-1b", { args: QLORA, ...gpus("1") }),
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
  "torchtune with QLoRA and qwen": tuned("qwen2.5-1.5b", { args: QLORA, ...gpus("1") }),
  "torchtune with LoRA on several nodes": tuned("llama3.3-70b", { args: LORA, numNodes: 2 }),
  "torchtune with an argument that the runtime manages": tuned("llama3.2-1b", {
    args: ["epochs=1", "output_dir=/elsewhere"],
  }),
  "a command that only begins like torchtune's": tuned("llama3.2-1b", {
    command: ["tune", "run", "mine"],
  }),
};
