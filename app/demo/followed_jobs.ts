/**
 * TrainJobs that a demo follows. The last progress of a job is written up to a second after the job has
 * ended, so an end is shown with that progress, or once it has been waited for.
 */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { sameJson } from "../../platform/base/json.ts";
import { rowOf } from "../../views/list/job_row.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import type { Display } from "./display.ts";
import { isOpenState } from "../../crds/names.ts";

/** Longest wait for the last progress of a job that has ended, in milliseconds. */
const SETTLE_MS = 3_000;

/** Whether nothing is left to come, as far as the row says it. */
function isSettled(row: JobRow): boolean {
  if (isOpenState(row.state) || row.progress === 100) return true;
  return row.state !== "Complete" && row.progress === undefined;
}

/** A TrainJob, and when it was first seen ended, in milliseconds. */
export interface FollowedJob {
  readonly job: TrainJob;
  readonly endedAt: number | undefined;
}

/** The jobs so far. */
export type FollowedJobs = ReturnType<typeof followJobs>;

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
export function followJobs({ display, clock, order = [], signal }: FollowOptions) {
  const jobs = new Map<string, FollowedJob>();
  const rows = new Map<string, JobRow>();
  /** By name, the waits for the last progress. */
  const waits = new Map<string, { readonly over: AbortController; readonly done: Promise<void> }>();
  const names = () => new Set([...order, ...jobs.keys()]);

  function show(row: JobRow): void {
    waits.get(row.name)?.over.abort();
    if (sameJson(rows.get(row.name), row)) return;
    rows.set(row.name, row);
    display.changed(row, [...names()].flatMap((name) => rows.get(name) ?? []));
  }

  async function wait(name: string, over: AbortSignal): Promise<void> {
    await clock.sleep(SETTLE_MS, AbortSignal.any([signal, over]));
    waits.delete(name);
    const followed = jobs.get(name);
    if (followed !== undefined && !signal.aborted) show(rowOf(TRAINJOB, followed.job));
  }

  return {
    /** Takes a change in, and shows it. */
    take(job: TrainJob): void {
      const row = rowOf(TRAINJOB, job);
      const { name } = row;
      const before = jobs.get(name);
      const ends = before?.endedAt === undefined && !isOpenState(row.state);
      jobs.set(name, { job, endedAt: ends ? clock.now() : before?.endedAt });
      if (isSettled(row)) show(row);
      else if (ends) {
        const over = new AbortController();
        waits.set(name, { over, done: wait(name, over.signal) });
      } else if (!waits.has(name)) show(row);
    },
    /** What a job was last shown as. */
    shown: (name: string): JobRow | undefined => rows.get(name),
    /** Resolves when every end that was taken in is shown. */
    async settled(): Promise<void> {
      await Promise.all([...waits.values()].map(({ done }) => done));
    },
    /** In the order of their creation. */
    all: (): readonly FollowedJob[] => [...names()].flatMap((name) => jobs.get(name) ?? []),
  };
}
