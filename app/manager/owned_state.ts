/** What the owner of all state holds for one term: ledger and trials, fenced by the lease (decision 7). */
import { type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { progressOf } from "../../crds/job_state.ts";
import { getLogger } from "@logtape/logtape";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Adapter } from "../../katib/adapter/adapter.ts";
import type { ObservationSource } from "../../katib/api/source.ts";
import type { ObservationSink } from "../../katib/log/sink.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Leadership } from "../../kube/leadership.ts";
import type { Acceptance, AcceptPush, Push } from "../../status/chain/exchange.ts";
import { createHeldStatuses, type HeldStatuses } from "../../status/reading/held_statuses.ts";
import { createLedger, type Ledger } from "../../status/ledger/ledger.ts";
import type { PollOwner } from "../../status/reading/status_feeds.ts";
import { createStatusWriter } from "../../status/ledger/status_writer.ts";
import { type Caches, type JobCaches, jobNow } from "./caches.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import type { Metrics } from "./metrics.ts";
import { followTrials, type TrialAdapter } from "./trial_adapter.ts";

const log = getLogger(["milepost", "manager"]);

/** Longest deadline of a write of progress, in milliseconds. */
const WRITE_MS = 5_000;

/** What it is made of. */
export interface OwnedStateParts {
  readonly client: KubeClient;
  readonly jobs: JobCaches;
  readonly clock: Clock;
  readonly configuration: Pick<
    ManagerConfiguration,
    "statusWriteInterval" | "statusWritesQps" | "leaderElect" | "leaseDuration" | "renewDeadline"
  >;
  readonly leadership: Pick<Leadership, "leading">;
  readonly metrics: Metrics;
  /** Absent: nothing is recorded. */
  readonly trials?: TrialParts | undefined;
}

/** What trials are recorded with. */
export interface TrialParts {
  readonly adapter: Pick<TrialAdapter, "begin">;
  readonly sink: Pick<ObservationSink, "knowsTrialsByNameAlone">;
  readonly cache: Pick<Caches["trials"], "onChange">;
}

/** What there is for one term. */
interface TermState {
  readonly ledger: Ledger;
  readonly held: HeldStatuses;
  readonly adapter: Adapter | undefined;
}

/** The state of whoever leads; empty on the others. */
export interface OwnedState {
  readonly accept: AcceptPush;
  /** What jobs' newest status is; undefined where no term runs here. */
  readonly poll: PollOwner;
  /** Logs of trials and jobs; undefined where no term runs here, or nothing is recorded. */
  readonly observations?: ObservationSource | undefined;
  /** Trials that may be stopped by their rules. */
  openTrials(): number;
  /** The job has ended by itself; see {@link Adapter.settle}. Undefined: there is nothing to wait for. */
  settle(trainJob: TrainJob, signal: AbortSignal): Promise<void> | undefined;
  /** Jobs with progress that is not written. */
  pending(): number;
  /** Age of the longest waiting one, in seconds. */
  oldestSeconds(): number;
  /**
   * Owns the state until `signal` aborts. Then what is pending is written within `flushMs` if this
   * replica still leads; otherwise it is dropped and counted.
   */
  run(signal: AbortSignal, flushMs: number): Promise<void>;
}

/** A write's deadline is shorter than what a lost lease leaves to the next owner (decision 7). */
function writeDeadlineMs({ configuration }: OwnedStateParts): number {
  const { leaderElect, leaseDuration, renewDeadline } = configuration;
  return leaderElect ? Math.min(WRITE_MS, (leaseDuration - renewDeadline) * 0.8) : WRITE_MS;
}

/** What the adapter says, where the push is its business. */
function observed(
  adapter: Adapter,
  push: Push,
  signal: AbortSignal,
  otherwise: Acceptance,
): Acceptance | Promise<Acceptance> {
  const answer = adapter.accept(push, signal);
  return answer instanceof Promise ? answer.then((it) => it ?? otherwise) : answer ?? otherwise;
}

