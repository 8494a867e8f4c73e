/** Searches with a pruner, of one term: their trials are judged at each report of the objective (docs/decisions/0087). */
import { getLogger } from "@logtape/logtape";
import { type AnyJob, jobNow, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { createSizedCache } from "../../platform/base/bounded_cache.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { isRemoval } from "../../platform/kube/watching/informer_cache.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { hasEnded } from "../../trials/search/trial_end.ts";
import { isOver, prunedSearch, searchOf } from "./pruned_search.ts";
import type { SearchState } from "./search_state.ts";
import { createTermSearch, type TermSearch, type TermSearchOptions } from "./term_search.ts";

const log = getLogger(["milepost", "searches"]);

/** Interval between looks for verdicts that a former owner left, and for searches that are over, in milliseconds. */
const INTERVAL_MS = 5_000;
/** Searches whose records are read at a time. */
const AT_ONCE = 16;
/** Time that a push waits for what it decides, in milliseconds; then a later one is told. */
const ANSWER_MS = 2_000;
/** Searches whose problems are told once. */
const MAX_TOLD = 1_000;

/** What the owner needs of the cluster to prune. */
export interface SearchParts
  extends Pick<TermSearchOptions, "optimizationJobs" | "trainJobs" | "client" | "deadlineMs"> {
  /** Most values in memory; the searches that were used least lately are read again when needed. Default a million. */
  readonly maxValues?: number;
}

/** The searches of one term. */
export type TermSearches = ReturnType<typeof createTermSearches>;

/** Creates the searches; they follow the caches until `close`. */
export function createTermSearches(given: Omit<TermSearchOptions, "states"> & SearchParts) {
  const { maxValues = 1_000_000 } = given;
  const states = createSizedCache<SearchState>(maxValues, (state) => state.size());
  const options = { ...given, states };
  const { optimizationJobs, trainJobs, clock } = options;
  const jobs = new Map([[TRAINJOB, { jobs: trainJobs }]]);
  const searches = new Map<string, TermSearch>();
  /** What pushes wait for, by the UID of their job. */
  const judging = new Map<string, Promise<void>>();
  const isNews = createNotices(MAX_TOLD);

  function tell({ metadata: { namespace = "", name = "" } }: OptimizationJob, error: unknown) {
    const problem = messageOf(error);
    const level = isNews(`${namespace}/${name}`) ? "warn" : "debug";
    log[level]("cannot prune trials of a search now; trying again", { namespace, name, problem });
  }

  function openedOf(search: OptimizationJob): TermSearch | undefined {
    const { uid = "" } = search.metadata;
    const known = searches.get(uid);
    if (isOver(search) || known?.isFor(search)) return known;
    known?.close();
    searches.delete(uid);
    const pruned = prunedSearch(search);
    if (pruned === undefined) return undefined;
    const opened = createTermSearch(options, search, pruned, (error) => tell(search, error));
    searches.set(uid, opened);
    return opened;
  }

  /** Returns the search that judges a job, and the number of the trial that the job is. */
  function judgeOf(job: AnyJob | undefined) {
    const found = job && searchOf(options, job);
    const opened = found && openedOf(found.search);
    return opened && { ...found, opened };
  }

  /** Keeps what a push waits for, while it is under way. */
  function keep(uid: string, work: Promise<void>): void {
    const kept = work.finally(() => judging.get(uid) === kept && judging.delete(uid));
    judging.set(uid, kept);
  }

  /** Forgets searches that are gone or over. */
  function forgetOver(): void {
    const going = new Set(
      optimizationJobs.list().filter((it) => !isOver(it)).map(({ metadata }) => metadata.uid),
    );
    for (const [uid, opened] of searches) {
      if (going.has(uid)) continue;
      opened.close();
      searches.delete(uid);
    }
  }

  const stopFollowing = trainJobs.onChange((change) => {
    if (isRemoval(change) || !hasEnded(change.object)) return;
    const [job, judge] = [change.object, judgeOf(change.object)];
    judge?.opened.ended({ index: judge.index, job, ref: jobRefOf(TRAINJOB, job) });
  });

  return {
    /** Takes the rows of a push, which are in its job's log now, and the UID of its pod; none if it is a retry. */
    taken(ref: JobRef, pod: string, rows: readonly ObservationRow[]): void {
      if (ref.kind !== TRAINJOB) return;
      const judge = judgeOf(jobNow(jobs, ref));
      if (judge === undefined) return;
      const { opened, index } = judge;
      const reported = rows.filter(({ name }) => name === opened.metric);
      // A push of other metrics is no report, while one that is sent again may have been.
      if (rows.length > 0 && reported.length === 0) return;
      const work = opened.report({ index, ref, rows: reported.map((it) => ({ ...it, run: pod })) });
      if (work !== undefined) keep(ref.uid, work);
    },
    /** Rows of a job may have come into its log of which nobody knows. */
    readAgain(ref: JobRef): void {
      const judge = ref.kind === TRAINJOB ? judgeOf(jobNow(jobs, ref)) : undefined;
      judge?.opened.readAgain(judge.index);
    },
    /** Resolves when it is decided whether a job that has pushed is stopped, at the latest after some time; undefined: it is. */
    judged(uid: string): Promise<void> | undefined {
      const work = judging.get(uid);
      return work && Promise.resolve(answerInTime(clock, ANSWER_MS, undefined, () => work));
    },
    /** Carries out what former owners have recorded, until `signal` aborts. */
    async run(signal: AbortSignal): Promise<void> {
      onAbort(signal, () => {
        stopFollowing();
        for (const opened of searches.values()) opened.close();
      });
      while (!signal.aborted) {
        forgetOver();
        await inParallel(optimizationJobs.list(), async (search) => {
          await openedOf(search)?.carryOut().catch((error) => tell(search, error));
        }, { limit: AT_ONCE, signal });
        await clock.sleep(INTERVAL_MS, signal);
      }
    },
  };
}
