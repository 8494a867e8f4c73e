/** Conversion of v1 jobs to TrainJobs, each with a TrainingRuntime. Pure. */
import type { V1Job } from "../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import { ANNOTATIONS, MULTIKUEUE_CONTROLLER } from "../../crds/names.ts";
import { JAX_ENV } from "../../crds/policy_names.ts";
import type { TrainJobSpec } from "../../crds/trainjob.ts";
import { runOf } from "../jobs/defaults.ts";
import type { Run } from "../jobs/run.ts";
import { v1JobProblems } from "../jobs/validation.ts";
import { alikeNodes } from "./alike_nodes.ts";
import { assembled, refusalTexts } from "./assembly.ts";
import type { Conversion, NodesOrRefusals } from "./conversion.ts";
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

/** What no field of a TrainJob says. */
function notesOf({ spec: { runPolicy = {} }, cleanPodPolicy, replicas }: Run): string[] {
  const cleanUp = CLEAN_UP_NOTES[cleanPodPolicy];
  const { schedulingPolicy, backoffLimit } = runPolicy;
  return [
    ...cleanUp === undefined ? [] : [cleanUp],
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

/** What the TrainJob's spec says of the run. */
function specOf({ spec: { runPolicy = {} }, suspended }: Run): Partial<TrainJobSpec> {
  const { activeDeadlineSeconds, managedBy } = runPolicy;
  return {
    ...suspended ? { suspend: true } : {},
    ...activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds },
    ...managedBy === MULTIKUEUE_CONTROLLER ? { managedBy } : {},
  };
}

/** The metadata, in which a TrainJob has its time to live. */
function metadataOf({ metadata, spec: { runPolicy } }: V1Job): V1Job["metadata"] {
  const seconds = runPolicy?.ttlSecondsAfterFinished;
  if (seconds === undefined) return metadata;
  const timeToLive = { [ANNOTATIONS.timeToLive]: String(seconds) };
  return { ...metadata, annotations: { ...metadata.annotations, ...timeToLive } };
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

/** Converts a v1 job. */
export function convert(kind: V1KindName, job: V1Job): Conversion {
  const invalid = v1JobProblems(V1_KINDS[kind], job);
  if (invalid.length > 0) return { refusals: refusalTexts(invalid) };
  const run = runOf(V1_KINDS[kind], job);
  const nodes = CONVERSIONS[kind](run);
  const refusals = [...refusalsOf(run), ..."refusals" in nodes ? nodes.refusals : []];
  if (refusals.length > 0 || "refusals" in nodes) return { refusals };
  return assembled({
    metadata: metadataOf(job),
    nodes,
    spec: specOf(run),
    notes: notesOf(run),
  });
}
