/** State that the leader owns for one term: the ledger and the newest statuses, fenced by leadership. */
import { getLogger } from "@logtape/logtape";
import { type AnyJob, jobNow, type JobRef, jobRefOf, type WatchedJobs } from "../crds/job_kind.ts";
import { progressOf } from "../crds/job_state.ts";
import type { TrainerStatus } from "../crds/trainjob.ts";
import { shownStatus } from "../crds/wire/sample.ts";
import { onAbort } from "../platform/base/aborted.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import type { Clock } from "../platform/base/clock.ts";
import { isRemoval } from "../platform/kube/watching/informer.ts";
import type { Leadership } from "../platform/kube/leading/leadership.ts";
import type { AcceptPush, PushAnswer } from "../crds/wire/push_answer.ts";
import type { Push } from "../crds/wire/push.ts";
import { createHeldStatuses, type HeldStatuses } from "./ledger/held_statuses.ts";
import type { PollOwner } from "./owner_poll.ts";
import type { Reading } from "./ledger/reading.ts";
import { createLedger, type Ledger, type LedgerOptions } from "./ledger/ledger.ts";
import { createStatusWriter, type KeepsProgress } from "./ledger/status_writer.ts";

const log = getLogger(["milepost", "manager"]);

/** Longest deadline of a write of progress, in milliseconds. */
const WRITE_MS = 5_000;

