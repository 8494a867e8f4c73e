/** Conversion of v1 jobs to TrainJobs, each with a TrainingRuntime. Pure. */
import type { V1Job } from "../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import {
  ANNOTATIONS,
  JAX_ENV,
  LAST_APPLIED,
  MULTIKUEUE_CONTROLLER,
  TRAINER_API_VERSION,
  TRAINER_GROUP,
} from "../../crds/names.ts";
import type { TrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { causeOf, type FieldProblem } from "../../crds/field_problem.ts";
import { causesText } from "../../crds/status_cause.ts";
import { runOf } from "../jobs/defaults.ts";
import type { Run } from "../jobs/run.ts";
import { v1JobProblems } from "../jobs/validation.ts";
import { runtimeProblems, trainJobProblems } from "../runtime/validation.ts";
import { alikeNodes } from "./alike_nodes.ts";
import type { Conversion, Nodes, NodesOrRefusals } from "./conversion.ts";
import { templateRefusals } from "./pod_texts.ts";
import { pyTorchNodes } from "./pytorch.ts";
import { tensorFlowNodes } from "./tensorflow.ts";

const refuse = (why: string) => (): NodesOrRefusals => ({ refusals: [`kind: ${why}`] });

/** What each kind makes of its replicas. */
const CONVERSIONS: Readonly<Record<V1KindName, (run: Run) => NodesOrRefusals>> = {
  TFJob: tensorFlowNodes,
  PyTorchJob: pyTorchNodes,
  // The variables of the policy xgboost would make its programs look for a tracker.
  XGBoostJob: (run) => alikeNodes(run, { mlPolicy: {}, fromPolicy: [] }),
  JAXJob: (run) =>
    alikeNodes(run, { mlPolicy: { jax: {} }, fromPolicy: [...Object.values(JAX_ENV)] }),
  MXJob: refuse("TrainJobs have no policy for MXNet, whose roles have different variables"),
  MPIJob: refuse(
    "a launcher reaches the nodes of a TrainJob over SSH, which their image has to serve; that of an MPIJob used kubectl",
  ),
  PaddleJob: refuse(
    "TrainJobs have no policy for Paddle, whose first replica is addressed differently",
  ),
};

const CLEAN_UP_NOTES = {
  None: "cleanPodPolicy: pods that still run when the job has ended are deleted; None kept them.",
  All:
    "cleanPodPolicy: pods that have ended are kept until the TrainJob is deleted; All deleted them.",
  Running: undefined,
} as const;

/** What is lost of the metadata of a job that was read from a cluster. */
function metadataNotes({ metadata }: V1Job): string[] {
  const { ownerReferences = [], finalizers = [], annotations = {} } = metadata;
  return [
    ...ownerReferences.map(({ kind, name }) => `metadata: its owner ${kind} ${name} is lost.`),
    ...finalizers.map((it) => `metadata: the finalizer ${it} is lost.`),
    ...annotations[ANNOTATIONS.trialTemplate] === undefined ? [] : [
      `The annotation ${ANNOTATIONS.trialTemplate} names labels and containers of the v1 job: write it for the TrainJob.`,
    ],
  ];
}

/** What no field of a TrainJob says. */
function notesOf({ spec: { runPolicy = {} }, cleanPodPolicy, replicas }: Run): string[] {
  const cleanUp = CLEAN_UP_NOTES[cleanPodPolicy];
  const { ttlSecondsAfterFinished, schedulingPolicy, backoffLimit } = runPolicy;
  return [
    ...cleanUp === undefined ? [] : [cleanUp],
    ...ttlSecondsAfterFinished === undefined ? [] : [
      `ttlSecondsAfterFinished: ${ttlSecondsAfterFinished} is lost; nothing deletes the TrainJob.`,
    ],
    ...schedulingPolicy === undefined ? [] : [
      "schedulingPolicy is lost; a gang is a podGroupPolicy of the runtime, which names its scheduler.",
    ],
    ...backoffLimit !== undefined && replicas.length > 1
      ? [
        "backoffLimit counts the restarts of each replicated job by itself, no more of all together.",
      ]
      : [],
  ];
}

/** Annotations that say what was true of the v1 job. */
const LEFT_OUT: readonly string[] = [LAST_APPLIED, ANNOTATIONS.trainerStatus];

function trainJobOf({ metadata }: V1Job, { spec, suspended }: Run, nodes: Nodes): TrainJob {
  const { name, namespace, labels, annotations = {} } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !LEFT_OUT.includes(key));
  const { numNodes, numProcPerNode } = nodes;
  const deadline = spec.runPolicy?.activeDeadlineSeconds;
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
      ...suspended ? { suspend: true } : {},
      ...deadline === undefined ? {} : { activeDeadlineSeconds: deadline },
      ...spec.runPolicy?.managedBy === MULTIKUEUE_CONTROLLER
        ? { managedBy: MULTIKUEUE_CONTROLLER }
        : {},
    },
  };
}

function runtimeOf({ metadata: { name, namespace } }: V1Job, nodes: Nodes): TrainingRuntime {
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

function refusalsOf(run: Run): string[] {
  const deadline = run.spec.runPolicy?.activeDeadlineSeconds;
  return [
    ...deadline === 0
      ? ["spec.runPolicy.activeDeadlineSeconds: 0 fails the job at once; a TrainJob cannot"]
      : [],
    ...templateRefusals(run),
  ];
}

const told = (problems: readonly FieldProblem[], where = "") =>
  problems.map((it) => where + causesText([causeOf(it)]));

/** What admission would refuse of the result, such as a name that is too long. */
function problemsOf(trainJob: TrainJob, runtime: TrainingRuntime): string[] {
  const executor = "external" as const;
  return [
    ...told(
      runtime.spec === undefined ? [] : runtimeProblems(runtime.spec, { executor }),
      "TrainingRuntime: ",
    ),
    ...told(trainJobProblems({ trainJob, runtime, executor }), "TrainJob: "),
  ];
}

/** Converts a v1 job. */
export function convert(kind: V1KindName, job: V1Job): Conversion {
  const invalid = v1JobProblems(V1_KINDS[kind], job);
  if (invalid.length > 0) return { refusals: told(invalid) };
  const run = runOf(V1_KINDS[kind], job);
  const nodes = CONVERSIONS[kind](run);
  const refusals = [...refusalsOf(run), ..."refusals" in nodes ? nodes.refusals : []];
  if (refusals.length > 0 || "refusals" in nodes) return { refusals };
  const trainJob = trainJobOf(job, run, nodes);
  const runtime = runtimeOf(job, nodes);
  const problems = problemsOf(trainJob, runtime);
  if (problems.length > 0) return { refusals: problems };
  return { trainJob, runtime, notes: [...nodes.notes, ...metadataNotes(job), ...notesOf(run)] };
}
