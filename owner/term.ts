/** Term of leadership: ledger, newest statuses, observations, curves, checkpoints, stalls and restarts, which are opened and closed together. */
import { getLogger } from "@logtape/logtape";
import { type AnyJob, type JobKind, jobNow, type JobRef, jobRefOf } from "../crds/job_kind.ts";
import { toldRestartSchema } from "../crds/job_restart.ts";
import { progressOf, restartOf } from "../crds/job_state.ts";
import { TRAINJOB } from "../crds/job_kinds.ts";
import { LOG_ANNOTATIONS } from "../crds/early_stopping.ts";
import type { WatchedPod } from "../crds/watched.ts";
import type { Push } from "../crds/wire/push.ts";
import type { PushAnswer } from "../crds/wire/push_answer.ts";
import { shownStatus } from "../crds/wire/sample.ts";
import { aborted } from "../platform/base/aborted.ts";
import { createBoundedCache } from "../platform/base/bounded_cache.ts";
import { continueWith } from "../platform/base/continue_with.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import type { Leadership } from "../platform/kube/leading/leadership.ts";
import type { Informer } from "../platform/kube/watching/informer.ts";
import { isRemoval } from "../platform/kube/watching/informer_cache.ts";
import type { CurveStore } from "./curves/curve_store.ts";
import { openTermCurves, type TermCurvesOptions } from "./curves/term_curves.ts";
import { createHeldStatuses } from "./ledger/held_statuses.ts";
import { openTermCheckpoints } from "./checkpoints/term_checkpoints.ts";
import type { KeepsProgress } from "./field_patch.ts";
import { createFieldWriter } from "./field_writer.ts";
import type { EventRecorder } from "../platform/kube/events.ts";
import { createLedger, type Ledger, type LedgerOptions } from "./ledger/ledger.ts";
import { createStatusWriter } from "./ledger/status_writer.ts";
import { createStallWriter } from "./stalls/stall_writer.ts";
import { createRestartStore, type RestartStore } from "./restarts/restart_store.ts";
import { countRestarts, type RestartsOptions } from "./stalls/counted_restarts.ts";
import { createStallEnd } from "./stalls/stall_end.ts";
import { createStallPolicies, type StallPoliciesOptions } from "./stalls/stall_policies.ts";
import { openTermStalls, type TermStallsOptions } from "./stalls/term_stalls.ts";
import { createObservations, type ObservationsOptions } from "./observations/term_observations.ts";
import type { SearchParts } from "./searches/term_searches.ts";
import type { JobVersion, PollOwner } from "./owner_poll.ts";
import type { Reading, Resumption } from "./ledger/reading.ts";
import type { CurvesNews } from "../crds/wire/shown_curves.ts";
import { createWaitingPolls } from "./waiting_polls.ts";

const log = getLogger(["milepost", "manager"]);

/** Longest deadline of a write of progress, or of records, in milliseconds. */
const WRITE_MS = 5_000;
/** Jobs whose changes of observations are counted; a forgotten one is read once more than necessary. */
const MAX_JOBS = 100_000;
/** Time for which those who follow curves wait for what logs have of them, in milliseconds: the rest comes as news. */
const RESTORE_MS = 1_000;

/** What a term needs to record the pushes of trials, and to stop trials. */
export type RecordingParts = Omit<
  ObservationsOptions,
  "clock" | "leading" | "onStop" | "searches"
>;

/** Options of {@link openTerm}. */
export interface TermOptions
  extends
    Required<Pick<LedgerOptions, "intervalMs" | "writesPerSecond">>,
    Pick<LedgerOptions, "onWrite" | "onDrop">,
    Omit<StallPoliciesOptions, "events">,
    Omit<TermCurvesOptions, "logs"> {
  readonly client: KubeClient;
  readonly jobs: ReadonlyMap<JobKind, {
    readonly jobs: Pick<Informer<AnyJob>, "get" | "onChange">;
    readonly pods?: Pick<Informer<WatchedPod>, "get" | "list" | "onChange">;
  }>;
  readonly leadership: Pick<Leadership, "leading" | "deadlineMs">;
  /** Default: the definition of every kind keeps the field that shows progress. */
  readonly keepsProgress?: KeepsProgress;
  /** Returns the parts of a term's recording. Absent: pushes are not recorded. */
  readonly recording?: (() => RecordingParts) | undefined;
  /** Searches, whose trials their pruners stop. Absent: there are none. */
  readonly optimizationJobs?: SearchParts["optimizationJobs"] | undefined;
  /** Absent: nobody is told of stalls but by the job. */
  readonly events?: Pick<EventRecorder, "record"> | undefined;
  /** Called with seconds of jobs, by what they went to. */
  readonly onSpent?: TermStallsOptions["onSpent"];
  /** Called for each restart of a job as a whole. */
  readonly onRestart?: RestartsOptions["onRestart"];
  /** Called for each job that was stopped early. */
  readonly onStopped?: (() => void) | undefined;
}

