/** Writer of the end of a stalled job that its policy stops: it has failed, and its reconciler ends its pods (docs/decisions/0084). */
import { type JobRef, jobText } from "../../crds/job_kind.ts";
import { failedConditions } from "../../crds/job_conditions.ts";
import { shouldProgress } from "../../crds/job_state.ts";
import { EVENT_REASONS, STALLED_REASON } from "../../crds/names.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { ignoring } from "../../platform/kube/errors.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { decidedAgain, hasChanged } from "../../platform/kube/rereading.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { aboutJob } from "../../trials/plan/notice.ts";

/** Returns the function that ends a job, unless it need not make progress any more. */
export function createStallEnd({ client, events, clock, deadlineMs }: {
  /** Its writes are fenced: they leave only while this replica leads. */
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly deadlineMs: number;
}) {
  return async (job: JobRef, message: string, signal: AbortSignal): Promise<void> => {
    const { kind, namespace, name, uid } = job;
    const bounds = { signal, deadlineMs };
    await decidedAgain(jobText(job), async () => {
      const live = await getOrUndefined(client, kind, { namespace, name }, bounds);
      if (live?.metadata.uid !== uid || !shouldProgress(kind, live)) return "over";
      const end = { reason: STALLED_REASON, message };
      const conditions = failedConditions(kind, live, end, rfc3339(clock.now()));
      const patch = { type: "merge", body: asRead(live, { status: { conditions } }) } as const;
      const options = { subresource: "status", ...bounds };
      const ended = await client.patch(kind, { namespace, name }, patch, options)
        .catch(ignoring(hasChanged));
      if (ended === undefined) return undefined;
      events?.record(aboutJob(job), {
        type: "Warning",
        reason: EVENT_REASONS.failed,
        message: `stopped, as its policy says: ${message}`,
      });
      return "over";
    });
  };
}

/** The function that ends a job. */
export type StallEnd = ReturnType<typeof createStallEnd>;
