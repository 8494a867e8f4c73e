/** The decisions of admission by path: reads the objects, looks up what they name, asks the rules. */
import type { z } from "zod";
import type { AnyJob, JobKind } from "../crds/job_kind.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import type { JobSet } from "../crds/jobset.ts";
import { KATIB } from "../crds/katib_names.ts";
import { LABELS } from "../crds/names.ts";
import { optimizationJobSchema } from "../crds/optimization_job.ts";
import {
  type AnyTrainingRuntime,
  clusterTrainingRuntimeSchema,
  trainingRuntimeSchema,
} from "../crds/training_runtime.ts";
import {
  type RuntimeRef,
  runtimeRefOf,
  runtimeScope,
  type TrainJob,
  trainJobSchema,
} from "../crds/trainjob.ts";
import { rfc3339 } from "../platform/base/timestamps.ts";
import type { Clock } from "../platform/base/clock.ts";
import type { AdmissionHandlers } from "./admission_http.ts";
import { type AdmissionHandler, refuseShape, type ReviewContext } from "./admission_review.ts";
import { identifiedPodSchema } from "./identified_pod.ts";
import { jsonPatch } from "./json_diff.ts";
import {
  injectIdentity,
  injectionWarnings,
  type PodEndpoint,
  type PodsJob,
  withLastWords,
  withResumption,
} from "./pod_injection.ts";
import { injectTrial, type TrialOfPod } from "./trial_injection.ts";
import { ALLOWED, type ObjectHandler, ofObjects, outcomeOf } from "./reviewed_objects.ts";
import {
  sampleTrial,
  validateChangedOptimizationJob,
  validateNewOptimizationJob,
} from "./optimization_job_validation.ts";
import { type RuntimeRules, validateRuntime, type Verdict } from "./runtime_validation.ts";
import { defaultTrainJob } from "./trainjob_defaulting.ts";
import {
  needsRuntime,
  type TrainJobRules,
  validateChangedTrainJob,
  validateNewTrainJob,
} from "./trainjob_validation.ts";
import { createV1JobHandlers, type V1JobRules } from "./v1_job_handlers.ts";
import { WEBHOOK_PATHS } from "./webhook_paths.ts";

/** A value now or later. */
type Eventually<T> = T | Promise<T>;