/** What is new of a job's curves. */
interface CurvesReading extends JobVersion {
  readonly curves: CurvesNews;
}

/** How what others follow of a job is read, by its kind. */
export interface TermChanges {
  readonly status: PollOwner<Reading>;
  readonly observation: PollOwner<JobVersion>;
  readonly curves: PollOwner<CurvesReading>;
}

function ledgerOf(
  { client, leadership, keepsProgress, ...options }: TermOptions,
  shown: LedgerOptions["shown"],
): Ledger {
  const deadlineMs = leadership.deadlineMs(WRITE_MS);
  const write = createStatusWriter(client, { deadlineMs, keepsProgress });
  return createLedger({
    ...options,
    shown,
    write: (job, status, signal) =>
      leadership.leading ? write(job, status, signal) : Promise.resolve({
        result: "error",
        problem: "this replica no longer holds the Lease, which it could not renew in time",
      }),
  });
}

/** What the owner needs to prune: the caches of searches, and of their trials. */
function searchesOf(
  { client, jobs, leadership, optimizationJobs }: TermOptions,
): SearchParts | undefined {
  const trainJobs = jobs.get(TRAINJOB)?.jobs;
  if (optimizationJobs === undefined || trainJobs === undefined) return undefined;
  return { client, optimizationJobs, trainJobs, deadlineMs: leadership.deadlineMs(WRITE_MS) };
}

/** Opens what the owner makes of pushes beside progress: checkpoints, and stalls, which name them. */
function noticesOf(
  { client, leadership, keepsProgress = () => true, ...options }: TermOptions,
  store: CurveStore,
  restart: RestartStore["store"],
) {
  const deadlineMs = leadership.deadlineMs(WRITE_MS);
  const [parts, leading] = [{ client, keepsProgress, deadlineMs }, () => leadership.leading];
  const checkpoints = openTermCheckpoints({
    ...options,
    writer: createFieldWriter(parts),
    leading,
  });
  const stalls = openTermStalls({
    ...options,
    writer: createStallWriter(parts),
    leading,
    checkpointOf: checkpoints.newestOf,
    policies: createStallPolicies(options),
    acting: { restart, end: createStallEnd({ ...options, client, deadlineMs }) },
    onQuiet({ uid }, mark) {
      store.unmark(uid, "quiet");
      if (mark !== undefined) store.mark(uid, mark);
    },
  });
  return { checkpoints, stalls };
}

/** One term. */
export type Term = ReturnType<typeof openTerm>;

/**
 * Opens a term, which follows the caches from now on; {@link Term.run} writes what it takes. `onPush` is called after
 * each push that the ledger took.
 */
