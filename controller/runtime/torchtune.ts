/** torchtune's rules: recipe, configuration and what they exclude (contract trainjob.md 4.1). */
import type { FieldProblem } from "../../crds/field_problem.ts";
import { RENDEZVOUS_PORT } from "../../crds/names.ts";
import type { Trainer } from "../../crds/trainjob.ts";
import type { Draft } from "./draft.ts";

/** What the rules decide by. */
export interface TorchtuneFacts {
  readonly nodes: number;
  readonly processes: number | "auto";
  /** GPUs of a node. */
  readonly gpus: number;
  readonly masterAddress: string;
  /** Command of the runtime's trainer container. */
  readonly runtimeCommand: readonly string[];
}

type Finetune = "qlora" | "lora" | "full";

const ENTRYPOINT = ["tune", "run"];
const MULTI_NODE_MODEL = "llama3_3/70B";
const MODELS = ["llama3_2/1B", "llama3_2/3B", MULTI_NODE_MODEL, "qwen2_5/1.5B"];

/** Settings that the runtime makes and arguments must not. */
const MANAGED = [
  "output_dir",
  "tokenizer.path",
  "tokenizer.merges_file",
  "checkpointer.checkpoint_dir",
];

/** Whether the trainer runs torchtune: its command is exactly `tune run`. */
export function isTorchtune(trainer: Trainer | undefined): boolean {
  const command = trainer?.command ?? [];
  return command.length === ENTRYPOINT.length &&
    command.every((word, index) => word === ENTRYPOINT[index]);
}

/** `torchtune-llama3.2-1b` names `llama3_2/1B`; undefined for a name that has not three parts. */
export function modelOf(runtimeName: string): string | undefined {
  const [, family, size, ...more] = runtimeName.split("-");
  if (family === undefined || size === undefined || more.length > 0) return undefined;
  return `${family.replaceAll(".", "_")}/${size.toUpperCase()}`;
}

function settingOf(argument: string): string {
  return argument.split("=", 1)[0] ?? argument;
}

function isTrue(args: readonly string[], setting: string): boolean {
  const argument = args.find((candidate) => settingOf(candidate) === setting);
  return argument?.slice(setting.length + 1).toLowerCase() === "true";
}

function finetuneOf(args: readonly string[]): Finetune {
  if (isTrue(args, "model.quantize_base") && !isTrue(args, "model.use_dora")) return "qlora";
  return args.some((argument) => argument.includes("model.lora_attn_modules")) ? "lora" : "full";
}

function isSingleDevice({ nodes, processes, gpus }: TorchtuneFacts): boolean {
  return nodes === 1 && (processes === 1 || gpus === 1);
}

function recipe(facts: TorchtuneFacts, finetune: Finetune): { name: string; suffix: string } {
  if (facts.nodes > 1) return { name: "full_finetune_distributed", suffix: "_full_multinode" };
  const way = isSingleDevice(facts) ? "single_device" : "distributed";
  const name = `${finetune === "full" ? "full" : "lora"}_finetune_${way}`;
  return { name, suffix: way === "single_device" ? `_${finetune}_single_device` : `_${finetune}` };
}

function needsRendezvous({ nodes, processes, gpus }: TorchtuneFacts): boolean {
  return nodes > 1 || (processes === "auto" ? gpus > 1 : processes > 1);
}

function problemOfModel(model: string, facts: TorchtuneFacts): FieldProblem | undefined {
  if (!MODELS.includes(model)) {
    const message = `must have a supported pretrained model, invalid model configured: ${model}`;
    return { field: "spec.runtimeRef.name", message };
  }
  if (facts.nodes > 1 && model !== MULTI_NODE_MODEL) {
    return { field: "spec.trainer.numNodes", message: `must be 1 for ${model} model` };
  }
  return undefined;
}

function problemOfFinetune(
  model: string,
  facts: TorchtuneFacts,
  finetune: Finetune,
): FieldProblem | undefined {
  if (finetune === "full") return undefined;
  if (facts.nodes > 1) {
    const message = "LoRA fine-tuning is not supported for multi-node training in TorchTune";
    return { field: "spec.trainer.numNodes", message };
  }
  if (finetune !== "qlora") return undefined;
  if (model.startsWith("qwen")) {
    return { field: "spec.runtimeRef.name", message: `QLoRA is not supported for ${model} model` };
  }
  if (!model.startsWith("llama3_2/") || isSingleDevice(facts)) return undefined;
  return facts.processes === "auto"
    ? {
      field: "spec.trainer.resourcesPerNode",
      message: `must have gpu resource with value 1 for ${model} model when using QLoRA`,
    }
    : {
      field: "spec.trainer.numProcPerNode",
      message: `must be auto or 1 for ${model} model when using QLoRA`,
    };
}

function problemOfArgs(args: readonly string[]): FieldProblem | undefined {
  const index = args.findIndex((argument) => MANAGED.includes(settingOf(argument)));
  if (index < 0) return undefined;
  const setting = settingOf(args[index] ?? "");
  const message =
    `must not set immutable config "${setting}" in trainer args; it is managed by the runtime`;
  return { field: `spec.trainer.args[${index}]`, message };
}

/** Makes the trainer's command, or says what torchtune does not support. */
export function torchtune(draft: Draft, facts: TorchtuneFacts): FieldProblem | undefined {
  const args = draft.trainJob.spec.trainer?.args ?? [];
  const model = modelOf(draft.runtimeName) ?? draft.runtimeName;
  const finetune = finetuneOf(args);
  const problem = problemOfModel(model, facts) ?? problemOfFinetune(model, facts, finetune) ??
    problemOfArgs(args);
  if (problem) return problem;
  const { name, suffix } = recipe(facts, finetune);
  const rendezvous = `--rdzv_endpoint=${facts.masterAddress}:${RENDEZVOUS_PORT}`;
  draft.trainerCommand = [
    ...ENTRYPOINT,
    ...(needsRendezvous(facts) ? [rendezvous] : []),
    name,
    "--config",
    `${model}${suffix}`,
    ...facts.runtimeCommand.filter((word) => MANAGED.includes(settingOf(word))),
  ];
  return undefined;
}
