/** Job settings: the spec with Kubernetes' defaults, in memory only, and the fields that are refused. */
import type { Job, Pod } from "../../platform/kube/kubernetes.ts";

type JobSpec = NonNullable<Job["spec"]>;
/** A rule of `spec.podFailurePolicy`. */
export type PodFailureRule = NonNullable<JobSpec["podFailurePolicy"]>["rules"][number];
/** A rule of `spec.successPolicy`. */
export type SuccessRule = NonNullable<JobSpec["successPolicy"]>["rules"][number];

/** The state of a Job, as every decision about it sees it. */
export interface JobSnapshot {
  readonly job: Job;
  /** The pods that the Job controls by uid. */
  readonly pods: readonly Pod[];
  readonly settings: JobSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Returns how a Job is to be run (Kubernetes batch/v1). */
export function jobSettings(job: Job) {
  const spec: Partial<JobSpec> = job.spec ?? {};
  const { parallelism, completions } = spec;
  const replacement = spec.podReplacementPolicy ??
    (spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed");
  return {
    indexed: spec.completionMode === "Indexed",
    parallelism: parallelism ?? 1,
    /** Absent: a work queue, done when one pod has succeeded and none is left. */
    completions: completions ?? (parallelism === undefined ? 1 : undefined),
    backoffLimit: spec.backoffLimit ?? 6,
    activeDeadlineSeconds: spec.activeDeadlineSeconds,
    ttlSecondsAfterFinished: spec.ttlSecondsAfterFinished,
    suspend: spec.suspend ?? false,
    /** Whether a pod is replaced, and counted, only when it has ended, not when it is being deleted. */
    replaceEndedOnly: replacement === "Failed",
    podFailureRules: spec.podFailurePolicy?.rules ?? [],
    successRules: spec.successPolicy?.rules ?? [],
    /** With it the restarts inside of pods count towards the limit. */
    restartsInPlace: spec.template?.spec?.restartPolicy === "OnFailure",
  };
}
export type JobSettings = Readonly<ReturnType<typeof jobSettings>>;

/** Why a Job cannot be run here, naming the fields; undefined if it can. */
export function unsupportedJob(job: Job): string | undefined {
  const spec = job.spec;
  const fields = [
    spec?.backoffLimitPerIndex === undefined ? [] : ["spec.backoffLimitPerIndex"],
    spec?.maxFailedIndexes === undefined ? [] : ["spec.maxFailedIndexes"],
    (spec?.podFailurePolicy?.rules ?? []).flatMap(({ action }, index) =>
      action === "FailIndex" ? [`spec.podFailurePolicy.rules[${index}].action FailIndex`] : []
    ),
  ].flat();
  if (fields.length > 0) {
    return `${fields.join(", ")}: not supported by the embedded Job controller; use backoffLimit`;
  }
  if (spec?.completionMode === "Indexed" && spec.completions === undefined) {
    return "spec.completions: required with completionMode Indexed";
  }
  return undefined;
}
