/** Recording of a TrainJob's events. Reads of pods for them never fail a reconciliation. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import { EVENT_REASONS, LABELS } from "../../crds/names.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { BoundedCache } from "../../platform/base/bounded_cache.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { type EventText, subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { type ObservedJob, ownJobSet } from "./observed.ts";
import { LONG_WAIT_MS, longWaitAt, waitCause } from "./pod_waits.ts";
import type { RunningPods } from "./running_pods.ts";
import type { OwnStatus, StatusDecision } from "./status.ts";
import type { TrainJobFailures } from "./trainjob_failures.ts";
import { newFailure, transitionEvents } from "./transition_events.ts";

const log = getLogger(["milepost", "controller", "trainjob"]);

/** Pods that are read to say why none runs. */
const PODS_READ = 20;
const READ_DEADLINE_MS = 5000;

/** The next check of the pods of a job whose wait became long at `waitAt`, in milliseconds since the epoch. */
export interface WaitCheck {
  readonly waitAt: number;
  readonly next: number;
}

/** Dependencies of the recording. */
export interface JobEventOptions {
  readonly client: Pick<KubeClient, "list">;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Pick<Clock, "now">;
  readonly failures: Pick<TrainJobFailures, "forget">;
  readonly runningPods: Pick<RunningPods, "jobsOf">;
  /** The next check of the pods of TrainJobs that wait for long, by their UIDs. */
  readonly waitChecks: BoundedCache<WaitCheck>;
  /** Time at which this controller began: what was due before has been said by the one before. */
  readonly since: number;
  /** Reports whether this warning about this TrainJob was not given recently. */
  readonly isNews: (warning: string) => boolean;
}

/** Records an event about the TrainJob. */
export function recordEvent(
  { events }: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  event: EventText,
): void {
  events.record(subjectOf(KINDS.trainJob, trainJob), event);
}

/** Records a warning, if there is one and it was not given recently. */
export function warnOnce(
  options: Pick<JobEventOptions, "events" | "isNews">,
  trainJob: TrainJob,
  { reason, message }: { readonly reason: string; readonly message: string | undefined },
): void {
  if (message === undefined || !options.isNews(`${trainJob.metadata.uid} ${message}`)) return;
  recordEvent(options, trainJob, { type: "Warning", reason, message });
}

/** Records that the JobSet, which has the TrainJob's name, was created. */
export function recordCreation(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
): void {
  const message = `Created JobSet "${trainJob.metadata.name}"`;
  recordEvent(options, trainJob, { type: "Normal", reason: EVENT_REASONS.jobSetCreated, message });
}

/** Reads some of the job's pods that are Pending; undefined if they cannot be read. */
async function readPending(
  { client }: JobEventOptions,
  { metadata: { namespace, name } }: TrainJob,
  signal: AbortSignal,
): Promise<Pod[] | undefined> {
  try {
    const { items } = await client.list(KINDS.pod, {
      namespace,
      labelSelector: `${LABELS.trainJobName}=${name}`,
      fieldSelector: "status.phase=Pending",
      limit: PODS_READ,
      deadlineMs: READ_DEADLINE_MS,
      signal,
    });
    return items;
  } catch (error) {
    log.debug("cannot read pods for an event", { trainJob: name, error: messageOf(error) });
    return undefined;
  }
}

/** Records what has changed from the observed status to the one that was written. */
export async function recordTransitions(
  options: JobEventOptions,
  observed: ObservedJob,
  decided: Pick<StatusDecision, "next" | "failing">,
  signal: AbortSignal,
): Promise<void> {
  const { trainJob } = observed;
  const { next, failing: { cause, event } } = decided;
  const old = trainJob.status ?? {};
  const waits = cause === undefined && newFailure(old, next) && old.state === "Created";
  const first = waits ? waitCause(await readPending(options, trainJob, signal) ?? []) : cause;
  for (const event of transitionEvents(old, next, first)) recordEvent(options, trainJob, event);
  if (event !== undefined) warnOnce(options, trainJob, event);
  if (next.state === "Suspended") {
    options.failures.forget(keyOf(trainJob), observed.jobSet?.metadata.uid);
  }
}

/**
 * Why no pod of the trainer step runs; undefined while pods of another step may be what it waits for,
 * and if the pods cannot be read.
 */
async function longWaitCause(
  options: JobEventOptions,
  { trainJob, jobSet }: ObservedJob,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pods = await readPending(options, trainJob, signal);
  const cause = pods && waitCause(pods);
  if (pods === undefined || cause !== undefined) return cause;
  const others = options.runningPods.jobsOf(keyOf(trainJob), jobSet?.metadata.uid);
  return others.size > 0 ? undefined : "it has no pods; the events of its Jobs may say why";
}

/**
 * Records why no pod of the job runs, once its wait is long, and once for each run. Returns the time
 * until the next look, in milliseconds; undefined if there is none.
 */
export async function reportLongWait(
  options: JobEventOptions,
  observed: ObservedJob,
  { next, signal }: { readonly next: OwnStatus; readonly signal: AbortSignal },
): Promise<number | undefined> {
  const { trainJob } = observed;
  const { uid = "" } = trainJob.metadata;
  const waitAt = longWaitAt(trainJob, ownJobSet(observed), next.state);
  if (waitAt === undefined || waitAt < options.since) return undefined;
  const known = options.waitChecks.get(uid);
  const checkAt = known?.waitAt === waitAt ? known.next : waitAt;
  const now = options.clock.now();
  if (now < checkAt) return checkAt === Infinity ? undefined : checkAt - now;
  const cause = await longWaitCause(options, observed, signal);
  options.waitChecks.set(uid, {
    waitAt,
    next: cause === undefined ? now + LONG_WAIT_MS : Infinity,
  });
  if (cause === undefined) return LONG_WAIT_MS;
  const minutes = Math.round((now - waitAt + LONG_WAIT_MS) / 60_000);
  const message = `No pod of the trainer step runs after ${minutes} minutes: ${cause}`;
  recordEvent(options, trainJob, { type: "Warning", reason: EVENT_REASONS.notStarting, message });
  return undefined;
}
