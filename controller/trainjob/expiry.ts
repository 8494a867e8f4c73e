/** Expiry of TrainJobs that have ended: when one is deleted by its time to live, and its deletion. */
import { getLogger } from "@logtape/logtape";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { endTimeOf } from "../../crds/job_state.ts";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, EVENT_REASONS, LABELS } from "../../crds/names.ts";
import { timeToLiveOf } from "../../crds/time_to_live.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { expiryMs } from "../../platform/base/timestamps.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import { objectKeyOf } from "../../platform/kube/resource.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { readAgain } from "../../platform/kit/fresh_read.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { hasSearchEnded } from "../../trials/search/search_status.ts";
import { controllingSearch } from "../../trials/search/trial_job.ts";
import type { Writer } from "./act.ts";
import { type JobEventOptions, recordEvent } from "./job_events.ts";
import { isSeenByKueue } from "./kueue_runtime.ts";
import { isOurs } from "./observed.ts";

const log = getLogger(["milepost", "controller", "trainjob"]);

/** Time that Kueue has to read the end of a job and to give its quota back, in seconds. */
const KUEUE_SECONDS = 60;

/**
 * Returns when a job is deleted, in milliseconds since the epoch, by its own annotation, else that of its runtime;
 * undefined if it is kept. A job is kept while others read how it ended: its Trial, with which it goes, or the cluster
 * from which MultiKueue sent it.
 */
export function expiryOf(
  job: TrainJob,
  runtime: AnyTrainingRuntime | undefined,
): number | undefined {
  const seconds = timeToLiveOf(job) ?? (runtime && timeToLiveOf(runtime));
  const isRead = trialReference(job.metadata) !== undefined ||
    job.metadata.labels?.[LABELS.multiKueueOrigin] !== undefined;
  if (seconds === undefined || isRead || !isOurs(job)) return undefined;
  const least = isSeenByKueue(job) ? KUEUE_SECONDS : 0;
  return expiryMs(endTimeOf(TRAINJOB, job), Math.max(seconds, least));
}

/** The searches that this manager runs. */
export interface RunSearches {
  /** Undefined if it runs none. */
  readonly searches?: Cache<OptimizationJob> | undefined;
}

/** Whether the search whose trial the job is goes on: how the job has ended may be unread yet. */
function isOfOpenSearch({ searches }: RunSearches, job: TrainJob): boolean {
  const search = searches && controllingSearch(searches, job);
  return search !== undefined && !hasSearchEnded(search);
}

/**
 * Deletes the job if its time is over, and tells of it. Returns the time until then, in milliseconds; undefined if it is
 * kept, as a trial is until its search has ended.
 */
export async function expire(
  { clock, events, searches }: Pick<JobEventOptions, "clock" | "events"> & RunSearches,
  { client, signal }: Pick<Writer, "client" | "signal">,
  { job, runtime }: { readonly job: TrainJob; readonly runtime: AnyTrainingRuntime | undefined },
): Promise<number | undefined> {
  const atMs = expiryOf(job, runtime);
  if (atMs === undefined || atMs > clock.now()) return atMs && atMs - clock.now();
  if (isOfOpenSearch({ searches }, job)) return undefined;
  // Somebody may have prolonged it a moment ago.
  const live = await readAgain(client, KINDS.trainJob, job, { signal });
  if (live === undefined || expiryOf(live, runtime) !== atMs) return undefined;
  const call = { propagationPolicy: "Background", signal } as const;
  if (!await deleteExactly(client, KINDS.trainJob, live, call)) return undefined;
  const of = timeToLiveOf(live) === undefined ? "its runtime" : "the job";
  const message = `deleted after its time to live: ${ANNOTATIONS.timeToLive} of ${of}`;
  log.info("TrainJob deleted after its time to live", { ...objectKeyOf(live), annotationOf: of });
  recordEvent({ events }, live, { type: "Normal", reason: EVENT_REASONS.expired, message });
  return undefined;
}
