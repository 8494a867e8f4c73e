/** What the owner of all state holds for one term: the ledger, fenced by the lease (decision 7). */
import { getLogger } from "@logtape/logtape";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../kube/clock.ts";
import type { AcceptPush } from "../status/chain/exchange.ts";
import { createHeldStatuses, type HeldStatuses } from "../status/reading/held_statuses.ts";
import { createLedger, type Ledger, type LedgerJob } from "../status/ledger/ledger.ts";
import type { PollOwner } from "../status/reading/status_feeds.ts";
import { createStatusWriter } from "../status/ledger/status_writer.ts";
import type { Caches } from "./caches.ts";
import type { ManagerConfiguration } from "./configuration.ts";
import type { Metrics } from "./metrics.ts";

const log = getLogger(["milepost", "manager"]);

/** Longest deadline of a write of progress, in milliseconds. */
const WRITE_MS = 5_000;

/** What it is made of. */
export interface OwnedStateParts {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, "trainJobs">;
  readonly clock: Clock;
  readonly configuration: Pick<
    ManagerConfiguration,
    "statusWriteInterval" | "statusWritesQps" | "leaderElect" | "leaseDuration" | "renewDeadline"
  >;
  readonly metrics: Metrics;
}

/** The state of whoever leads; empty on the others. */
export interface OwnedState {
  /** Whether a term runs here that takes pushes. */
  readonly open: boolean;
  readonly accept: AcceptPush;
  /** What jobs' newest status is; undefined where no term runs here. */
  readonly poll: PollOwner;
  /** Jobs with progress that is not written. */
  pending(): number;
  /** Age of the longest waiting one, in seconds. */
  oldestSeconds(): number;
  /**
   * Owns the state until `signal` aborts. Then what is pending is written within `flushMs`, where
   * `leading` still says so; else it is dropped, and counted.
   */
  run(signal: AbortSignal, leading: () => boolean, flushMs: number): Promise<void>;
}

/** A write's deadline is shorter than what a lost lease leaves to the next owner (decision 7). */
function writeDeadlineMs({ configuration }: OwnedStateParts): number {
  const { leaderElect, leaseDuration, renewDeadline } = configuration;
  return leaderElect ? Math.min(WRITE_MS, (leaseDuration - renewDeadline) * 0.8) : WRITE_MS;
}

/** Creates the state; it takes nothing before a term runs. */
export function createOwnedState(parts: OwnedStateParts): OwnedState {
  const { client, caches, clock, configuration, metrics } = parts;
  const write = createStatusWriter(client, writeDeadlineMs(parts));
  let current: { readonly ledger: Ledger; readonly held: HeldStatuses } | undefined;

  /** What the job's object shows, where the cache has that very job. */
  function shown({ uid, namespace, name }: LedgerJob) {
    const job = caches.trainJobs.get({ namespace, name });
    return job?.metadata.uid === uid ? job.status?.trainerStatus : undefined;
  }

  const createTermLedger = (leading: () => boolean) =>
    createLedger({
      write: (job, status, signal) =>
        leading()
          ? write(job, status, signal)
          : Promise.resolve({ result: "error", problem: "the lease was not renewed in time" }),
      shown,
      clock,
      intervalMs: configuration.statusWriteInterval,
      writesPerSecond: configuration.statusWritesQps,
      onWrite: (result) => metrics.ledgerWrites.inc({ result }),
      onDrop: (cause, count) => metrics.ledgerDropped.inc({ cause }, count),
    });

  async function end(ledger: Ledger, running: Promise<void>, leads: boolean, flushMs: number) {
    if (!leads) {
      const left = ledger.abandon();
      if (left > 0) log.warn("the lease was lost with progress unwritten", { jobs: left });
      return await running;
    }
    const [left] = await Promise.all([ledger.flush(flushMs), running]);
    if (left > 0) log.warn("ended with progress unwritten", { jobs: left, withinMs: flushMs });
  }

  return {
    get open() {
      return current !== undefined;
    },
    accept(push) {
      if (current === undefined) {
        const reason = "this replica does not own the status of jobs";
        return { retryAfterMs: 1000, reason };
      }
      const acceptance = current.ledger.submit(push.job, push.trainerStatus);
      if (acceptance.ok) current.held.put(push);
      return acceptance;
    },
    poll: (entries, waitMs, signal) =>
      current?.held.poll(entries, waitMs, signal) ?? Promise.resolve(undefined),
    pending: () => current?.ledger.pending() ?? 0,
    oldestSeconds: () => current?.ledger.oldestSeconds() ?? 0,
    async run(signal, leading, flushMs) {
      const ledger = createTermLedger(leading);
      const held = createHeldStatuses({ shown, clock, term: crypto.randomUUID() });
      const forget = caches.trainJobs.onChange(({ type, object }) => {
        const uid = object.metadata.uid;
        if (type !== "deleted" || uid === undefined) return;
        ledger.forget(uid);
        held.forget(uid);
      });
      const ended = Promise.withResolvers<void>();
      const close = () => {
        current = undefined;
        held.close();
        end(ledger, running, leading(), flushMs).then(ended.resolve, ended.reject);
      };
      current = { ledger, held };
      const running = ledger.run(signal);
      signal.addEventListener("abort", close, { once: true });
      if (signal.aborted) close();
      try {
        await ended.promise;
      } finally {
        forget();
      }
    },
  };
}
