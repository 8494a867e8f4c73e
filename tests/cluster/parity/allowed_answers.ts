/** Differences from upstream's Trainer that stay, in the answers to requests. */
import type { Allowed } from "./compare.ts";
import type { Difference } from "./differences.ts";

const MESSAGE = /^\/answers\/\d+\/message$/;
const ANSWER = /^\/answers\/\d+\/(result|message)$/;

/** A message without the value that it shows. */
function withoutValue(text: unknown): string {
  return String(text).replace(/Invalid value: .*?(?=: must|: QLoRA)/g, "Invalid value");
}

const sameButValue = ({ upstream, milepost }: Difference) =>
  withoutValue(upstream) === withoutValue(milepost);

export const ALLOWED_ANSWERS: readonly Allowed[] = [
  {
    id: "flux-nodes",
    why: "a flux job without nodes is refused: its lead broker runs in node 0",
    cases: ["flux with numNodes 0"],
    path: ANSWER,
  },
  {
    id: "flux-settings",
    why: "a setting of flux by reference is refused, because the scripts have to know it",
    cases: ["flux with a setting by reference"],
    path: ANSWER,
  },
  {
    id: "mpi-nodes",
    why: "mpi without nodes to run on, or without an implementation, is refused",
    cases: [
      "mpi with numNodes 0",
      "mpi with a launcher apart and no job of nodes",
      "mpi without an implementation",
    ],
    path: ANSWER,
  },
  {
    id: "mpi-implementations",
    why: "MPICH and Intel MPI are allowed beside OpenMPI",
    cases: [
      "mpi of an implementation that upstream does not have",
      "mpi of an unknown implementation",
    ],
    path: ANSWER,
  },
  {
    id: "no-trainer",
    why:
      "a TrainJob that configures a step which its runtime does not have is refused; upstream drops what it says",
    cases: ["a runtime without a trainer step", "flux without a trainer job"],
    path: ANSWER,
  },
  {
    id: "initializer-labels",
    why:
      "an initializer is found by the label of its step; upstream admits by the name of the job, and then sets what has the label",
    cases: [
      "an initializer's job of another name",
      "an initializer's job without its label",
    ],
    path: ANSWER,
  },
  {
    id: "patch-targets",
    why:
      "a patch for an unknown job or container, or one that makes a volume invalid, is refused at once (G25)",
    cases: [
      "a job that the runtime does not have",
      "a container that the runtime does not have",
      "an init container that the runtime does not have",
      "a container in a patch among the init containers",
      "a volume patched with another source",
    ],
    path: ANSWER,
  },
  {
    id: "patch-metadata",
    why:
      "patches may not touch metadata without effect, nor the labels that identify pods, Jobs and steps",
    cases: ["other metadata of a Job", "a label that JobSet owns", "the label of a step"],
    path: ANSWER,
  },
  {
    id: "mounts-by-path",
    why:
      "mounts of a patch are distinguished by their path, so a volume can be mounted twice (G15)",
    cases: ["a mount of another volume at the same name"],
    path: ANSWER,
  },
  {
    id: "shown-values",
    why:
      "a refusal shows the name that is wrong, not the whole object around it; of variables it shows no values",
    path: MESSAGE,
    when: sameButValue,
  },
  {
    id: "one-problem",
    why: "of torchtune's problems with QLoRA only the one to correct is reported",
    cases: [
      "torchtune with QLoRA on two GPUs",
      "torchtune with QLoRA and two processes",
      "torchtune with QLoRA on one CPU",
    ],
    path: MESSAGE,
  },
  {
    id: "torchtune-nodes",
    why:
      "torchtune refuses several nodes, and LoRA on them, also if it is the runtime that asks for them",
    cases: [
      "torchtune with a small model on nodes of the policy",
      "torchtune with LoRA on nodes of the policy",
    ],
    path: ANSWER,
  },
  {
    id: "unknown-kind",
    why: "the refusal of an unknown kind of runtime names the field",
    cases: ["a runtime of an unknown kind", "a runtime of another group"],
    path: MESSAGE,
    when: ({ upstream, milepost }) =>
      String(milepost).endsWith(String(upstream).split("denied the request: ")[1] ?? "?"),
  },
  {
    id: "bounds-of-numbers",
    why:
      "`numNodes` below 0 and `numProcPerNode` below 1 are refused by the schema, as upstream's next version does",
    cases: ["numNodes below 0", "numProcPerNode below 1", "mpi with no processes"],
    path: ANSWER,
  },
  {
    id: "wrong-types",
    why:
      "a value of a wrong type gets 422 with its field; upstream's webhook answers 400 with Go's words",
    cases: ["numNodes that is no number", "numProcPerNode auto"],
    path: ANSWER,
  },
  {
    id: "name-lengths",
    why: "a name that is too long for its pods is refused, with the length that fits (G13)",
    cases: ["a name too long for its pods", "flux with a name too long for its volume"],
    path: ANSWER,
  },
  {
    id: "template-required",
    why: "a runtime without a template is refused; nothing could be made of it",
    cases: ["a runtime without a template", "a runtime without a spec"],
    path: ANSWER,
  },
  {
    id: "own-words",
    why:
      "the refusal of variables for the trainer's own container is in our words after its beginning",
    cases: ["env injected into the trainer's own container"],
    path: MESSAGE,
  },
  {
    id: "frozen",
    why: "optional immutable fields can neither be added nor removed (G3)",
    cases: ["a trainer is added", "a trainer is removed", "a deadline is added"],
    path: ANSWER,
  },
  {
    id: "runtime-updates",
    why: "an update of a TrainingRuntime is validated like its creation (G18)",
    cases: ["a runtime becomes one that is not valid"],
    path: ANSWER,
  },
  {
    id: "runtime-deleted",
    why: "a TrainJob whose runtime was deleted, or does not fit it any more, can be resumed (G11)",
    cases: [
      "the runtime is deleted while a TrainJob is suspended",
      "the runtime changes so that a suspended TrainJob does not fit it",
    ],
    path: ANSWER,
  },
  {
    id: "deprecated-once",
    why:
      "a deprecated runtime is warned of when a TrainJob is created, and not at each change of it",
    cases: ["labels of a TrainJob on a deprecated runtime change"],
    path: /^\/answers\/\d+\/warnings$/,
  },
];
