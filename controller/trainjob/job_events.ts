/** Recording of a TrainJob's events. Reads of pods for them never fail a reconciliation. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS, LABELS, TRAINER_API_VERSION } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";
import type { EventRecorder, EventText } from "../../kube/events.ts";
import { keyOf } from "../../kube/resource.ts";
import type { FirstFailures } from "./first_failures.ts";
import { type Observed, ownJobSet } from "./observed.ts";
import { LONG_WAIT_MS, longWaitAt, waitCause } from "./pod_waits.ts";
import type { OwnStatus } from "./status.ts";
import { newFailure, transitionEvents } from "./transition_events.ts";

const log = getLogger(["milepost", "controller", "trainjob"]);

/** Pods that are read to say why none runs. */
const PODS_READ = 20;
const READ_DEADLINE_MS = 5000;

/** Dependencies of the recording. */
export interface JobEventOptions {
  readonly client: Pick<KubeClient, "list">;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Pick<Clock, "now">;
  readonly firstFailures: Pick<FirstFailures, "of" | "forget">;
  /** Reports whether this warning about this TrainJob was not given recently. */
  readonly isNews: (uid: string, message: string) => boolean;
  /** Time at which this controller began: what was due before has been said by the one before. */
  readonly since: number;
}

/** Records an event about the TrainJob. */
export function recordEvent(
  { events }: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  event: EventText,
): void {
  const { namespace, name = "", uid } = trainJob.metadata;
  const about = { apiVersion: TRAINER_API_VERSION, kind: "TrainJob", namespace, name, uid };
  events.record(about, event);
}

/** Records that the JobSet, which has the TrainJob's name, was created. */
export function recordCreation(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
): void {
  const message = `Created JobSet "${trainJob.metadata.name}"`;
  recordEvent(options, trainJob, { type: "Normal", reason: EVENT_REASONS.jobSetCreated, message });
}

/** Reads why the job's pods do not run; undefined if that cannot be read. */
async function readWaitCause(
  { client }: JobEventOptions,
  { metadata: { namespace, name } }: TrainJob,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { items } = await client.list(KINDS.pod, {
      namespace,
      labelSelector: `${LABELS.trainJobName}=${name}`,
      fieldSelector: "status.phase=Pending",
      limit: PODS_READ,
      deadlineMs: READ_DEADLINE_MS,
      signal,
    });
    return waitCause(items);
  } catch (error) {
    log.debug("cannot read pods for an event", { trainJob: name, error: messageOf(error) });
    return undefined;
  }
}

/** Records what has changed from the observed status to the one that was written. */
export async function recordTransitions(
  options: JobEventOptions,
  observed: Observed,
  { next, signal }: { readonly next: OwnStatus; readonly signal: AbortSignal },
): Promise<void> {
  const { trainJob } = observed;
  const { firstFailures } = options;
  const key = keyOf(trainJob);
  const old = trainJob.status ?? {};
  let cause: string | undefined;
  if (newFailure(old, next)) {
    cause = firstFailures.of(key, observed.jobSet?.metadata.uid);
    if (cause === undefined && old.state === "Created") {
      cause = await readWaitCause(options, trainJob, signal);
    }
  }
  for (const event of transitionEvents(old, next, cause)) recordEvent(options, trainJob, event);
  if (next.state === "Suspended") firstFailures.forget(key);
}

/**
 * Records why no pod of the job runs, once its wait is long. Returns the time until then, in
 * milliseconds; undefined if it does not wait or was reported.
 */
export async function reportLongWait(
  options: JobEventOptions,
  observed: Observed,
  { next, signal }: { readonly next: OwnStatus; readonly signal: AbortSignal },
): Promise<number | undefined> {
  const { trainJob } = observed;
  const at = longWaitAt(trainJob, ownJobSet(observed), next.state);
  if (at === undefined || at < options.since) return undefined;
  const now = options.clock.now();
  if (now < at) return at - now;
  if (!options.isNews(trainJob.metadata.uid ?? "", `${EVENT_REASONS.notStarting} ${at}`)) return;
  const cause = await readWaitCause(options, trainJob, signal);
  if (cause === undefined) return undefined;
  const message = `No pod of the trainer step runs after ${
    LONG_WAIT_MS / 60_000
  } minutes: ${cause}`;
  const reason = EVENT_REASONS.notStarting;
  recordEvent(options, trainJob, { type: "Warning", reason, message });
  return undefined;
}
