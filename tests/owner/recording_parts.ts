/** Parts of a term's recording, of which a test gives some. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { createMemorySink } from "../../katib/log/sqlite_sink.ts";
import type { PlanSource } from "../../owner/observations/observations.ts";
import type { ObservationSink } from "../../owner/observations/sink.ts";
import type { RecordingParts } from "../../owner/term.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import { ONE_RUN } from "../../trials/recording/present_run.ts";

/** A job without a trial, and the plan that records all of its metrics. */
export const PLAIN_JOB = { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" };
export const PLAIN_PLAN: ObservationPlan = {
  kind: "plan",
  key: { kind: "job", namespace: "team", name: "job", uid: "uid-1" },
  job: PLAIN_JOB,
  records: "all",
  rules: [],
  isPlain: true,
  graceMs: 0,
};

/** Returns parts that record nothing unless a plan says so, and stop nothing. */
export function recordingParts(
  { sink, ...plans }: Partial<PlanSource> & { readonly sink?: Partial<ObservationSink> } = {},
): RecordingParts {
  return {
    sink: { ...createMemorySink(), ...sink },
    sinkMs: 2_500,
    plans: {
      planFor: () => ({ kind: "none" }),
      openPlans: () => [],
      isOpen: () => true,
      isPrimary: () => true,
      presentRun: () => ONE_RUN,
      stopTargetFor: () => Promise.resolve(undefined),
      storedStop: () => undefined,
      stoppingJobs: () => [],
      stopShown: () => undefined,
      hasEnded: () => false,
      primaryProblem: () => undefined,
      isSuspended: () => false,
      ...plans,
    },
    stopper: {
      store: () => Promise.resolve({ kind: "gone" }),
      stop: () => Promise.resolve("stopped"),
    },
  };
}