/** Creates the state; it takes nothing before a term runs. */
export function createOwnedState(parts: OwnedStateParts): OwnedState {
  const { client, jobs, clock, configuration, leadership, metrics } = parts;
  const write = createStatusWriter(client, writeDeadlineMs(parts));
  let current: TermState | undefined;

  /** What the job's object shows, where the cache has that very job. */
  function shown(ref: JobRef) {
    const job = jobNow(jobs, ref);
    return job && progressOf(ref.kind, job);
  }

  const createTermLedger = () =>
    createLedger({
      write: (job, status, signal) =>
        leadership.leading
          ? write(job, status, signal)
          : Promise.resolve({ result: "error", problem: "the lease was not renewed in time" }),
      shown,
      clock,
      intervalMs: configuration.statusWriteInterval,
      writesPerSecond: configuration.statusWritesQps,
      onWrite: (result) => metrics.ledgerWrites.inc({ result }),
      onDrop: (cause, count) => metrics.ledgerDropped.inc({ cause }, count),
    });

  /** Forgets what is gone; answers how to stop that. */
  function follow(ledger: Ledger, held: HeldStatuses, adapter: Adapter | undefined): () => void {
    const stops = [...jobs].map(([kind, cache]) =>
      cache.jobs.onChange(({ type, object }) => {
        const { uid, annotations = {} } = object.metadata;
        if (type !== "deleted" || uid === undefined) return;
        ledger.forget(uid);
        held.forget(uid);
        const asked = [ANNOTATIONS.earlyStopping, ANNOTATIONS.trialTemplate];
        const asks = asked.some((it) => annotations[it] !== undefined);
        adapter?.forget(jobRefOf(kind, object), asks);
      })
    );
    const { trials } = parts;
    if (adapter && trials) stops.push(followTrials(trials.cache, trials.sink, adapter.drop));
    return () => stops.forEach((stop) => stop());
  }

  async function end(ledger: Ledger, running: Promise<void>, flushMs: number) {
    if (!leadership.leading) {
      const left = ledger.abandon();
      if (left > 0) log.warn("the lease was lost with progress unwritten", { jobs: left });
      return await running;
    }
    const [left] = await Promise.all([ledger.flush(flushMs), running]);
    if (left > 0) log.warn("ended with progress unwritten", { jobs: left, withinMs: flushMs });
  }

  return {
    accept(push, signal) {
      if (current === undefined) {
        const reason = "this replica does not own the status of jobs";
        return { retryAfterMs: 1000, reason };
      }
      const { ledger, held, adapter } = current;
      // First, so that progress is shown also while the observation log is down.
      const acceptance = ledger.submit(push.job, push.trainerStatus);
      if (!acceptance.ok) return acceptance;
      held.put(push);
      return adapter === undefined ? acceptance : observed(adapter, push, signal, acceptance);
    },
    get observations() {
      return current?.adapter;
    },
    openTrials: () => current?.adapter?.open() ?? 0,
    settle: (trainJob, signal) => current?.adapter?.settle(jobRefOf(TRAINJOB, trainJob), signal),
    poll: (entries, waitMs, signal) =>
      current?.held.poll(entries, waitMs, signal) ?? Promise.resolve(undefined),
    pending: () => current?.ledger.pending() ?? 0,
    oldestSeconds: () => current?.ledger.oldestSeconds() ?? 0,
    async run(signal, flushMs) {
      const ledger = createTermLedger();
      const held = createHeldStatuses({ shown, clock, term: crypto.randomUUID() });
      const adapter = parts.trials?.adapter.begin();
      const forget = follow(ledger, held, adapter);
      const ended = Promise.withResolvers<void>();
      const close = () => {
        current = undefined;
        held.close();
        end(ledger, running, flushMs).then(ended.resolve, ended.reject);
      };
      current = { ledger, held, adapter };
      const running = ledger.run(signal);
      const recording = adapter?.run(signal);
      signal.addEventListener("abort", close, { once: true });
      if (signal.aborted) close();
      try {
        await Promise.all([ended.promise, recording]);
      } finally {
        forget();
      }
    },
  };
}
