/**
 * TrainJobs that a demo follows. The last progress of a job is written up to a second after the job has
 * ended, so an end is shown with that progress, or once it has been waited for.
 */
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Display } from "./display.ts";
import { hasEnded, type JobView, jobView, sameView } from "./job_view.ts";

/** Longest wait for the last progress of a job that has ended, in milliseconds. */
const SETTLE_MS = 3_000;

/** Whether nothing is left to come, as far as the view says it. */
function isSettled(view: JobView): boolean {
  if (!hasEnded(view) || view.progressPercentage === 100) return true;
  return view.state !== "Complete" && view.progressPercentage === undefined;
}

/** A TrainJob, and when it was first seen ended, in milliseconds. */
export interface FollowedJob {
  readonly job: TrainJob;
  readonly endedAt: number | undefined;
}

/** The jobs so far. */
export interface FollowedJobs {
  /** Takes a change in, and shows it. */
  take(job: TrainJob): void;
  /** What a job was last shown as. */
  shown(name: string): JobView | undefined;
  /** Resolves when every end that was taken in is shown. */
  settled(): Promise<void>;
  /** In the order of their creation. */
  all(): readonly FollowedJob[];
}

/** Options of {@link followJobs}. */
export interface FollowOptions {
  readonly display: Pick<Display, "changed">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** The order in which jobs are shown; that in which they appear without it. */
  readonly order?: readonly string[];
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** Follows jobs. */
export function followJobs({ display, clock, order = [], signal }: FollowOptions): FollowedJobs {
  const jobs = new Map<string, FollowedJob>();
  const views = new Map<string, JobView>();
  /** By name, the waits for the last progress. */
  const waits = new Map<string, { readonly over: AbortController; readonly done: Promise<void> }>();
  const names = () => new Set([...order, ...jobs.keys()]);

  function show(view: JobView): void {
    waits.get(view.job)?.over.abort();
    if (sameView(views.get(view.job), view)) return;
    views.set(view.job, view);
    display.changed(view, [...names()].flatMap((name) => views.get(name) ?? []));
  }

  async function wait(name: string, over: AbortSignal): Promise<void> {
    await clock.sleep(SETTLE_MS, AbortSignal.any([signal, over]));
    waits.delete(name);
    const followed = jobs.get(name);
    if (followed !== undefined && !signal.aborted) show(jobView(followed.job));
  }

  return {
    take(job) {
      const view = jobView(job);
      const name = view.job;
      const before = jobs.get(name);
      const ends = before?.endedAt === undefined && hasEnded(view);
      jobs.set(name, { job, endedAt: ends ? clock.now() : before?.endedAt });
      if (isSettled(view)) show(view);
      else if (ends) {
        const over = new AbortController();
        waits.set(name, { over, done: wait(name, over.signal) });
      } else if (!waits.has(name)) show(view);
    },
    shown: (name) => views.get(name),
    async settled() {
      await Promise.all([...waits.values()].map(({ done }) => done));
    },
    all: () => [...names()].flatMap((name) => jobs.get(name) ?? []),
  };
}
