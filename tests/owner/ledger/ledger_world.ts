/** A ledger on a fake clock, whose writes are recorded and end as the test wants. */
import type { JobRef } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { TrainerStatus } from "../../../crds/trainjob.ts";
import {
  createLedger,
  type Ledger,
  type LedgerOptions,
  type WriteOutcome,
} from "../../../owner/ledger/ledger.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

/** A write that began. */
export interface Write {
  readonly name: string;
  readonly percent: number | undefined;
  readonly beganMs: number;
  endedMs: number | undefined;
}

/** The ledger that runs, and what it did. */
export interface LedgerWorld {
  readonly clock: FakeClock;
  readonly ledger: Ledger;
  readonly writes: Write[];
  /** `cause count` for each drop. */
  readonly dropped: string[];
  /** Pushes for a job, without waiting. */
  push(name: string, percent?: number): void;
  /** Names of the writes since the last call. */
  written(): string[];
  /** Tells it to stop; resolves when it did. */
  end(): Promise<void>;
}

/** Options of a ledger's world. */
export interface LedgerWorldOptions extends Partial<LedgerOptions> {
  /** Duration of a write in milliseconds. Default 0. */
  readonly latencyMs?: () => number;
  /** How it ends. Default written. */
  readonly outcome?: (job: JobRef) => WriteOutcome;
}

/** A status of that progress. */
export const progressOf = (progressPercentage: number): TrainerStatus => ({
  progressPercentage,
  lastUpdatedTime: "2025-01-23T10:30:45Z",
});

/** A job of that name. */
export const jobOf = (name: string): JobRef => ({
  kind: TRAINJOB,
  uid: `uid-${name}`,
  namespace: "team",
  name,
});

/** Starts one. */
export function ledgerWorld(options: LedgerWorldOptions = {}): LedgerWorld {
  const { latencyMs = () => 0, outcome = () => ({ result: "written" }), ...more } = options;
  const clock = new FakeClock(undefined, settlePromises);
  const writes: Write[] = [];
  const dropped: string[] = [];
  let told = 0;
  const ledger = createLedger({
    clock,
    random: () => 1,
    write: async (job, { progressPercentage: percent }, signal) => {
      const write: Write = {
        name: job.name,
        percent,
        beganMs: clock.monotonic(),
        endedMs: undefined,
      };
      writes.push(write);
      await clock.sleep(latencyMs(), signal);
      write.endedMs = clock.monotonic();
      return outcome(job);
    },
    onDrop: (cause, count) => dropped.push(`${cause} ${count}`),
    ...more,
  });
  const stop = new AbortController();
  const running = ledger.run(stop.signal);
  return {
    clock,
    ledger,
    writes,
    dropped,
    push: (name, percent = 1) => void ledger.submit(jobOf(name), progressOf(percent)),
    written() {
      const names = writes.slice(told).map(({ name }) => name);
      told = writes.length;
      return names;
    },
    async end() {
      stop.abort();
      await running;
    },
  };
}
