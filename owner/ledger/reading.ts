/** Readings of a job's status, and which of two is newer. Pure. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobCheckpoint, ToldRestart } from "../../crds/job_restart.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { compact } from "../../platform/base/json.ts";
import type { JobVersion } from "../owner_poll.ts";
import type { Refused } from "../../platform/http/replicas/owner_router.ts";

/** The newest that is known of a job. */
export interface JobStatus {
  readonly trainerStatus: TrainerStatus;
  /** RFC 3339: when a replica took the push; of an object's own status, its `lastUpdatedTime`. */
  readonly receivedTime: string;
  /** Name of the pod that pushed it; absent if it is the object's own status. */
  readonly pod?: string | undefined;
}

/** The status of one job at its owner. */
export interface Reading extends JobVersion {
  /** Absent if nothing was pushed yet. */
  readonly status?: JobStatus | undefined;
}

/** From where a job goes on when its pods start again, and its last restart. */
export interface Resumption {
  readonly checkpoint?: JobCheckpoint | undefined;
  readonly restart?: ToldRestart | undefined;
}

/** The owner's answer to a reader. */
export type ReadAnswer =
  | { readonly ok: true; readonly status?: JobStatus | undefined } & Resumption
  | Refused;

/** Reads a job's newest status from its owner, on any replica. `signal` aborts when the answer is no longer awaited. */
export type ReadStatus = (
  job: JobRef,
  signal: AbortSignal,
) => ReadAnswer | Promise<ReadAnswer>;

/** A status as clients see it, with what their pods go on from. */
export function statusView(
  { trainerStatus, receivedTime, pod }: Partial<JobStatus>,
  { checkpoint, restart }: Resumption = {},
) {
  return compact({ trainerStatus, receivedTime, pod, checkpoint, restart });
}

/** Milliseconds since the epoch, 0 for what is no time. */
export function timeOf(text: string): number {
  const ms = Date.parse(text);
  return Number.isFinite(ms) ? ms : 0;
}

/**
 * Returns whether `next` is news to a reader that has `last`. A pushed status is newer than anything
 * before it, whatever its times are; an object's own status only if its time is later.
 */
export function isNews(next: JobStatus, last: JobStatus | undefined): boolean {
  if (last === undefined) return true;
  if (next.pod === undefined) {
    const at = timeOf(next.trainerStatus.lastUpdatedTime);
    return at > timeOf(last.trainerStatus.lastUpdatedTime);
  }
  return JSON.stringify(next) !== JSON.stringify(last);
}
