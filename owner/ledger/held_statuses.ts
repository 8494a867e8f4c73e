/** Newest status of each job that the owner holds for readers during one term. */
import type { JobRef } from "../../crds/job_kind.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { JobStatus, Reading } from "./reading.ts";
import { createWaitingPolls } from "../waiting_polls.ts";
import type { Push } from "../../crds/wire/push.ts";

/** The pushed status, unparsed: nearly all are replaced before they are read. */
interface Held {
  readonly trainerStatus: TrainerStatus;
  readonly receivedMs: number;
  readonly pod: string;
  readonly version: number;
}

function statusOf({ trainerStatus, receivedMs, pod }: Held): JobStatus {
  return { trainerStatus, receivedTime: new Date(receivedMs).toISOString(), pod };
}

/** Creates the newest status by job, for the readers of one term; there is none yet. */
export function createHeldStatuses({ shown, clock, term, maxJobs = 100_000 }: {
  /** Returns what the object of that UID itself shows; undefined if it shows nothing. */
  readonly shown: (job: JobRef) => TrainerStatus | undefined;
  readonly clock: Clock;
  /** Identifies this term. */
  readonly term: string;
  /** Jobs held; the longest unused are forgotten, and read from their objects. Default 100000. */
  readonly maxJobs?: number;
}) {
  const held = createBoundedCache<Held>(maxJobs);
  let version = 0;

  function read(job: JobRef): Reading {
    const own = held.get(job.uid);
    if (own !== undefined) {
      return { uid: job.uid, cursor: `${term}.${own.version}`, status: statusOf(own) };
    }
    const trainerStatus = shown(job);
    if (trainerStatus === undefined) return { uid: job.uid, cursor: `${term}.0` };
    const receivedTime = trainerStatus.lastUpdatedTime;
    return {
      uid: job.uid,
      cursor: `${term}.0.${receivedTime}`,
      status: { trainerStatus, receivedTime },
    };
  }

  const polls = createWaitingPolls({
    read(job, cursor) {
      const reading = read(job);
      return reading.cursor === cursor ? undefined : reading;
    },
    clock,
  });

  return {
    /** Returns the newest that a job pushed in this term; the same object until it pushes again. */
    newestOf: (uid: string) => held.get(uid)?.trainerStatus,
    /** A push was taken: it is the newest of its job now. */
    put(
      { job: { uid }, pod, trainerStatus, receivedMs }: Pick<Push, "job" | "pod" | "receivedMs"> & {
        readonly trainerStatus: TrainerStatus;
      },
    ): void {
      version += 1;
      held.set(uid, { trainerStatus, receivedMs, pod: pod.name, version });
      polls.changed(uid);
    },
    /** The job is gone. */
    forget(uid: string): void {
      held.delete(uid);
      polls.changed(uid);
    },
    poll: polls.poll,
    close: polls.close,
  };
}
