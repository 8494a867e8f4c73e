/** Checkpoints of one term: the newest that each job's pods have reported, on its way to the job. */
import { type AnyJob, type JobKind, jobNow, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { isSameCheckpoint, type JobCheckpoint } from "../../crds/job_restart.ts";
import { checkpointOf } from "../../crds/job_state.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { Push } from "../../crds/wire/push.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { FieldWriter } from "../field_writer.ts";
import { createFieldWrites } from "../field_writes.ts";

/** Jobs of which a report is on its way, or was written lately; a forgotten one says it again. */
const MAX_JOBS = 100_000;
/** Least time between two writes of one job, in milliseconds. */
const INTERVAL_MS = 3_000;

const CHECKPOINT = { field: "checkpoint", annotation: ANNOTATIONS.checkpoint };

/** Options of {@link openTermCheckpoints}. */
export interface TermCheckpointsOptions {
  readonly jobs: ReadonlyMap<JobKind, {
    readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange">;
  }>;
  readonly clock: Clock;
  readonly leading: () => boolean;
  readonly writer: Pick<FieldWriter, "keep">;
}

/** Returns the newest checkpoint that a push reports. */
function reportedBy({ trainerStatus, earlier = [] }: Push): JobCheckpoint | undefined {
  const sample = [...earlier, trainerStatus].findLast((it) => it.checkpoint !== undefined);
  if (sample?.checkpoint === undefined) return undefined;
  return { ...sample.checkpoint, time: rfc3339(Date.parse(sample.lastUpdatedTime)) };
}

/** Opens the checkpoints of one term, which follow the caches from now on. */
export function openTermCheckpoints(
  { jobs, clock, leading, writer }: TermCheckpointsOptions,
) {
  /** Reports that their jobs do not show yet. */
  const reports = createBoundedCache<{ job: JobRef; checkpoint: JobCheckpoint }>(MAX_JOBS);
  const dueMs = createBoundedCache<number>(MAX_JOBS);

  /** The newest checkpoint of a job; undefined if none is known. */
  function newestOf(job: JobRef): JobCheckpoint | undefined {
    const object = jobNow(jobs, job);
    return reports.get(job.uid)?.checkpoint ?? (object && checkpointOf(object));
  }

  const writes = createFieldWrites<{ readonly job: JobRef }>({
    what: "checkpoints of jobs",
    clock,
    leading,
    isDue: (uid) => clock.monotonic() >= (dueMs.get(uid) ?? 0),
    isWanted: ({ uid }) => reports.get(uid) !== undefined,
    async write({ job }, signal) {
      const object = jobNow(jobs, job);
      const checkpoint = reports.get(job.uid)?.checkpoint;
      if (object === undefined || checkpoint === undefined) return;
      if (isSameCheckpoint(checkpointOf(object), checkpoint)) return;
      dueMs.set(job.uid, clock.monotonic() + INTERVAL_MS);
      await writer.keep(job, CHECKPOINT, checkpoint, signal);
    },
  });

  function jobSeen(kind: JobKind, object: AnyJob, isGone: boolean): void {
    const { uid = "" } = object.metadata;
    const report = reports.get(uid);
    if (report === undefined) return;
    const isSaid = isSameCheckpoint(checkpointOf(object), report.checkpoint);
    // What was written may show late, or was refused because the job had no status yet.
    if (!isGone && !isSaid) return writes.add({ job: jobRefOf(kind, object) });
    reports.delete(uid);
    writes.drop(uid);
  }

  const stops = [...jobs].map(([kind, { jobs }]) =>
    jobs.onChange((change) => jobSeen(kind, change.object, isRemoval(change)))
  );

  return {
    newestOf,
    /** Takes a push that was taken: the newest report of a job wins, also over one of a later step. */
    reported(push: Push): void {
      const { job } = push;
      const checkpoint = reportedBy(push);
      if (checkpoint === undefined || isSameCheckpoint(newestOf(job), checkpoint)) return;
      reports.set(job.uid, { job, checkpoint });
      writes.add({ job });
    },
    /** Writes what is reported until `signal` aborts, and then once more within `flushMs`. */
    async run(signal: AbortSignal, flushMs: number): Promise<void> {
      try {
        await writes.run(signal);
        if (leading() && flushMs > 0) await writes.flush(flushMs);
      } finally {
        stops.forEach((stop) => stop?.());
      }
    },
  };
}
