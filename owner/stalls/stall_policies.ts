/** Policies of stalled jobs: that of the job, else of its runtime, else of the manager; what is wrong with one is told once. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import { jobRefOf } from "../../crds/job_kind.ts";
import type { ReadAnnotation } from "../../crds/early_stopping.ts";
import { problemsSummary } from "../../crds/field_problem.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import {
  DEFAULT_STALL_POLICY,
  readStallPolicy,
  type StallPolicy,
} from "../../crds/stall_policy.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";

/** Texts that are kept as they were read, and jobs whose notices are remembered. */
const [MAX_TEXTS, MAX_JOBS] = [1_000, 10_000];

/** Options of {@link createStallPolicies}. */
export interface StallPoliciesOptions {
  /** The policy of jobs that have none. Default: that people are told. */
  readonly stallPolicy?: StallPolicy | undefined;
  /** Returns the annotation of the runtime of a job, as it is now. Default: none. */
  readonly runtimePolicy?: ((job: JobRef) => string | undefined) | undefined;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
}

/** Creates the policies. */
export function createStallPolicies(
  { stallPolicy = DEFAULT_STALL_POLICY, runtimePolicy, events }: StallPoliciesOptions,
) {
  const read = createBoundedCache<ReadAnnotation<StallPolicy>>(MAX_TEXTS);
  const isNews = createNotices(MAX_JOBS);

  function warn(kind: JobKind, job: AnyJob, reason: string, message: string): void {
    if (!isNews(job.metadata.uid ?? "", message)) return;
    events?.record(subjectOf(kind, job), { type: "Warning", reason, message });
  }

  const ownText = ({ metadata }: AnyJob) => metadata.annotations?.[ANNOTATIONS.stallPolicy];

  return {
    /** The policy of a job. One that cannot be read is as if people were to be told. */
    of(kind: JobKind, job: AnyJob): StallPolicy {
      const own = ownText(job);
      const text = own ?? runtimePolicy?.(jobRefOf(kind, job));
      if (text === undefined) return stallPolicy;
      const known = read.get(text) ?? readStallPolicy(text);
      read.set(text, known);
      if (known.ok) return known.value;
      const whose = own === undefined ? "of its runtime " : "";
      const what = `${ANNOTATIONS.stallPolicy} ${whose}is not applied`;
      const message = `${what}: ${problemsSummary(known.problems)}`;
      warn(kind, job, EVENT_REASONS.stallPolicyInvalid, message);
      return DEFAULT_STALL_POLICY;
    },
    /** Warns of the policy of a job that another operator runs, whose stalls are not judged. */
    warnOfForeign(kind: JobKind, job: AnyJob): void {
      if (ownText(job) === undefined) return;
      const message = `${ANNOTATIONS.stallPolicy} does nothing: another operator runs this job`;
      warn(kind, job, EVENT_REASONS.notSupported, message);
    },
  };
}

/** The policies by jobs. */
export type StallPolicies = ReturnType<typeof createStallPolicies>;
