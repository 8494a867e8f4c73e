/** Progress writer: a JSON patch that holds for one incarnation of a job only. */
import type { JobRef, ProgressPlace } from "../../crds/job_kind.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { CallOptions, KubeClient } from "../../platform/kube/client.ts";
import {
  isConflict,
  isInvalid,
  isNotFound,
  KubeError,
  messageOf,
} from "../../platform/kube/errors.ts";
import { fieldPatch, type KeepsProgress, progressPlace } from "../field_patch.ts";
import type { WriteOutcome, WriteStatus } from "./ledger.ts";

const WRITE_DEADLINE_MS = 5000;

/** The time as `metav1.Time` has it: UTC, whole seconds. */
export function wholeSeconds(time: string): string {
  return rfc3339(Date.parse(time));
}

/** The progress as it is written: only the pushed fields, with the time in whole seconds. */
function writtenStatus(status: TrainerStatus): TrainerStatus {
  const { progressPercentage, estimatedRemainingSeconds, metrics } = status;
  return {
    ...(progressPercentage !== undefined && { progressPercentage }),
    ...(estimatedRemainingSeconds !== undefined && { estimatedRemainingSeconds }),
    ...(metrics !== undefined && { metrics }),
    lastUpdatedTime: wholeSeconds(status.lastUpdatedTime),
  };
}

/** Returns the patch that replaces the whole progress of a job: what was not pushed is removed. */
export const progressPatch = (place: ProgressPlace, uid: string, status: TrainerStatus) =>
  fieldPatch(place, uid, writtenStatus(status));

/** Returns what an error of the write means for the ledger. */
function outcomeOf(error: unknown): WriteOutcome {
  const problem = messageOf(error);
  if (!(error instanceof KubeError)) return { result: "error", problem };
  if (isNotFound(error)) return { result: "gone" };
  if (isInvalid(error)) return { result: "invalid", problem };
  const { retryAfterMs } = error;
  return { result: isConflict(error) ? "conflict" : "error", problem, retryAfterMs };
}

/** Options of {@link createStatusWriter}. */
export interface StatusWriterOptions {
  /** Time that a write may take, in milliseconds. */
  readonly deadlineMs?: number;
  /** Default: every definition keeps it. */
  readonly keepsProgress?: KeepsProgress | undefined;
}

/**
 * Creates the {@link WriteStatus} over a client. Jobs of a kind without a place for progress count as
 * written.
 */
export function createStatusWriter(
  client: Pick<KubeClient, "get" | "patch">,
  { deadlineMs = WRITE_DEADLINE_MS, keepsProgress = () => true }: StatusWriterOptions = {},
): WriteStatus {
  /** An API server refuses another UID, a missing parent of the field and a bad value in the same way. */
  async function afterRefusal(
    job: JobRef,
    place: ProgressPlace,
    { status, refusal }: { readonly status: TrainerStatus; readonly refusal: unknown },
    bounds: CallOptions,
  ): Promise<WriteOutcome> {
    const live = await client.get(job.kind, keyOf(job), bounds);
    if (live.metadata.uid !== job.uid) return { result: "gone" };
    const { annotations, resourceVersion } = live.metadata;
    if (place.at === "status") {
      if (live.status !== undefined) return outcomeOf(refusal);
      const problem = "the job has no status yet that progress could be added to";
      return { result: "conflict", problem };
    }
    if (annotations !== undefined) return outcomeOf(refusal);
    const value = JSON.stringify(writtenStatus(status));
    // The first annotation of the job; the resource version keeps those that others add meanwhile.
    const body = {
      metadata: { uid: job.uid, resourceVersion, annotations: { [place.key]: value } },
    };
    await client.patch(job.kind, keyOf(job), { type: "merge", body }, bounds);
    return { result: "written" };
  }

  return async (job, status, signal) => {
    const place = progressPlace(job.kind, keepsProgress);
    if (place === undefined) return { result: "written" };
    const bounds = { signal, deadlineMs, honorRetryAfter: false };
    try {
      const { operations, subresource } = progressPatch(place, job.uid, status);
      const patch = { type: "json", operations } as const;
      await client.patch(job.kind, keyOf(job), patch, {
        ...(subresource && { subresource }),
        ...bounds,
      });
      return { result: "written" };
    } catch (error) {
      if (!isInvalid(error)) return outcomeOf(error);
      return await afterRefusal(job, place, { status, refusal: error }, bounds).catch(outcomeOf);
    }
  };
}

function keyOf({ namespace, name }: JobRef) {
  return { namespace, name };
}
