/** One search of a term: what its trials report, its records, and the stops that follow from them. */
import type { JobRef } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { ANNOTATIONS, TRAINJOB_REASONS } from "../../crds/names.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import type { PruningRecord } from "../../crds/trial_records.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import type { PlanSource } from "../observations/observations.ts";
import type { Stops } from "../observations/stops.ts";
import { createOpenSearch, type OpenSearchOptions } from "./open_search.ts";
import { type JobTrial, type SearchCaches, trialOf } from "./pruned_search.ts";
import { createRecordWriter, type RecordWriterOptions } from "./record_writer.ts";
import type { PrunedSearch } from "./search_state.ts";

/** Options of {@link createTermSearch}. */
export interface TermSearchOptions
  extends
    SearchCaches,
    Pick<RecordWriterOptions, "client" | "deadlineMs" | "clock" | "random">,
    Pick<OpenSearchOptions, "states"> {
  readonly plans: Pick<PlanSource, "isOpen" | "stopTargetFor" | "storedStop">;
  readonly stops: Pick<Stops, "schedule" | "decided">;
  /** Returns the rows of a metric in a job's log. */
  readonly readLog: (job: JobRef, metric: string) => Promise<readonly ObservationRow[]>;
  /** Whether logs keep pod and step of each row. */
  readonly keepsRuns: () => boolean;
}

/** A search of this term. */
export type TermSearch = ReturnType<typeof createTermSearch>;

/** Creates the search, which reads nothing before its first report. */
export function createTermSearch(
  options: TermSearchOptions,
  search: OptimizationJob,
  pruned: PrunedSearch,
  onFailure: (error: unknown) => void,
) {
  const { plans, stops, clock } = options;
  const { metadata: { uid = "", name = "", namespace = "" }, spec: { numTrials = 1 } } = search;
  const over = new AbortController();
  const jobOf = (index: number) => trialOf(options, search, index);

  function mayStop({ job, ref }: JobTrial): boolean {
    return plans.isOpen(ref) && !stops.decided(ref.uid) && plans.storedStop(ref) === undefined &&
      TRAINJOB.foreignController?.(job) === undefined;
  }

  /** Stops the trials of which that is recorded. */
  async function stop(records: ReadonlyMap<number, PruningRecord>): Promise<void> {
    for (const [index, { pruned, time = new Date(clock.now()).toISOString() }] of records) {
      const trial = pruned === undefined ? undefined : jobOf(index);
      if (pruned === undefined || trial === undefined || !mayStop(trial)) continue;
      const plan = await plans.stopTargetFor(trial.ref, over.signal);
      if (plan === undefined || over.signal.aborted) continue;
      const { graceMs = 0 } = plan;
      const decision = { reason: TRAINJOB_REASONS.pruned, message: pruned, time, graceMs };
      stops.schedule({ plan, decision });
    }
  }

  const writer = createRecordWriter({
    ...options,
    search: { namespace, name, uid },
    onWritten: stop,
    onFailure,
    over: over.signal,
  });
  const open = createOpenSearch({
    ...options,
    uid,
    pruned,
    writer,
    onFailure,
    trials: () => Array.from({ length: numTrials }, (_, it) => jobOf(it) ?? []).flat(),
    readLog: (job) => options.readLog(job, pruned.metric),
    mayStop(index) {
      const trial = jobOf(index);
      return trial !== undefined && mayStop(trial);
    },
  });
  let isCarriedOut = false;

  return {
    metric: pruned.metric,
    /** Whether it prunes as the search's annotation says, or has begun, after which a change comes too late. */
    isFor: ({ metadata: { annotations } }: OptimizationJob): boolean =>
      annotations?.[ANNOTATIONS.pruner] === search.metadata.annotations?.[ANNOTATIONS.pruner] ||
      open.hasBegun(),
    report: open.report,
    ended: open.ended,
    readAgain: open.readAgain,
    /** Stops the trials of which a former owner recorded that, once. Rejects if that is not known now. */
    async carryOut(): Promise<void> {
      if (isCarriedOut) return;
      await stop((await writer.recorded()).pruning);
      isCarriedOut = true;
    },
    /** Ends what is under way. */
    close(): void {
      over.abort();
      options.states.delete(uid);
    },
  };
}
