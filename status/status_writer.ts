/** The ledger's write: a merge patch of the status subresource, preconditioned by the job's UID. */
import { z } from "zod";
import { KINDS } from "../crds/kinds.ts";
import type { TrainerStatus } from "../crds/trainjob.ts";
import type { KubeClient } from "../kube/client.ts";
import { isConflict, isInvalid, isNotFound, KubeError, messageOf } from "../kube/errors.ts";
import type { LedgerJob, WriteOutcome, WriteStatus } from "./ledger.ts";

const WRITE_DEADLINE_MS = 5000;

/** The time as `metav1.Time` has it: UTC, whole seconds. */
export function wholeSeconds(time: string): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/**
 * The merge patch that replaces the whole trainerStatus: what was not pushed is taken away. The UID
 * makes the API server refuse it for another incarnation of the job.
 */
export function trainerStatusPatch(uid: string, status: TrainerStatus): unknown {
  return {
    metadata: { uid },
    status: {
      trainerStatus: {
        progressPercentage: status.progressPercentage ?? null,
        estimatedRemainingSeconds: status.estimatedRemainingSeconds ?? null,
        metrics: status.metrics ?? null,
        lastUpdatedTime: wholeSeconds(status.lastUpdatedTime),
      },
    },
  };
}

const detailsSchema = z.object({
  causes: z.array(z.looseObject({ field: z.string().optional() })),
});

/** Whether the API server says that the object of that name has another UID. */
function isOtherIncarnation(error: KubeError): boolean {
  const details = detailsSchema.safeParse(error.details);
  const byField = details.success &&
    details.data.causes.some((cause) => cause.field === "metadata.uid");
  return (isInvalid(error) && (byField || error.message.includes("metadata.uid"))) ||
    (isConflict(error) && /UID in precondition/i.test(error.message));
}

/** What an error of the write means for the ledger. */
export function outcomeOf(error: unknown): WriteOutcome {
  const problem = messageOf(error);
  if (!(error instanceof KubeError)) return { result: "error", problem };
  if (isNotFound(error) || isOtherIncarnation(error)) return { result: "gone" };
  if (isInvalid(error)) return { result: "invalid", problem };
  const { retryAfterMs } = error;
  return { result: isConflict(error) ? "conflict" : "error", problem, retryAfterMs };
}

/** Creates the {@link WriteStatus} over a client; a write takes at most `deadlineMs`. */
export function createStatusWriter(
  client: Pick<KubeClient, "patch">,
  deadlineMs = WRITE_DEADLINE_MS,
): WriteStatus {
  return async (job: LedgerJob, status: TrainerStatus, signal?: AbortSignal) => {
    try {
      await client.patch(
        KINDS.trainJob,
        { namespace: job.namespace, name: job.name },
        { type: "merge", body: trainerStatusPatch(job.uid, status) },
        { subresource: "status", signal, deadlineMs, heedRetryAfter: false },
      );
      return { result: "written" };
    } catch (error) {
      return outcomeOf(error);
    }
  };
}
