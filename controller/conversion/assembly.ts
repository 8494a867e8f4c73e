/** TrainJob and TrainingRuntime of converted nodes, checked as admission checks them. Pure. */
import type { ObjectMeta } from "../../platform/kube/kubernetes.ts";
import { ANNOTATIONS, LAST_APPLIED, TRAINER_API_VERSION, TRAINER_GROUP } from "../../crds/names.ts";
import type { TrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import { causeOf, type FieldProblem } from "../../crds/field_problem.ts";
import { causesText } from "../../crds/status_cause.ts";
import { runtimeProblems, trainJobProblems } from "../runtime/validation.ts";
import type { Conversion, Nodes } from "./conversion.ts";

/** What is made of a job. */
export interface Parts {
  /** The metadata of the job. */
  readonly metadata: ObjectMeta;
  readonly nodes: Nodes;
  /** More of the TrainJob's spec. Default: nothing. */
  readonly spec?: Partial<TrainJobSpec>;
  /** What else has to be known of the job. */
  readonly notes: readonly string[];
}

/** What is lost of the metadata of a job that was read from a cluster. */
function metadataNotes(metadata: ObjectMeta): string[] {
  const { ownerReferences = [], finalizers = [], annotations = {} } = metadata;
  return [
    ...ownerReferences.map(({ kind, name }) => `metadata: its owner ${kind} ${name} is lost.`),
    ...finalizers.map((it) => `metadata: the finalizer ${it} is lost.`),
    ...annotations[ANNOTATIONS.trialTemplate] === undefined ? [] : [
      `The annotation ${ANNOTATIONS.trialTemplate} names labels and containers of the v1 job: write it for the TrainJob.`,
    ],
  ];
}

/** Annotations that say what was true of the former job. */
const LEFT_OUT: readonly string[] = [LAST_APPLIED, ANNOTATIONS.trainerStatus];

function trainJobOf({ metadata, nodes, spec }: Parts): TrainJob {
  const { name, namespace, labels, annotations = {} } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !LEFT_OUT.includes(key));
  const { numNodes, numProcPerNode } = nodes;
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: {
      name,
      ...namespace === undefined ? {} : { namespace },
      ...labels === undefined ? {} : { labels },
      ...kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) },
    },
    spec: {
      runtimeRef: { apiGroup: TRAINER_GROUP, kind: "TrainingRuntime", name: name ?? "" },
      ...numNodes === undefined ? {} : {
        trainer: { numNodes, ...numProcPerNode === undefined ? {} : { numProcPerNode } },
      },
      ...spec,
    },
  };
}

function runtimeOf({ metadata: { name, namespace }, nodes }: Parts): TrainingRuntime {
  const { mlPolicy, replicatedJobs, successOf } = nodes;
  const successPolicy = successOf && {
    operator: "All" as const,
    targetReplicatedJobs: [...successOf],
  };
  return {
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainingRuntime",
    metadata: { name, ...namespace === undefined ? {} : { namespace } },
    spec: {
      mlPolicy,
      template: {
        spec: {
          replicatedJobs: [...replicatedJobs],
          ...successPolicy === undefined ? {} : { successPolicy },
        },
      },
    },
  };
}

/** Returns problems as refusals, each with its path. */
export function refusalTexts(problems: readonly FieldProblem[], where = ""): string[] {
  return problems.map((it) => where + causesText([causeOf(it)]));
}

/** What admission would refuse of the result, such as a name that is too long. */
function problemsOf(trainJob: TrainJob, runtime: TrainingRuntime): string[] {
  const executor = "external" as const;
  return [
    ...refusalTexts(
      runtime.spec === undefined ? [] : runtimeProblems(runtime.spec, { executor }),
      "TrainingRuntime: ",
    ),
    ...refusalTexts(trainJobProblems({ trainJob, runtime, executor }), "TrainJob: "),
  ];
}

/** Returns the TrainJob and its runtime; or what admission would refuse of them. */
export function assembled(parts: Parts): Conversion {
  const trainJob = trainJobOf(parts);
  const runtime = runtimeOf(parts);
  const refusals = problemsOf(trainJob, runtime);
  if (refusals.length > 0) return { refusals };
  const { nodes, metadata, notes } = parts;
  return { trainJob, runtime, notes: [...nodes.notes, ...metadataNotes(metadata), ...notes] };
}