export function openTerm(options: TermOptions, onPush: () => void) {
  const { jobs, clock, leadership, recording, onStopped } = options;
  const id = crypto.randomUUID();

  /** The progress in the job's object, if the cache has that very job. */
  function shown(ref: JobRef) {
    const job = jobNow(jobs, ref);
    return job && progressOf(ref.kind, job);
  }

  const ledger = ledgerOf(options, shown);
  const statuses = createHeldStatuses({ shown, clock, term: id });
  const observations = recording && createObservations({
    ...recording(),
    searches: searchesOf(options),
    clock,
    leading: () => leadership.leading,
    onStop({ plan: { job }, decision }, outcome) {
      if (outcome !== "stopped") return;
      onStopped?.();
      curves.stopped(job, decision);
    },
  });
  const curves = openTermCurves({ ...options, logs: observations });
  const { store } = curves;
  const { checkpoints, stalls } = noticesOf(
    options,
    store,
    (...asked) => restarts.store(...asked),
  );
  const restarts: RestartStore = createRestartStore({
    ...options,
    keepsProgress: options.keepsProgress ?? (() => true),
    deadlineMs: leadership.deadlineMs(WRITE_MS),
    isStopping: (uid) => observations?.isStopping(uid) ?? false,
    lastStep: stalls.lastStep,
  });
  const versions = createBoundedCache<number>(MAX_JOBS);
  let version = 0;
  const polls = {
    status: statuses,
    observation: createWaitingPolls<JobVersion>({
      read({ uid }, before) {
        const cursor = `${id}.${versions.get(uid) ?? 0}`;
        return cursor === before ? undefined : { uid, cursor };
      },
      clock,
    }),
    curves: createWaitingPolls<CurvesReading>({
      read({ uid }, before) {
        const cursor = store.cursorOf(uid);
        if (cursor === before) return undefined;
        // Made when they are read: an answer may have no room for them. What is newer than the cursor comes twice.
        return {
          uid,
          cursor,
          get curves() {
            return store.newsOf(uid, before);
          },
        };
      },
      clock,
    }),
  };
  const stops = [
    ...countRestarts(options),
    store.onChange(polls.curves.changed),
    observations?.onChange((uid) => {
      versions.set(uid, ++version);
      polls.observation.changed(uid);
    }),
    // Forgets jobs that are deleted, or not followed any more.
    ...[...jobs].map(([kind, cache]) =>
      cache.jobs.onChange((change) => {
        const { type, object } = change;
        const { uid, annotations = {} } = object.metadata;
        if (!isRemoval(change) || uid === undefined) return;
        ledger.forget(uid);
        statuses.forget(uid);
        const job = jobRefOf(kind, object);
        if (type !== "deleted") return observations?.leave(job);
        observations?.forget(job, LOG_ANNOTATIONS.some((it) => annotations[it] !== undefined));
      })
    ),
  ];

  /** Keeps what was taken: of a push that was refused the client sends the samples again. */
  function settled(push: Push, answer: PushAnswer): PushAnswer {
    if (!answer.ok) stalls.refused(push.job);
    else {
      checkpoints.reported(push);
      stalls.reported(push);
      curves.record(push, answer.isUnrecorded);
    }
    return answer;
  }

  async function end(writing: Promise<void>, flushMs: number): Promise<void> {
    Object.values(polls).forEach((it) => it.close());
    const isOwner = leadership.leading;
    await Promise.all([endLedger(writing, flushMs), curves.close(isOwner ? flushMs : 0)]);
  }

  /** Ends the ledger: what is pending is written, or dropped. */
  async function endLedger(writing: Promise<void>, flushMs: number): Promise<void> {
    if (!leadership.leading) {
      const left = ledger.abandon();
      if (left > 0) log.warn("lost the lease with unwritten progress", { jobs: left });
      return await writing;
    }
    const [left] = await Promise.all([ledger.flush(flushMs), writing]);
    if (left > 0) log.warn("stopped with unwritten progress", { jobs: left, withinMs: flushMs });
  }

  const changes: TermChanges = {
    status: polls.status.poll,
    observation: polls.observation.poll,
    async curves(entries, waitMs, signal) {
      // Of a job that is followed anew the first news are all.
      await curves.restore(entries.map(({ job }) => job), RESTORE_MS);
      return await polls.curves.poll(entries, waitMs, signal);
    },
  };

  return {
    ledger,
    statuses,
    /** Undefined if pushes are not recorded. */
    observations,
    curves: store,
    stalls,
    restarts,
    /** From where a job would go on, and its last restart. */
    resumptionOf(ref: JobRef): Resumption {
      const job = jobNow(jobs, ref);
      const restart = toldRestartSchema.optional().parse(job && restartOf(job));
      return { checkpoint: checkpoints.newestOf(ref), restart };
    },
    /** Reads the logs of jobs whose curves are not whole. */
    restore: curves.restore,
    changes,
    /** Takes a push: the ledger, then the log, then the curves what both have taken. */
    accept(push: Push, signal: AbortSignal): PushAnswer | Promise<PushAnswer> {
      const stopped = observations?.stopped(push.job);
      if (stopped !== undefined) return stopped;
      // First, so that progress is shown also while the observation log is down.
      const trainerStatus = shownStatus(push.trainerStatus);
      const acceptance = ledger.submit(push.job, trainerStatus);
      if (!acceptance.ok) return settled(push, acceptance);
      statuses.put({ ...push, trainerStatus });
      onPush();
      const answer = observations?.accept(push, signal);
      return continueWith(answer, (it) => settled(push, it ?? acceptance));
    },
    /**
     * Goes on until `signal` aborts. Then unwritten progress is written within `flushMs` if this replica still
     * leads; otherwise it is dropped and counted.
     */
    async run(signal: AbortSignal, flushMs: number): Promise<void> {
      const writing = ledger.run(signal);
      try {
        await Promise.all([
          aborted(signal).then(() => end(writing, flushMs)),
          observations?.run(signal),
          curves.run(signal),
          stalls.run(signal),
          checkpoints.run(signal, flushMs),
        ]);
      } finally {
        stops.forEach((stop) => stop?.());
      }
    },
  };
}
