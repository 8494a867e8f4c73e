/** Writer of decisions to stop jobs early into their status, which is read back (docs/decisions/0043). */
import { withAsker } from "../../platform/base/asked_by.ts";
import { type AnyJob, type JobRef, jobText } from "../../crds/job_kind.ts";
import { suspensionOf } from "../../crds/job_state.ts";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import type { JobStop } from "../../crds/trainjob.ts";
import { humanDuration } from "../../platform/base/human_duration.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { ignoring } from "../../platform/kube/errors.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { decidedAgain, hasChanged } from "../../platform/kube/rereading.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { LogKey } from "../../trials/recording/observation_row.ts";
import { aboutJob } from "../../trials/plan/notice.ts";
import {
  type DecidedStop,
  decisionOf,
  graceLeftMs,
  type StoreOutcome,
  storeStep,
} from "../../owner/observations/stop_decision.ts";
import { hasOtherEnd } from "./stop_writes.ts";

/** Options of {@link storeStop}. */
export interface StopStoreOptions {
  /** Its writes are fenced: they leave only while this replica leads. */
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Pick<Clock, "now">;
  /** Deadline of each call, in milliseconds: it ends before another owner may begin (docs/decisions/0014). */
  readonly deadlineMs: number;
}

/** Whether the Trial has ended by itself: then there is nothing to stop. */
async function trialHasEnded(
  { client, deadlineMs }: StopStoreOptions,
  { kind, namespace, name, uid }: LogKey,
  signal: AbortSignal,
): Promise<boolean> {
  if (kind !== "trial") return false;
  const bounds = { signal, deadlineMs };
  const trial = await getOrUndefined(client, KINDS.trial, { namespace, name }, bounds);
  return trial?.metadata.uid === uid && hasOtherEnd(trial);
}

/** Tells of a decision that a job holds since just now, if it gives time: one that is suspended is stopped at once. */
function tell({ events, clock }: StopStoreOptions, ref: JobRef, job: AnyJob, stop: JobStop): void {
  const leftMs = graceLeftMs(decisionOf(stop), clock.now());
  if (leftMs <= 0 || suspensionOf(ref.kind, job) !== undefined) return;
  const { reason, message: why, user } = stop;
  const message = `${humanDuration(leftMs)} left: ${reason}: ${withAsker(why, user)}`;
  events.record(aboutJob(ref), { type: "Normal", reason: EVENT_REASONS.stopping, message });
}

/** Stores a decision; see {@link Stopper.store}. */
export async function storeStop(
  options: StopStoreOptions,
  decided: DecidedStop,
  key: LogKey,
  signal: AbortSignal,
): Promise<StoreOutcome> {
  const { client, clock, deadlineMs } = options;
  const { kind, namespace, name } = decided.job;
  // The status of a job that another operator runs is not ours: only the log decides.
  if (kind.isForeign) return { kind: "pruned" };
  let hasWritten = false;
  return await decidedAgain(jobText(decided.job), async () => {
    const bounds = { signal, deadlineMs };
    const job = await getOrUndefined(client, kind, { namespace, name }, bounds);
    const step = storeStep(job, decided, clock.now());
    if (hasWritten && step.kind === "stored" && job) tell(options, decided.job, job, step.stop);
    if (step.kind !== "patch") return step;
    // It was written, and is not there.
    if (hasWritten && job?.status?.stop === undefined) return { kind: "pruned" };
    if (await trialHasEnded(options, key, signal)) return { kind: "trial ended" };
    const patch = { type: "merge", body: step.body } as const;
    const write = { subresource: "status", ...bounds };
    const written = await client.patch(kind, { namespace, name }, patch, write)
      .catch(ignoring(hasChanged));
    hasWritten ||= written !== undefined;
    return undefined;
  });
}