/** A second recipient of accepted pushes, for one term. */
export interface PushRecorder {
  /** Returns the answer to the push; undefined if the log does not record it. */
  accept(
    push: Push,
    signal: AbortSignal,
  ): undefined | PushAnswer | Promise<PushAnswer | undefined>;
  /** Returns the answer to all pushes of a job that was stopped early: they are written nowhere. */
  stopped(job: JobRef): PushAnswer | undefined;
  /** The job is deleted. */
  forget(job: JobRef, object: AnyJob): void;
  /** The job is not followed any more, and may exist: what is recorded of it stays. */
  leave(job: JobRef): void;
  /** Works until `signal` aborts; takes no pushes from then on. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createOwnedState}. */
export interface OwnedStateOptions
  extends Required<Pick<LedgerOptions, "intervalMs" | "writesPerSecond">> {
  readonly client: KubeClient;
  /** The caches of jobs by their kind. */
  readonly jobs: WatchedJobs;
  readonly clock: Clock;
  readonly leadership: Pick<Leadership, "leading" | "deadlineMs">;
  readonly onWrite: LedgerOptions["onWrite"];
  readonly onDrop: LedgerOptions["onDrop"];
  /** Default: the definition of every kind keeps the field that shows progress. */
  readonly keepsProgress?: KeepsProgress;
  /** Makes the recorder of a term. Absent: pushes are not recorded. */
  readonly record?: (() => PushRecorder) | undefined;
}

/** The state of one term. */
interface TermState {
  readonly ledger: Ledger;
  readonly held: HeldStatuses;
  readonly recorder: PushRecorder | undefined;
}

/** The state of the leader; empty on other replicas. */
export interface OwnedState {
  readonly accept: AcceptPush;
  /** Reads the newest statuses of jobs; undefined if no term runs here. */
  readonly poll: PollOwner<Reading>;
  /** Returns the newest that a job pushed in the term that runs here; the same object until it pushes again. */
  newestOf(jobUid: string): TrainerStatus | undefined;
  /** Calls the listener after each push that is taken here. Returns a function that ends this. */
  onPush(listener: () => void): () => void;
  /** Number of jobs with unwritten progress. */
  pending(): number;
  /** Age of the oldest unwritten progress, in seconds. */
  oldestSeconds(): number;
  /**
   * Owns the state until `signal` aborts. Then unwritten progress is written within `flushMs` if this
   * replica still leads; otherwise it is dropped and counted.
   */
  run(signal: AbortSignal, flushMs: number): Promise<void>;
}

/** The recorder's answer; `otherwise` if it does not record the push. */
function recorded(
  recorder: PushRecorder,
  push: Push,
  signal: AbortSignal,
  otherwise: PushAnswer,
): PushAnswer | Promise<PushAnswer> {
  const answer = recorder.accept(push, signal);
  return answer instanceof Promise ? answer.then((it) => it ?? otherwise) : answer ?? otherwise;
}

/** Creates the state; it accepts nothing before a term runs. */
export function createOwnedState(options: OwnedStateOptions): OwnedState {
  const { client, jobs, clock, leadership, intervalMs, writesPerSecond, onWrite, onDrop } = options;
  const deadlineMs = leadership.deadlineMs(WRITE_MS);
  const write = createStatusWriter(client, { deadlineMs, keepsProgress: options.keepsProgress });
  const listeners = new Set<() => void>();
  let current: TermState | undefined;

  /** The progress in the job's object, if the cache has that very job. */
  function shown(ref: JobRef) {
    const job = jobNow(jobs, ref);
    return job && progressOf(ref.kind, job);
  }

  const createTermLedger = () =>
    createLedger({
      write: (job, status, signal) =>
        leadership.leading ? write(job, status, signal) : Promise.resolve({
          result: "error",
          problem: "this replica no longer holds the Lease, which it could not renew in time",
        }),
      shown,
      clock,
      intervalMs,
      writesPerSecond,
      onWrite,
      onDrop,
    });

  /** Forgets jobs that are deleted, or not followed any more. Returns a function that stops this. */
  function followJobs({ ledger, held, recorder }: TermState): () => void {
    const stops = [...jobs].map(([kind, cache]) =>
      cache.jobs.onChange((change) => {
        const { type, object } = change;
        const { uid } = object.metadata;
        if (!isRemoval(change) || uid === undefined) return;
        ledger.forget(uid);
        held.forget(uid);
        const job = jobRefOf(kind, object);
        if (type === "deleted") recorder?.forget(job, object);
        else recorder?.leave(job);
      })
    );
    return () => stops.forEach((stop) => stop());
  }

  async function end(ledger: Ledger, running: Promise<void>, flushMs: number) {
    if (!leadership.leading) {
      const left = ledger.abandon();
      if (left > 0) log.warn("lost the lease with unwritten progress", { jobs: left });
      return await running;
    }
    const [left] = await Promise.all([ledger.flush(flushMs), running]);
    if (left > 0) log.warn("stopped with unwritten progress", { jobs: left, withinMs: flushMs });
  }

  return {
    accept(push, signal) {
      if (current === undefined) {
        const reason = "this replica does not own the status of jobs";
        return { retryAfterMs: 1000, reason };
      }
      const { ledger, held, recorder } = current;
      const stopped = recorder?.stopped(push.job);
      if (stopped !== undefined) return stopped;
      // First, so that progress is shown also while the observation log is down.
      const trainerStatus = shownStatus(push.trainerStatus);
      const acceptance = ledger.submit(push.job, trainerStatus);
      if (!acceptance.ok) return acceptance;
      held.put({ ...push, trainerStatus });
      for (const listener of listeners) listener();
      return recorder === undefined ? acceptance : recorded(recorder, push, signal, acceptance);
    },
    poll: (entries, waitMs, signal) =>
      current?.held.poll(entries, waitMs, signal) ?? Promise.resolve(undefined),
    newestOf: (uid) => current?.held.newestOf(uid),
    onPush(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    pending: () => current?.ledger.pending() ?? 0,
    oldestSeconds: () => current?.ledger.oldestSeconds() ?? 0,
    async run(signal, flushMs) {
      const ledger = createTermLedger();
      const held = createHeldStatuses({ shown, clock, term: crypto.randomUUID() });
      const recorder = options.record?.();
      const state = { ledger, held, recorder };
      const stop = followJobs(state);
      const ended = Promise.withResolvers<void>();
      const close = () => {
        current = undefined;
        held.close();
        end(ledger, running, flushMs).then(ended.resolve, ended.reject);
      };
      current = state;
      const running = ledger.run(signal);
      const recording = recorder?.run(signal);
      onAbort(signal, close);
      try {
        await Promise.all([ended.promise, recording]);
      } finally {
        stop();
      }
    },
  };
}
