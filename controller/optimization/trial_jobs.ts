/** TrainJobs of a search's trials: how they have ended, and the making of those that are not there. */
import { KINDS } from "../../crds/kinds.ts";
import { objectiveOf, type OptimizationJob } from "../../crds/optimization_job.ts";
import { TRIAL_REASONS } from "../../crds/optimization_names.ts";
import type { TrialRecord } from "../../crds/trial_records.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Attempts } from "../../platform/kit/attempts.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isAlreadyExists, isInvalid, KubeError, messageOf } from "../../platform/kube/errors.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { isOpenTrial, type TrialRecords } from "../../trials/search/search_plan.ts";
import {
  endWithObjective,
  endWithoutObjective,
  failedTrial,
  isComplete,
  shownValue,
  type TrialEnd,
} from "../../trials/search/trial_end.ts";
import { hasValues, trialJob } from "../../trials/search/trial_job.ts";
import type { OpenTrial } from "./trial_waits.ts";

/** Returns the last value of a metric in the log of a job; undefined if that has none. Rejects if that is not known now. */
export type LastValue = (
  job: TrainJob,
  metric: string,
  signal: AbortSignal,
) => Promise<string | undefined>;

/** Where the TrainJobs of trials are. */
export interface TrialSources {
  readonly client: KubeClient;
  readonly trainJobs: Pick<Cache<TrainJob>, "get">;
  readonly lastValue: LastValue;
}

/** What a pass of a search works with, as far as its TrainJobs are concerned. */
export interface TrialPass {
  readonly options: TrialSources;
  readonly job: OptimizationJob;
  /** What was attempted to see how trials have ended, and to write the status. */
  readonly attempts: Attempts;
  /** What was attempted to record and to make trials. */
  readonly making: Attempts;
  readonly signal: AbortSignal;
  readonly now: string;
}

/** Returns the TrainJob that has a trial's name, as the API server has it. */
function liveJob({ options: { client }, job, signal }: TrialPass, { name }: TrialRecord) {
  const key = { namespace: job.metadata.namespace, name };
  return getOrUndefined(client, KINDS.trainJob, key, { signal });
}

/** Returns the TrainJob of a record: that of the cache, or, where it has not that one, of the API server. */
async function jobOf(pass: TrialPass, record: TrialRecord) {
  const { options, job: { metadata: { namespace } } } = pass;
  const { name, uid } = record;
  const cached = options.trainJobs.get({ namespace, name });
  if (cached?.metadata.uid === uid) return cached;
  const live = await liveJob(pass, record);
  return live?.metadata.uid === uid ? live : undefined;
}

/** Returns how a trial has ended; undefined if it has not. */
async function endOfTrial(
  { options, job, signal }: TrialPass,
  trainJob: TrainJob | undefined,
): Promise<TrialEnd | undefined> {
  if (trainJob === undefined) {
    return failedTrial(TRIAL_REASONS.deleted, "its TrainJob was deleted before it had ended");
  }
  if (!isComplete(trainJob)) return endWithoutObjective(trainJob);
  const { metric } = objectiveOf(job);
  const value = await options.lastValue(trainJob, metric, signal) ?? shownValue(trainJob, metric);
  return endWithObjective(metric, value);
}

/** Looks after the trials that have been made and have not ended: which have now, and which are still open. */
export async function observeTrials(pass: TrialPass, trials: TrialRecords) {
  const ended = new Map<number, TrialRecord>();
  const open: OpenTrial[] = [];
  const made = [...trials].filter(([, it]) => isOpenTrial(it) && it.uid !== undefined);
  await pass.attempts.each(made, async ([index, record]) => {
    const job = await jobOf(pass, record);
    const end = await endOfTrial(pass, job).catch((error) => {
      if (job !== undefined) open.push({ record, job, unread: messageOf(error) });
      throw error;
    });
    if (end !== undefined) ended.set(index, { ...record, ...end, ended: pass.now });
    else if (job !== undefined) open.push({ record, job });
  });
  return { ended, open };
}

/**
 * Returns what a refusal to make a TrainJob means: the UID of the trial's own that is there, or how the trial has ended.
 * Throws the refusal if it is to be made again.
 */
async function readRefusal(pass: TrialPass, record: TrialRecord, refusal: KubeError) {
  const { job } = pass;
  // An admission or a quota may refuse it before the API server sees that it is there.
  const live = await liveJob(pass, record);
  const isOfSearch = isControlledBy(live?.metadata, job.metadata.uid ?? "");
  if (live && isOfSearch && hasValues(live, job, record.values)) return { uid: live.metadata.uid };
  if (isInvalid(refusal)) return failedTrial(TRIAL_REASONS.refused, messageOf(refusal));
  if (live === undefined || !isAlreadyExists(refusal)) throw refusal;
  const other = isOfSearch ? "has other values" : "is not of this search";
  const message = `another TrainJob has its name, and ${other}: delete that, and ` +
    "make the OptimizationJob anew";
  return failedTrial(TRIAL_REASONS.nameTaken, message);
}

/** Makes the TrainJob of a trial; returns the record then, and whether it is to be looked at again at once. */
async function makeTrial(pass: TrialPass, record: TrialRecord) {
  const { options: { client }, job, signal, now } = pass;
  try {
    const made = trialJob(job, record.name, record.values);
    const { metadata: { uid } } = await client.create(KINDS.trainJob, made, { signal });
    return { made: { ...record, uid }, isAgain: false };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const found = await readRefusal(pass, record, error);
    const ended = "state" in found ? { ended: now } : {};
    // One that was made before may have ended, and one that is refused leaves its place.
    return { made: { ...record, ...found, ...ended }, isAgain: true };
  }
}

/** Makes the TrainJobs of recorded trials that have none. */
export async function makeTrials(pass: TrialPass, trials: TrialRecords) {
  const made = new Map<number, TrialRecord>();
  let isAgain = false;
  const unmade = [...trials].filter(([, it]) => isOpenTrial(it) && it.uid === undefined);
  await pass.making.each(unmade, async ([index, record]) => {
    const done = await makeTrial(pass, record);
    made.set(index, done.made);
    isAgain ||= done.isAgain;
  });
  return { made, isAgain };
}