/** Names a TrainJob; the UID distinguishes it from an earlier one of the same name. */
export interface TrainJobKey {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** Functions of other rooms that the handlers call. */
export interface AdmissionOptions {
  readonly kinds: JobKinds;
  /** Returns the rules of rendering for a TrainJob of that runtime, with the objects that they need looked up. */
  readonly trainJobRules: (
    runtime: AnyTrainingRuntime | undefined,
    context: ReviewContext,
  ) => Eventually<TrainJobRules>;
  /** The rules of rendering for runtimes. */
  readonly runtimeRules: RuntimeRules;
  readonly v1JobRules: V1JobRules;
  readonly clock: Clock;
  /** The status endpoint for pods; undefined leaves pods as they are (feature gate off). */
  readonly endpoint: () => PodEndpoint | undefined;
  /** Whether that job may have what its programs say last. */
  readonly tellsLastWords: (job: PodsJob) => boolean;
  /** The job of a pod, as a cache has it. Absent: none is known. */
  readonly jobOf?: (job: PodsJob) => AnyJob | undefined;
  /** The live runtime. A cache should be backed by a read, lest a runtime just made be missed. */
  readonly runtime: (
    ref: RuntimeRef,
    namespace: string,
    context: ReviewContext,
  ) => Eventually<AnyTrainingRuntime | undefined>;
  /** The JobSet of a TrainJob. */
  readonly jobSet: (key: TrainJobKey) => JobSet | undefined;
  /** The runtime that the TrainJob started from, where its snapshot is its own. */
  readonly snapshot: (
    key: TrainJobKey,
    context: ReviewContext,
  ) => Eventually<AnyTrainingRuntime | undefined>;
  /**
   * The Trial that a pod's label names; undefined if there is none. A cache should be backed by a
   * read. Rejects if it is unknown now: then the pod is not created, and its creator tries
   * again.
   */
  readonly trial: (
    key: Pick<TrainJobKey, "namespace" | "name">,
    context: ReviewContext,
  ) => Eventually<TrialOfPod | undefined>;
}

/** The labels with Katib's of a trial's pod, also where Katib's own webhook does not set it. */
function withKatibsLabel(labels: Readonly<Record<string, string>>) {
  const trial = labels[LABELS.trial];
  return trial === undefined ? labels : { [KATIB.trialLabel]: trial, ...labels };
}

/**
 * Whether a pod of that Trial belongs to a job of this trial resource, and its metrics come by push: labelled pods
 * are also those of Trials whose collector is adopted.
 */
function isPodOf(kind: JobKind, trial: TrialOfPod | undefined, isLabelled: boolean): boolean {
  return trial !== undefined && (isLabelled || trial.pushes === true) &&
    trial.run?.kind === kind.kind && trial.run.apiVersion === kind.apiVersion;
}

function podHandler(options: AdmissionOptions): AdmissionHandler {
  return async (request, context) => {
    const endpoint = options.endpoint();
    if (endpoint === undefined || request.operation !== "CREATE") return ALLOWED;
    const pod = identifiedPodSchema.safeParse(request.object);
    if (!pod.success) return refuseShape(request.kind.kind, pod.error);
    const labels = withKatibsLabel(pod.data.metadata?.labels ?? {});
    const namespace = request.namespace ?? pod.data.metadata?.namespace;
    const kinds = options.kinds.ofPod(labels);
    const [first] = kinds;
    if (first === undefined || !namespace) return ALLOWED;
    const name = labels[LABELS.trial] ?? (first.isForeign && labels[KATIB.trialLabel]);
    const trial = name ? await options.trial({ namespace, name }, context) : undefined;
    const isLabelled = labels[LABELS.trial] !== undefined;
    const kind = kinds.find((it) => !it.isForeign || isPodOf(it, trial, isLabelled));
    const job = kind && labels[kind.podLabels.jobName];
    if (!job) return ALLOWED;
    const of = { kind, namespace, name: job };
    const telling = options.tellsLastWords(of) ? withLastWords(pod.data) : pod.data;
    const resuming = withResumption(telling, options.jobOf?.(of));
    const identified = injectIdentity(resuming, of, endpoint);
    const warnings = injectionWarnings(pod.data);
    if (name && !trial) warnings.push(`there is no Trial ${name} that the pod could be of`);
    const patched = trial ? injectTrial(identified, trial, options.kinds) : identified;
    return { allowed: true, patch: jsonPatch(request.object, patched), warnings };
  };
}

/** An object that is not a TrainJob passes unchanged: the schema's check comes after defaulting and names the problem. */
function defaultingHandler({ clock }: AdmissionOptions): AdmissionHandler {
  const handle: ObjectHandler<TrainJob> = (object, old) => {
    const patched = defaultTrainJob(object, old, rfc3339(clock.now()));
    return { allowed: true, patch: jsonPatch(object, patched) };
  };
  return ofObjects(trainJobSchema, handle, () => ALLOWED);
}

/** Judges a TrainJob that is made, with what it names. */
async function judgeNewTrainJob(
  options: AdmissionOptions,
  job: TrainJob,
  namespace: string,
  context: ReviewContext,
): Promise<Verdict> {
  const ref = runtimeRefOf(job);
  if (runtimeScope(job) === undefined) {
    const message = `unsupported runtime: ${ref.kind}.${ref.apiGroup}`;
    const reason = "FieldValueNotSupported";
    const problem = { reason, field: "spec.runtimeRef", value: ref.kind, message } as const;
    return { problems: [problem], warnings: [] };
  }
  const runtime = await options.runtime(ref, namespace, context);
  const rules = await options.trainJobRules(runtime, context);
  return validateNewTrainJob(job, runtime, rules);
}

function optimizationJobHandler(options: AdmissionOptions): AdmissionHandler {
  return ofObjects(optimizationJobSchema, async (object, old, { request, context }) => {
    if (old !== undefined) return outcomeOf(validateChangedOptimizationJob(object, old));
    const namespace = request.namespace ?? object.metadata.namespace ?? "";
    const template = await judgeNewTrainJob(options, sampleTrial(object), namespace, context);
    return outcomeOf(validateNewOptimizationJob(object, template));
  });
}

function trainJobHandler(options: AdmissionOptions): AdmissionHandler {
  async function judgeChange(
    job: TrainJob,
    old: TrainJob,
    namespace: string,
    context: ReviewContext,
  ) {
    if (job.metadata.deletionTimestamp !== undefined) return ALLOWED;
    if (!needsRuntime(job, old)) return outcomeOf(validateChangedTrainJob(job, old));
    const key = { namespace, name: job.metadata.name ?? "", uid: old.metadata.uid };
    const ref = runtimeRefOf(job);
    const jobSet = options.jobSet(key);
    const runtime = await options.snapshot(key, context) ??
      await options.runtime(ref, namespace, context);
    const rules = await options.trainJobRules(runtime, context);
    return outcomeOf(validateChangedTrainJob(job, old, { runtime, jobSet, rules }));
  }

  return ofObjects(trainJobSchema, async (object, old, { request, context }) => {
    const namespace = request.namespace ?? object.metadata.namespace ?? "";
    return old === undefined
      ? outcomeOf(await judgeNewTrainJob(options, object, namespace, context))
      : judgeChange(object, old, namespace, context);
  });
}

function runtimeHandler(
  { runtimeRules }: AdmissionOptions,
  schema: z.ZodType<AnyTrainingRuntime>,
): AdmissionHandler {
  return ofObjects(schema, (it, old) => outcomeOf(validateRuntime(it, old, runtimeRules)));
}

/** The handlers of every webhook, by path. */
export function createAdmissionHandlers(options: AdmissionOptions): AdmissionHandlers {
  return {
    [WEBHOOK_PATHS.mutatePods]: podHandler(options),
    [WEBHOOK_PATHS.defaultTrainJobs]: defaultingHandler(options),
    [WEBHOOK_PATHS.validateTrainJobs]: trainJobHandler(options),
    [WEBHOOK_PATHS.validateTrainingRuntimes]: runtimeHandler(options, trainingRuntimeSchema),
    [WEBHOOK_PATHS.validateClusterTrainingRuntimes]: runtimeHandler(
      options,
      clusterTrainingRuntimeSchema,
    ),
    [WEBHOOK_PATHS.validateOptimizationJobs]: optimizationJobHandler(options),
    ...createV1JobHandlers(options.v1JobRules),
  };
}
