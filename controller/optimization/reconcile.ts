/** Reconciliation of an OptimizationJob: records trials, makes their TrainJobs, and says how far the search is. */
import { KINDS } from "../../crds/kinds.ts";
import { problemsSummary } from "../../crds/field_problem.ts";
import { objectiveOf, type OptimizationJob } from "../../crds/optimization_job.ts";
import { SEARCH_REASONS, TRIAL_REASONS } from "../../crds/optimization_names.ts";
import { type TrialRecord, trialRecordsName } from "../../crds/trial_records.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { type BoundedCache, createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { Attempts } from "../../platform/kit/attempts.ts";
import { OUTDATED_RETRY_MS, readAgain } from "../../platform/kit/fresh_read.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { ReconcileResult } from "../../platform/kube/controller.ts";
import { isAlreadyExists, isInvalid, KubeError, messageOf } from "../../platform/kube/errors.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import {
  isOpenTrial,
  nextTrials,
  readSearch,
  type Search,
} from "../../trials/search/search_plan.ts";
import { searchProblems } from "../../trials/search/search_problems.ts";
import {
  decideSearchStatus,
  hasSearchEnded,
  type SearchEnd,
  searchEnd,
  type SearchFindings,
} from "../../trials/search/search_status.ts";
import {
  endWithObjective,
  endWithoutObjective,
  failedTrial,
  isComplete,
  shownValue,
  type TrialEnd,
} from "../../trials/search/trial_end.ts";
import { hasValues, trialJob } from "../../trials/search/trial_job.ts";
import { isRefusal } from "../trainjob/act.ts";
import { readRecords, RecordsRefused, type StoredRecords, writeRecords } from "./records_store.ts";
import { type SearchEvents, tellFailures, writeSearchStatus } from "./status_write.ts";
import { type OpenTrial, trialWaits } from "./trial_waits.ts";

/** Returns the last value of a metric in the log of a job; undefined if that has none. Rejects if that is not known now. */
export type LastValue = (
  job: TrainJob,
  metric: string,
  signal: AbortSignal,
) => Promise<string | undefined>;

/** Options of {@link createSearchReconciler}. */
export interface SearchReconcilerOptions extends SearchEvents {
  readonly client: KubeClient;
  readonly searches: Pick<Cache<OptimizationJob>, "get">;
  readonly trainJobs: Pick<Cache<TrainJob>, "get">;
  readonly searchWrites: OwnWrites<OptimizationJob>;
  readonly clock: Pick<Clock, "now">;
  readonly lastValue: LastValue;
}

/** Time for which errors that may pass by themselves are not told. */
const PASSING_MS = 30_000;
/** Searches of which it is remembered since when their trials cannot be made. */
const FAILING_MAX = 1_000;

/** What a pass works with. */
interface Pass {
  readonly options: SearchReconcilerOptions & {
    /** By the UID of a search, since when its trials cannot be made. */
    readonly failingSince: BoundedCache<number>;
  };
  readonly job: OptimizationJob;
  readonly search: Search;
  /** What was attempted to see how trials have ended, and to write the status. */
  readonly attempts: Attempts;
  /** What was attempted to record and to make trials. */
  readonly making: Attempts;
  readonly signal: AbortSignal;
  readonly now: string;
}

/** Returns the TrainJob that has a trial's name, as the API server has it. */
function liveJob({ options: { client }, job, signal }: Pass, { name }: TrialRecord) {
  const key = { namespace: job.metadata.namespace, name };
  return getOrUndefined(client, KINDS.trainJob, key, { signal });
}

/** Returns the TrainJob of a record: that of the cache, or, where it has not that one, of the API server. */
async function jobOf(pass: Pass, record: TrialRecord) {
  const { options, job: { metadata: { namespace } } } = pass;
  const { name, uid } = record;
  const cached = options.trainJobs.get({ namespace, name });
  if (cached?.metadata.uid === uid) return cached;
  const live = await liveJob(pass, record);
  return live?.metadata.uid === uid ? live : undefined;
}

