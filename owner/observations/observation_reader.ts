/** Reader of observation logs at their owner. */
import { type ObservationSink, SinkError } from "./sink.ts";
import type { JobRef } from "../../crds/job_kind.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { Actors } from "./actors.ts";
import type { Observations, PlanSource } from "./observations.ts";
import type { PlainLogs } from "./plain_logs.ts";

/** Creates the reader of one term. */
export function createObservationReader(
  options: {
    readonly plans: Pick<PlanSource, "planFor">;
    readonly actors: Pick<Actors, "of">;
    readonly plainLogs: Pick<PlainLogs, "snapshotOf" | "read">;
    /** Whether the log of a plan is among `plainLogs`. */
    readonly isInPlainLogs: (plan: ObservationPlan) => boolean;
    readonly sink: Pick<ObservationSink, "read" | "traits">;
  },
): Pick<Observations, "logOf" | "snapshotOf" | "pageOf"> {
  const { plans, actors, plainLogs, isInPlainLogs, sink } = options;

  /** Resolves with undefined if nothing of the job is recorded. */
  async function planOf(job: JobRef, signal: AbortSignal) {
    const plan = await plans.planFor(job, signal);
    if (plan.kind === "unknown") throw new SinkError("unavailable", plan.why);
    return plan.kind === "plan" ? plan : undefined;
  }

  return {
    async logOf(job, signal) {
      const plan = await planOf(job, signal);
      return plan === undefined || isInPlainLogs(plan) ? undefined : plan.key;
    },
    async snapshotOf(job, signal) {
      const plan = await planOf(job, signal);
      if (plan === undefined) return undefined;
      if (isInPlainLogs(plan)) {
        return { plan, ...plainLogs.snapshotOf(job.uid) ?? { metrics: [] } };
      }
      const actor = actors.of(plan);
      const state = await actor.load();
      return { plan, metrics: state.metrics(), primaryPod: actor.pod };
    },
    async pageOf(job, query, signal) {
      const plan = await planOf(job, signal);
      if (plan === undefined) return undefined;
      const { limit } = query;
      const range = { ...query, limit: limit + 1 };
      const isPlain = isInPlainLogs(plan);
      const rows = isPlain
        ? plainLogs.read(job.uid, range)
        : await sink.read(plan.key, signal, range);
      const isTold = isPlain || sink.traits.keepsRuns;
      return { rows: rows.slice(0, limit), more: rows.length > limit, isTold };
    },
  };
}
