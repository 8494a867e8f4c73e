/** Jobs that are followed by one opening of their source at a time: opened anew for further jobs, and again after failures. */
import type { JobRef } from "../crds/job_kind.ts";
import { onAbort } from "../platform/base/aborted.ts";
import { type Backoff, backoffMs } from "../platform/base/backoff.ts";
import type { Clock } from "../platform/base/clock.ts";
import { createListeners, type Listeners } from "../platform/base/listeners.ts";

/** Why there is no news, for people, and how long not to ask again. */
export interface Outage {
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
}

/** What is known of a job. */
export interface Known<Value> {
  /** Absent: nothing yet. */
  readonly value?: Value | undefined;
  /** Why there is no news now, if so. */
  readonly outage?: Outage | undefined;
}

/** A job that is followed. */
export interface FollowedJob<Value> {
  readonly job: JobRef;
  readonly listeners: Listeners<Known<Value>>;
  value?: Value | undefined;
  /** Why there is no news of this job in particular. */
  outage?: Outage | undefined;
  /** Of the value, for who asks only for what differs from it. */
  cursor?: string;
}

/** Returns a job of which nothing is known. */
export const followedJob = <Value>(job: JobRef): FollowedJob<Value> => ({
  job,
  listeners: createListeners(),
});

/** Adds a listener, and tells it at once what is known of the job, if anything is. Returns a function that removes it. */
export function listen<Value>(
  { listeners }: FollowedJob<Value>,
  known: Known<Value>,
  listener: (known: Known<Value>) => void,
): () => void {
  const remove = listeners.add(listener);
  if (known.value !== undefined || known.outage !== undefined) listener(known);
  return remove;
}

/** Options of {@link FollowedJobs}. */
export interface FollowedJobsOptions<Value> {
  /** Follows the jobs until `signal` aborts, or until the source ends, then resolves with why. Never throws. */
  readonly open: (jobs: FollowedJobs<Value>, signal: AbortSignal) => Promise<Outage>;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Jobs that come within this time go together, in milliseconds. */
  readonly togetherMs: number;
  /** Least time between two openings, in milliseconds. */
  readonly openEveryMs: number;
  /** What lasted so long was good: its end is no outage yet, in milliseconds. */
  readonly goodMs: number;
  readonly retry: Backoff;
}

/** The jobs of one source. */
export class FollowedJobs<Value> {
  /** Those that had news last stand last. */
  readonly #byUid = new Map<string, FollowedJob<Value>>();
  #outage: Outage | undefined;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  /** Ends what is open, or the wait for the next opening. */
  #change = new AbortController();
  /** When that is ended for another one; Infinity if it need not be. */
  #opensMs = Infinity;
  #openedMs = -Infinity;
  /** When something last came. */
  #heardMs = -Infinity;

  constructor(private readonly options: FollowedJobsOptions<Value>) {}

  get size(): number {
    return this.#byUid.size;
  }

  /** The jobs; those that had news last come last. */
  get all(): readonly FollowedJob<Value>[] {
    return [...this.#byUid.values()];
  }

  /** Resolves when nothing runs any more: when it has no jobs, or the signal has aborted. */
  get ended(): Promise<void> {
    return this.#running;
  }

  /** Returns what is known of one of the jobs. */
  knownOf({ value, outage = this.#outage }: FollowedJob<Value>): Known<Value> {
    return { value, outage };
  }

  add(followed: FollowedJob<Value>): void {
    this.#byUid.set(followed.job.uid, followed);
    if (this.#isRunning) return this.openAnew(0);
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** The source goes on bringing it until it is opened anew, unless there is no other. */
  remove({ job: { uid } }: FollowedJob<Value>): void {
    if (this.#byUid.delete(uid) && this.#byUid.size === 0) this.#change.abort();
  }

  /** Ends what is open after a while, so that it is opened for the jobs that there are then. */
  openAnew(afterMs: number): void {
    const { clock, togetherMs, openEveryMs } = this.options;
    const change = this.#change;
    const nowMs = clock.monotonic();
    const waitMs = Math.max(afterMs, togetherMs, this.#openedMs + openEveryMs - nowMs);
    if (this.#opensMs <= nowMs + waitMs) return;
    this.#opensMs = nowMs + waitMs;
    void clock.sleep(waitMs, change.signal).then(() => change.abort());
  }

  /** Something came from the source, be it a sign of life. */
  heard(): void {
    this.#heardMs = this.options.clock.monotonic();
  }

  /** The source says this of a job; the same again is no news. */
  keep(followed: FollowedJob<Value>, value: Value | undefined, outage?: Outage): void {
    const { uid } = followed.job;
    if (this.#byUid.get(uid) !== followed) return;
    this.#byUid.delete(uid);
    this.#byUid.set(uid, followed);
    if (value === followed.value && outage === followed.outage) return;
    [followed.value, followed.outage] = [value, outage];
    this.#tell(followed);
  }

  /** Why there is no news now; undefined: there is again. */
  setOutage(outage: Outage | undefined): void {
    if (outage === undefined && this.#outage === undefined) return;
    this.#outage = outage;
    this.#byUid.forEach((it) => this.#tell(it));
  }

  async #run(): Promise<void> {
    const { clock, random, signal, togetherMs, openEveryMs, goodMs, retry } = this.options;
    if (togetherMs > 0) await clock.sleep(togetherMs, signal);
    let failures = 0;
    while (this.#byUid.size > 0 && !signal.aborted) {
      const change = this.#change = new AbortController();
      this.#opensMs = Infinity;
      this.#openedMs = clock.monotonic();
      const outage = await this.#open(change.signal);
      const isToBeOpened = change.signal.aborted;
      change.abort();
      if (isToBeOpened && this.#byUid.size > 0) {
        await clock.sleep(this.#openedMs + openEveryMs - clock.monotonic(), signal);
      }
      if (isToBeOpened || signal.aborted) continue;
      // An attempt that nobody answers takes long, too.
      failures = this.#heardMs - this.#openedMs >= goodMs ? 0 : failures + 1;
      if (failures > 0) this.setOutage(outage);
      const pauseMs = backoffMs(Math.max(1, failures), retry, random);
      await clock.sleep(Math.max(pauseMs, outage.retryAfterMs ?? 0), signal);
    }
    this.#change.abort();
    this.#isRunning = false;
  }

  /** Follows until the source ends, or is to be opened anew. */
  async #open(change: AbortSignal): Promise<Outage> {
    const { open, signal } = this.options;
    const over = new AbortController();
    const forgets = [signal, change].map((it) => onAbort(it, () => over.abort()));
    try {
      return await open(this, over.signal);
    } finally {
      over.abort();
      for (const forget of forgets) forget();
    }
  }

  #tell(followed: FollowedJob<Value>): void {
    followed.listeners.notify(this.knownOf(followed));
  }
}
