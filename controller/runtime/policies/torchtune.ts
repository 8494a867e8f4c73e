/** Recipes and configurations of torchtune, which the torch policy runs. */
import { type FieldProblem, invalid } from "../../../crds/field_problem.ts";
import { RENDEZVOUS_PORT } from "../../../crds/policy_names.ts";
import type { Trainer } from "../../../crds/trainjob.ts";
import type { Draft } from "../draft.ts";

/** The facts from which the recipe follows. */
export interface TorchtuneFacts {
  readonly nodes: number;
  /** Processes of a node; `auto` counts its GPUs. */
  readonly processes: number | "auto";
  /** GPUs of a node. */
  readonly gpus: number;
  readonly masterAddress: string;
  /** Commands of the runtime's trainer containers. */
  readonly runtimeCommand: readonly string[];
}

type Finetune = "qlora" | "lora" | "full";

const ENTRYPOINT = ["tune", "run"];
const MULTI_NODE_MODEL = "llama3_3/70B";
/** Models that QLoRA trains only on a single device, and one that it does not train. */
const SINGLE_DEVICE_MODELS = ["llama3_2/1B", "llama3_2/3B"];
const WITHOUT_QLORA = "qwen2_5/1.5B";
const MODELS = [...SINGLE_DEVICE_MODELS, MULTI_NODE_MODEL, WITHOUT_QLORA];

/** Settings that belong to the runtime; arguments must not set them. */
const MANAGED = [
  "output_dir",
  "tokenizer.path",
  "tokenizer.merges_file",
  "checkpointer.checkpoint_dir",
];

/** Reports whether the trainer runs torchtune: its command is exactly `tune run`. */
export function isTorchtune(trainer: Trainer | undefined): boolean {
  const command = trainer?.command ?? [];
  return command.length === ENTRYPOINT.length &&
    command.every((word, index) => word === ENTRYPOINT[index]);
}

/** Returns the model of a runtime's name, `llama3_2/1B` of `torchtune-llama3.2-1b`; empty without three parts. */
export function modelOf(runtimeName: string): string {
  const [, family, size, ...more] = runtimeName.split("-");
  if (family === undefined || size === undefined || more.length > 0) return "";
  return `${family.replaceAll(".", "_")}/${size.toUpperCase()}`;
}

function settingOf(argument: string): string {
  return argument.split("=", 1)[0] ?? argument;
}

/** Reports whether an argument turns the setting on, by its name or by one that contains it, as upstream. */
function isTrue(args: readonly string[], setting: string): boolean {
  return args.some((argument) => {
    const name = settingOf(argument);
    const value = argument.slice(name.length + 1).trim();
    return name.includes(setting) && value.toLowerCase() === "true";
  });
}

function finetuneOf(args: readonly string[]): Finetune {
  if (isTrue(args, "model.quantize_base") && !isTrue(args, "model.use_dora")) return "qlora";
  return args.some((argument) => argument.includes("model.lora_attn_modules")) ? "lora" : "full";
}

function isSingleDevice({ nodes, processes, gpus }: TorchtuneFacts): boolean {
  return nodes === 1 && (processes === 1 || gpus === 1);
}

/** The recipe; without exactly one node it is the full one. */
function recipe(facts: TorchtuneFacts, finetune: Finetune): { name: string; suffix: string } {
  if (facts.nodes !== 1) {
    const suffix = facts.nodes > 1 ? "_full_multinode" : "_full";
    return { name: "full_finetune_distributed", suffix };
  }
  const way = isSingleDevice(facts) ? "single_device" : "distributed";
  const name = `${finetune === "full" ? "full" : "lora"}_finetune_${way}`;
  return { name, suffix: way === "single_device" ? `_${finetune}_single_device` : `_${finetune}` };
}

function needsRendezvous({ nodes, processes, gpus }: TorchtuneFacts): boolean {
  return nodes > 1 || (processes === "auto" ? gpus > 1 : processes > 1);
}

function modelProblems(draft: Draft, model: string, facts: TorchtuneFacts): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!MODELS.includes(model)) {
    const message = `must have a supported pretrained model, invalid model configured: ${model}`;
    problems.push(invalid("spec.runtimeRef.name", draft.runtimeName, message));
  }
  if (facts.nodes > 1 && model !== MULTI_NODE_MODEL) {
    problems.push(invalid("spec.trainer.numNodes", facts.nodes, `must be 1 for ${model} model`));
  }
  return problems;
}

/** QLoRA needs one process by number, or one GPU; that a node has one CPU is not enough. */
function qloraProblems(draft: Draft, model: string, facts: TorchtuneFacts): FieldProblem[] {
  const { numProcPerNode, resourcesPerNode } = draft.trainJob.spec.trainer ?? {};
  if (model === WITHOUT_QLORA) {
    const message = `QLoRA is not supported for ${model} model`;
    return [invalid("spec.runtimeRef.name", draft.runtimeName, message)];
  }
  const isSingle = isSingleDevice({ ...facts, processes: numProcPerNode ?? "auto" });
  if (isSingle || !SINGLE_DEVICE_MODELS.includes(model)) return [];
  if (numProcPerNode !== undefined) {
    const message = `must be auto or 1 for ${model} model when using QLoRA`;
    return [invalid("spec.trainer.numProcPerNode", numProcPerNode, message)];
  }
  const message = `must have gpu resource with value 1 for ${model} model when using QLoRA`;
  return [invalid("spec.trainer.resourcesPerNode", resourcesPerNode, message)];
}

function finetuneProblems(
  draft: Draft,
  model: string,
  facts: TorchtuneFacts,
): FieldProblem[] {
  const finetune = finetuneOf(draft.trainJob.spec.trainer?.args ?? []);
  if (finetune === "full") return [];
  if (facts.nodes > 1) {
    const message = "LoRA fine-tuning is not supported for multi-node training in TorchTune";
    return [invalid("spec.trainer.numNodes", facts.nodes, message)];
  }
  return finetune === "qlora" && facts.nodes === 1 ? qloraProblems(draft, model, facts) : [];
}

function argumentProblems({ trainJob }: Draft): FieldProblem[] {
  return (trainJob.spec.trainer?.args ?? []).flatMap((argument, index) => {
    const setting = settingOf(argument);
    const message =
      `must not set immutable config "${setting}" in trainer args; it is managed by the runtime`;
    return MANAGED.includes(setting)
      ? [invalid(`spec.trainer.args[${index}]`, argument, message)]
      : [];
  });
}

/** Returns everything in the TrainJob that torchtune does not support. */
export function torchtuneProblems(draft: Draft, facts: TorchtuneFacts): FieldProblem[] {
  const model = modelOf(draft.runtimeName);
  return [
    ...modelProblems(draft, model, facts),
    ...finetuneProblems(draft, model, facts),
    ...argumentProblems(draft),
  ];
}

/** Returns the trainer's command. */
export function torchtuneCommand(draft: Draft, facts: TorchtuneFacts): string[] {
  const finetune = finetuneOf(draft.trainJob.spec.trainer?.args ?? []);
  const { name, suffix } = recipe(facts, finetune);
  const rendezvous = `--rdzv_endpoint=${facts.masterAddress}:${RENDEZVOUS_PORT}`;
  return [
    ...ENTRYPOINT,
    ...(needsRendezvous(facts) ? [rendezvous] : []),
    name,
    "--config",
    `${modelOf(draft.runtimeName)}${suffix}`,
    ...facts.runtimeCommand.filter((word) => MANAGED.includes(settingOf(word))),
  ];
}