/** Returns how a trial has ended; undefined if it has not. */
async function endOfTrial(
  { options, job, signal }: Pass,
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
async function observeTrials(pass: Pass, { trials }: StoredRecords) {
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
async function readRefusal(pass: Pass, record: TrialRecord, refusal: KubeError) {
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
async function makeTrial(pass: Pass, record: TrialRecord) {
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
async function makeTrials(pass: Pass, { trials }: StoredRecords) {
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

/** Whether the search is still there as it was read, and goes on: a cache that is behind must not make trials. */
async function goesOn({ options: { client }, job, signal }: Pass): Promise<boolean> {
  const live = await readAgain(client, KINDS.optimizationJob, job, { signal });
  return live !== undefined && !hasSearchEnded(live);
}

/** Returns the condition of what could not be made; undefined if all could. What may pass by itself is told once it has lasted. */
function obstacleOf({ options, job, making: { errors } }: Pass): SearchFindings["obstacle"] {
  const { clock, failingSince } = options;
  const { uid = "" } = job.metadata;
  if (errors.length === 0) {
    failingSince.delete(uid);
    return undefined;
  }
  const now = clock.now();
  const since = failingSince.get(uid) ?? now;
  failingSince.set(uid, since);
  const error = errors.find(isRefusal) ?? (now - since < PASSING_MS ? undefined : errors[0]);
  if (error === undefined) return "unknown";
  return { reason: SEARCH_REASONS.creationFailed, message: messageOf(error) };
}

/** Returns the end of a search that can record no more. */
function refusalOf({ making: { errors } }: Pass): SearchEnd | undefined {
  const refusal = errors.find((it) => it instanceof RecordsRefused);
  if (refusal === undefined) return undefined;
  const message = `the records of its trials are too large: ${refusal.message}. Trials that run ` +
    "go on until the OptimizationJob is deleted: make it anew with fewer trials";
  return { type: "Failed", reason: SEARCH_REASONS.recordsRefused, message };
}

/** Brings records and TrainJobs of a search up to date; returns undefined if the cache of searches is behind. */
async function keepTrials(pass: Pass, before: StoredRecords) {
  const { options: { client }, job, search, signal, making, now } = pass;
  let stored = before;
  const write = async (changes: ReadonlyMap<number, TrialRecord>) => {
    if (changes.size > 0) stored = await writeRecords(client, job, { stored, changes, signal });
  };
  const { ended, open } = await observeTrials(pass, stored);
  const known = new Map([...stored.trials, ...ended]);
  const isOver = searchEnd(job, search, known) !== undefined;
  const next = isOver ? new Map() : nextTrials(job, search, known, now);
  const isUnmade = [...known.values()].some((it) => isOpenTrial(it) && it.uid === undefined);
  const makes = next.size > 0 || isUnmade;
  if (makes && !await goesOn(pass)) return undefined;
  const isAgain = await making.one(async () => {
    await write(new Map([...ended, ...next]));
    const { made, isAgain } = await makeTrials(pass, stored);
    await write(made);
    return isAgain;
  });
  const failed = [...stored.trials].flatMap(([index, it]) =>
    it.state === "Failed" && before.trials.get(index)?.state !== "Failed" ? [it] : []
  );
  tellFailures(pass.options, job, { failed, records: stored.trials });
  return { stored, open, isAgain };
}

async function reconcile(pass: Pass): Promise<ReconcileResult> {
  const { options, job, search, attempts, making, signal, now } = pass;
  const before = await readRecords(options.client, pass, signal);
  if (before.owner === "former") return { requeueAfterMs: OUTDATED_RETRY_MS };
  const write = (findings: SearchFindings, trials = before.trials) =>
    writeSearchStatus(
      options,
      job,
      decideSearchStatus(job, search, trials, { findings, now }),
      signal,
    );
  const problems = before.trials.size === 0 ? searchProblems(job) : [];
  if (problems.length > 0) {
    const message = problemsSummary(problems);
    return await write({ end: { type: "Failed", reason: SEARCH_REASONS.invalid, message } });
  }
  if (before.owner === "other") {
    const message = `ConfigMap ${trialRecordsName(job.metadata.name ?? "")} is not of this ` +
      "search: delete it, or give the search another name";
    await write({ obstacle: { reason: SEARCH_REASONS.recordsTaken, message } });
    return { error: new Error(message) };
  }
  const kept = await keepTrials(pass, before);
  if (kept === undefined) return { requeueAfterMs: OUTDATED_RETRY_MS };
  const { stored, open, isAgain } = kept;
  const { waits, requeueAfterMs } = trialWaits(open, options.clock.now());
  const end = refusalOf(pass) ?? searchEnd(job, search, stored.trials);
  const findings = { obstacle: obstacleOf(pass), waits, end };
  await attempts.one(() => write(findings, stored.trials));
  const dueMs = isAgain === true && end === undefined ? 0 : requeueAfterMs;
  return (making.failed ? making : attempts).result(dueMs);
}

/**
 * Returns the reconciliation of OptimizationJobs. It may be killed at any instruction and repeated: a trial is recorded
 * before its TrainJob is made, so that none is made twice, and never more run than may.
 */
export function createSearchReconciler(options: SearchReconcilerOptions) {
  const failingSince = createBoundedCache<number>(FAILING_MAX);
  return async (key: string, signal: AbortSignal): Promise<ReconcileResult> => {
    const job = options.searchWrites.latest(key, options.searches.get(key));
    const isGone = job === undefined || job.metadata.deletionTimestamp !== undefined;
    if (isGone || hasSearchEnded(job)) return;
    const now = rfc3339(options.clock.now());
    const [attempts, making] = [new Attempts(signal), new Attempts(signal)];
    return await reconcile({
      options: { ...options, failingSince },
      job,
      search: readSearch(job),
      attempts,
      making,
      signal,
      now,
    });
  };
}
