/** Tests of `controller/runtime/policies/torchtune.ts`. */
import { deepEqual, equal } from "node:assert/strict";
import { renderJobSet } from "../../../../controller/runtime/render.ts";
import { modelOf } from "../../../../controller/runtime/policies/torchtune.ts";
import type { Trainer } from "../../../../crds/trainjob.ts";
import { jobSetOf, jobSetOrProblems, nodeJob, torchRuntime, trainJob } from "../../builders.ts";
import { deepFreeze } from "../../memory_view.ts";

const LORA = "model.lora_attn_modules=[q_proj]";
const QUANTIZED = "model.quantize_base=True";
const RENDEZVOUS = "--rdzv_endpoint=tj-node-0-0.tj:29500";

function gpus(count: number): Trainer {
  return { resourcesPerNode: { limits: { "nvidia.com/gpu": String(count) } } };
}

function tune(trainer: Trainer, name = "torchtune-llama3.2-1b") {
  const command = ["tune", "run", "recipe", "output_dir=/out", "dtype=x", "tokenizer.path=/t"];
  const runtime = torchRuntime([nodeJob({ command })]);
  runtime.metadata = { name };
  const job = trainJob({ runtimeRef: { name }, trainer: { command: ["tune", "run"], ...trainer } });
  return renderJobSet(deepFreeze({ trainJob: job, runtime, executor: "external" }));
}

function commandOf(trainer: Trainer, name?: string): string[] | string | undefined {
  const rendered = jobSetOrProblems(tune(trainer, name));
  if (typeof rendered === "string") return rendered;
  return rendered.spec?.replicatedJobs?.[0]?.template.spec?.template.spec?.containers[0]
    ?.command;
}

const COMMANDS: Record<string, { trainer: Trainer; name?: string; want: string[] }> = {
  "one device in full": {
    trainer: {},
    want: ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"],
  },
  "one GPU with LoRA": {
    trainer: { ...gpus(1), args: [LORA] },
    want: ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"],
  },
  "one GPU with QLoRA": {
    trainer: { ...gpus(1), args: [LORA, QUANTIZED] },
    want: ["lora_finetune_single_device", "--config", "llama3_2/1B_qlora_single_device"],
  },
  "DoRA that is quantized as LoRA": {
    trainer: { ...gpus(1), args: [LORA, QUANTIZED, "model.use_dora=true"] },
    want: ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"],
  },
  "several GPUs in full": {
    trainer: gpus(2),
    want: [RENDEZVOUS, "full_finetune_distributed", "--config", "llama3_2/1B_full"],
  },
  "quantization that is on in one of two arguments": {
    trainer: { ...gpus(1), args: ["model.quantize_base=False", "model.quantize_base= TRUE "] },
    want: ["lora_finetune_single_device", "--config", "llama3_2/1B_qlora_single_device"],
  },
  "DoRA of a section of its own": {
    trainer: { ...gpus(1), args: [LORA, QUANTIZED, "my.model.use_dora=true"] },
    want: ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"],
  },
  "no nodes in full": {
    trainer: { numNodes: 0, args: [LORA] },
    want: ["full_finetune_distributed", "--config", "llama3_2/1B_full"],
  },
  "several processes with LoRA": {
    trainer: { numProcPerNode: 2, args: [LORA] },
    want: [RENDEZVOUS, "lora_finetune_distributed", "--config", "llama3_2/1B_lora"],
  },
  "several nodes": {
    trainer: { numNodes: 2, ...gpus(8) },
    name: "torchtune-llama3.3-70b",
    want: [RENDEZVOUS, "full_finetune_distributed", "--config", "llama3_3/70B_full_multinode"],
  },
};

for (const [what, { trainer, name, want }] of Object.entries(COMMANDS)) {
  Deno.test(`torchtune() runs ${what}`, () => {
    const managed = ["output_dir=/out", "tokenizer.path=/t"];
    deepEqual(commandOf(trainer, name), ["tune", "run", ...want, ...managed]);
  });
}

