/** Histories of jobs at their owner: beside which log each is kept, if it is. */
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import type { JobHistories, JobNews } from "./job_history.ts";
import type { PlanSource } from "./observations.ts";
import { type ObservationSink, SinkError } from "./sink.ts";

/** Options of {@link createJobHistories}. */
export interface JobHistoriesOptions {
  readonly sink: Pick<ObservationSink, "history" | "traits">;
  readonly plans: Pick<PlanSource, "planFor">;
  /** Whether the log of a plan ends with this term. */
  readonly isInPlainLogs: (plan: ObservationPlan) => boolean;
  readonly clock: Clock;
  /** Deadline of one call to the sink, in milliseconds. */
  readonly sinkMs: number;
}

/** Creates {@link JobHistories}. */
export function createJobHistories(options: JobHistoriesOptions): JobHistories {
  const { sink, plans, isInPlainLogs, clock, sinkMs } = options;

  const inTime = <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => {
    const why = `the observation log did not answer within ${sinkMs} ms`;
    const onDeadline = () => new SinkError("unavailable", why);
    return withDeadline({ clock, deadlineMs: sinkMs, signal, onDeadline }, work);
  };

  return {
    get areKept() {
      return sink.history !== undefined && sink.traits.isShared;
    },
    async keep(news, signal) {
      const later: JobNews[] = [];
      const now: Parameters<NonNullable<typeof sink.history>["keep"]>[0][number][] = [];
      for (const { job, ...one } of news) {
        const plan = await plans.planFor(job, signal);
        if (plan.kind === "unknown") later.push({ job, ...one });
        if (plan.kind === "plan" && !isInPlainLogs(plan)) now.push({ ...one, key: plan.key });
      }
      if (now.length > 0) await inTime(signal, async (it) => await sink.history?.keep(now, it));
      return later;
    },
    async read(job, signal) {
      const plan = await plans.planFor(job, signal);
      if (plan.kind === "unknown") throw new SinkError("unavailable", plan.why);
      if (plan.kind !== "plan" || isInPlainLogs(plan)) return undefined;
      return await inTime(signal, async (it) => await sink.history?.read(plan.key, it));
    },
  };
}
