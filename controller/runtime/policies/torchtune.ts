/** Recipes and configurations of torchtune, which the torch policy runs. */
import { type FieldProblem, invalid, valueAt } from "../../../crds/field_problem.ts";
import { RENDEZVOUS_PORT } from "../../../crds/names.ts";
import type { Trainer } from "../../../crds/trainjob.ts";
import type { Draft } from "../draft.ts";

/** The facts from which the recipe follows. */
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

/** Returns the model of a runtime's name, `llama3_2/1B` of `torchtune-llama3.2-1b`; undefined without three parts. */
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

function modelOrName({ runtimeName }: Draft): string {
  return modelOf(runtimeName) ?? runtimeName;
}

function modelProblems(model: string, facts: TorchtuneFacts): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!MODELS.includes(model)) {
    const message = `must have a supported pretrained model, invalid model configured: ${model}`;
    problems.push({ field: "spec.runtimeRef.name", message });
  }
  if (facts.nodes > 1 && model !== MULTI_NODE_MODEL) {
    problems.push({ field: "spec.trainer.numNodes", message: `must be 1 for ${model} model` });
  }
  return problems;
}

function finetuneProblems(
  model: string,
  facts: TorchtuneFacts,
  finetune: Finetune,
): FieldProblem[] {
  if (finetune === "full") return [];
  if (facts.nodes > 1) {
    const message = "LoRA fine-tuning is not supported for multi-node training in TorchTune";
    return [{ field: "spec.trainer.numNodes", message }];
  }
  if (finetune !== "qlora") return [];
  if (model.startsWith("qwen")) {
    return [{
      field: "spec.runtimeRef.name",
      message: `QLoRA is not supported for ${model} model`,
    }];
  }
  if (!model.startsWith("llama3_2/") || isSingleDevice(facts)) return [];
  return facts.processes === "auto"
    ? [{
      field: "spec.trainer.resourcesPerNode",
      message: `must have gpu resource with value 1 for ${model} model when using QLoRA`,
    }]
    : [{
      field: "spec.trainer.numProcPerNode",
      message: `must be auto or 1 for ${model} model when using QLoRA`,
    }];
}

function argumentProblems(args: readonly string[]): FieldProblem[] {
  return args.flatMap((argument, index) => {
    const setting = settingOf(argument);
    const message =
      `must not set immutable config "${setting}" in trainer args; it is managed by the runtime`;
    return MANAGED.includes(setting) ? [{ field: `spec.trainer.args[${index}]`, message }] : [];
  });
}

/** Returns everything in the TrainJob that torchtune does not support. */
export function torchtuneProblems(draft: Draft, facts: TorchtuneFacts): FieldProblem[] {
  const args = draft.trainJob.spec.trainer?.args ?? [];
  const model = modelOrName(draft);
  return [
    ...modelProblems(model, facts),
    ...finetuneProblems(model, facts, finetuneOf(args)),
    ...argumentProblems(args),
  ].map(({ field, message }) => invalid(field, valueAt(draft.trainJob, field), message));
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
    `${modelOrName(draft)}${suffix}`,
    ...facts.runtimeCommand.filter((word) => MANAGED.includes(settingOf(word))),
  ];
}
