/** The ledger's write: a JSON patch of the status subresource that holds for one incarnation only. */
import { KINDS } from "../../crds/kinds.ts";
import type { TrainerStatus } from "../../crds/trainjob.ts";
import { rfc3339 } from "../../crds/timestamps.ts";
import type { CallOptions, JsonPatchOperation, KubeClient } from "../../kube/client.ts";
import { isConflict, isInvalid, isNotFound, KubeError, messageOf } from "../../kube/errors.ts";
import type { LedgerJob, WriteOutcome, WriteStatus } from "./ledger.ts";

const WRITE_DEADLINE_MS = 5000;

/** The time as `metav1.Time` has it: UTC, whole seconds. */
export function wholeSeconds(time: string): string {
  return rfc3339(Date.parse(time));
}

/**
 * The JSON patch that replaces the whole trainerStatus: what was not pushed is taken away. It tests
 * the UID itself, since an API server takes no notice of the metadata in a patch of a custom
 * resource's status: a merge patch with another job's UID in it is carried out all the same.
 */
export function trainerStatusPatch(uid: string, status: TrainerStatus): JsonPatchOperation[] {
  const { progressPercentage, estimatedRemainingSeconds, metrics } = status;
  const value = {
    ...(progressPercentage !== undefined && { progressPercentage }),
    ...(estimatedRemainingSeconds !== undefined && { estimatedRemainingSeconds }),
    ...(metrics !== undefined && { metrics }),
    lastUpdatedTime: wholeSeconds(status.lastUpdatedTime),
  };
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "add", path: "/status/trainerStatus", value },
  ];
}

/** What an error of the write means for the ledger. */
export function outcomeOf(error: unknown): WriteOutcome {
  const problem = messageOf(error);
  if (!(error instanceof KubeError)) return { result: "error", problem };
  if (isNotFound(error)) return { result: "gone" };
  if (isInvalid(error)) return { result: "invalid", problem };
  const { retryAfterMs } = error;
  return { result: isConflict(error) ? "conflict" : "error", problem, retryAfterMs };
}

/** Creates the {@link WriteStatus} over a client; a write takes at most `deadlineMs`. */
export function createStatusWriter(
  client: Pick<KubeClient, "get" | "patch">,
  deadlineMs = WRITE_DEADLINE_MS,
): WriteStatus {
  /** A patch is refused in the same way for another UID, for no status to add to, and for its value. */
  async function whyRefused(job: LedgerJob, refusal: unknown, bounds: CallOptions) {
    const live = await client.get(KINDS.trainJob, keyOf(job), bounds);
    if (live.metadata.uid !== job.uid) return { result: "gone" } as const;
    if (live.status !== undefined) return outcomeOf(refusal);
    const problem = "the job has no status yet that progress could be added to";
    return { result: "conflict", problem } as const;
  }

  return async (job, status, signal) => {
    const bounds = { signal, deadlineMs, heedRetryAfter: false };
    try {
      const operations = trainerStatusPatch(job.uid, status);
      const patch = { type: "json", operations } as const;
      await client.patch(KINDS.trainJob, keyOf(job), patch, { subresource: "status", ...bounds });
      return { result: "written" };
    } catch (error) {
      if (!isInvalid(error)) return outcomeOf(error);
      return await whyRefused(job, error, bounds).catch(outcomeOf);
    }
  };
}

function keyOf({ namespace, name }: LedgerJob) {
  return { namespace, name };
}
