/** Reconciliation of an OptimizationJob: records trials, makes their TrainJobs, and says how far the search is. */
import { KINDS } from "../../crds/kinds.ts";
import { problemsSummary } from "../../crds/field_problem.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import { SEARCH_REASONS } from "../../crds/optimization_names.ts";
import { type TrialRecord, trialRecordsName } from "../../crds/trial_records.ts";
import { type BoundedCache, createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { Attempts } from "../../platform/kit/attempts.ts";
import { OUTDATED_RETRY_MS, readAgain } from "../../platform/kit/fresh_read.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import type { ReconcileResult } from "../../platform/kube/controller.ts";
import { messageOf } from "../../platform/kube/errors.ts";
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
import { isRefusal } from "../trainjob/act.ts";
import { readRecords, RecordsRefused, type StoredRecords, writeRecords } from "./records_store.ts";
import { type SearchEvents, tellFailures, writeSearchStatus } from "./status_write.ts";
import { makeTrials, observeTrials, type TrialPass, type TrialSources } from "./trial_jobs.ts";
import { trialWaits } from "./trial_waits.ts";

/** Options of {@link createSearchReconciler}. */
export interface SearchReconcilerOptions extends SearchEvents, TrialSources {
  readonly searches: Pick<Cache<OptimizationJob>, "get">;
  readonly searchWrites: OwnWrites<OptimizationJob>;
  readonly clock: Pick<Clock, "now">;
}

/** Time for which errors that may pass by themselves are not told. */
const PASSING_MS = 30_000;
/** Searches of which it is remembered since when their trials cannot be made. */
const FAILING_MAX = 1_000;

/** What a pass works with. */
interface Pass extends TrialPass {
  readonly options: SearchReconcilerOptions & {
    /** By the UID of a search, since when its trials cannot be made. */
    readonly failingSince: BoundedCache<number>;
  };
  readonly search: Search;
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
  const { ended, open } = await observeTrials(pass, stored.trials);
  const known = new Map([...stored.trials, ...ended]);
  const isOver = searchEnd(job, search, known) !== undefined;
  const next = isOver ? new Map() : nextTrials(job, search, known, now);
  const isUnmade = [...known.values()].some((it) => isOpenTrial(it) && it.uid === undefined);
  const makes = next.size > 0 || isUnmade;
  if (makes && !await goesOn(pass)) return undefined;
  const isAgain = await making.one(async () => {
    await write(new Map([...ended, ...next]));
    const { made, isAgain } = await makeTrials(pass, stored.trials);
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