const REFUSED: Record<string, { trainer: Trainer; name?: string; want: string }> = {
  "a model that it does not know": {
    trainer: {},
    name: "torchtune-gpt-2",
    want:
      "spec.runtimeRef.name: must have a supported pretrained model, invalid model configured: gpt/2",
  },
  "a runtime whose name has not three parts": {
    trainer: {},
    name: "tuner",
    want:
      "spec.runtimeRef.name: must have a supported pretrained model, invalid model configured: ",
  },
  "several nodes of a small model": {
    trainer: { numNodes: 2 },
    want: "spec.trainer.numNodes: must be 1 for llama3_2/1B model",
  },
  "QLoRA of qwen": {
    trainer: { args: [QUANTIZED] },
    name: "torchtune-qwen2.5-1.5b",
    want: "spec.runtimeRef.name: QLoRA is not supported for qwen2_5/1.5B model",
  },
  "distributed QLoRA by processes": {
    trainer: { numProcPerNode: 2, args: [QUANTIZED] },
    want: "spec.trainer.numProcPerNode: must be auto or 1 for llama3_2/1B model when using QLoRA",
  },
  "QLoRA on a CPU": {
    trainer: { args: [QUANTIZED] },
    want:
      "spec.trainer.resourcesPerNode: must have gpu resource with value 1 for llama3_2/1B model when using QLoRA",
  },
  "distributed QLoRA by GPUs": {
    trainer: { ...gpus(2), args: [QUANTIZED] },
    want:
      "spec.trainer.resourcesPerNode: must have gpu resource with value 1 for llama3_2/1B model when using QLoRA",
  },
  "LoRA over several nodes": {
    trainer: { numNodes: 2, args: [LORA] },
    name: "torchtune-llama3.3-70b",
    want:
      "spec.trainer.numNodes: LoRA fine-tuning is not supported for multi-node training in TorchTune",
  },
  "a setting that the runtime makes": {
    trainer: { args: ["epochs=1", "output_dir=/x"] },
    want:
      'spec.trainer.args[1]: must not set immutable config "output_dir" in trainer args; it is managed by the runtime',
  },
};

for (const [what, { trainer, name, want }] of Object.entries(REFUSED)) {
  Deno.test(`torchtune() refuses ${what}`, () => equal(commandOf(trainer, name), want));
}

Deno.test("torchtune() shows the number of nodes of the policy, and of another model no more than that it is not known", () => {
  const runtime = torchRuntime();
  runtime.metadata = { name: "torchtune-qwen3-8b" };
  if (runtime.spec?.mlPolicy) runtime.spec.mlPolicy.numNodes = 2;
  const trainer = { command: ["tune", "run"], args: [QUANTIZED] };
  const job = trainJob({ runtimeRef: { name: "torchtune-qwen3-8b" }, trainer });
  const rendered = renderJobSet(deepFreeze({ trainJob: job, runtime, executor: "external" }));
  deepEqual("problems" in rendered && rendered.problems.map(({ field, value }) => [field, value]), [
    ["spec.runtimeRef.name", "torchtune-qwen3-8b"],
    ["spec.trainer.numNodes", 2],
    ["spec.trainer.numNodes", 2],
  ]);
});

Deno.test("torchtune() omits the master's variables and declares the port", () => {
  const container = jobSetOf(tune({ args: ["epochs=1"] })).spec?.replicatedJobs?.[0]?.template.spec
    ?.template.spec
    ?.containers[0];
  deepEqual(container?.env?.map(({ name }) => name), [
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_NODE_RANK",
  ]);
  deepEqual(container?.args, ["epochs=1"]);
  deepEqual(container?.ports, [{ containerPort: 29500 }]);
});

Deno.test("modelOf() reads the model out of a runtime's name", () => {
  equal(modelOf("torchtune-llama3.2-1b"), "llama3_2/1B");
  equal(modelOf("torchtune-qwen2.5-1.5b"), "qwen2_5/1.5B");
  equal(modelOf("torch-distributed"), "");
  equal(modelOf("a-b-c-d"), "");
});
