/** Jobs whose curves come by one stream from the manager: opened, opened anew for further jobs, and again after failures. */
import type { JobRef } from "../../crds/job_kind.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { backoffMs } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Listeners } from "../../platform/base/listeners.ts";
import { areSame, type HeldCurves, heldCurves, NO_CURVES, NO_ROOM } from "./held_curves.ts";
import { followManager, type Outage } from "./manager_stream.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import type { ManagerNews } from "./manager_news.ts";
import { StreamRoom } from "./stream_room.ts";

/** Jobs that come within this time go together, in milliseconds. */
const TOGETHER_MS = 100;
/** Least time between two openings, in milliseconds: each brings all curves again. */
const OPEN_EVERY_MS = 1_500;
/** A stream that lasted so long was good: its end is no outage yet, in milliseconds. */
const GOOD_MS = 10_000;
/** After this time the manager has no curves of a job that it has not sent, in milliseconds. */
const ABSENT_MS = 2_000;
/** The manager is asked again about such jobs, and after an outage that it speaks of, in milliseconds. */
const AGAIN = { firstMs: 5_000, longestMs: 60_000 } as const;
const RETRY = { firstMs: 500, longestMs: 15_000 } as const;

/** A job that is followed. */
export interface MirroredJob {
  readonly job: JobRef;
  readonly listeners: Listeners<void>;
  /** Absent: not known yet. */
  held?: HeldCurves;
  /** Grows with each change of what is held. */
  version: number;
  /** Since when nobody views it; undefined while somebody does. */
  unusedSinceMs: number | undefined;
}

/** Options of {@link MirroredJobs}. */
export interface MirroredJobsOptions {
  readonly manager: () => ManagerClient | undefined;
  /** Says what is missing where there is no manager. */
  readonly missing: () => string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Returns the curves as they may be kept: there may be no room for them. */
  readonly keep: (job: MirroredJob, held: HeldCurves) => HeldCurves;
  readonly nextVersion: () => number;
}

/** The jobs of one stream. */
export class MirroredJobs {
  readonly #byUid = new Map<string, MirroredJob>();
  readonly #room = new StreamRoom();
  #outage: Outage | undefined;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  /** Ends the stream that is open, or the wait for the next one. */
  #change = new AbortController();
  /** When that is ended for another one; Infinity if it need not be. */
  #opensMs = Infinity;
  #openedMs = -Infinity;
  /** When something last came from the manager. */
  #heardMs = -Infinity;
  /** How often the manager was asked again in a row. */
  #asked = 0;

  constructor(private readonly options: MirroredJobsOptions) {}

  get size(): number {
    return this.#byUid.size;
  }

  get outage(): Outage | undefined {
    return this.#outage;
  }

  /** Resolves when nothing runs any more: when it has no jobs, or the signal has aborted. */
  get ended(): Promise<void> {
    return this.#running;
  }

  hasRoomFor(job: JobRef): boolean {
    return this.#room.hasRoomFor(job);
  }

  add(followed: MirroredJob): void {
    this.#byUid.set(followed.job.uid, followed);
    this.#room.add(followed.job);
    if (this.#isRunning) return this.#openAnew(0);
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** The stream goes on bringing it until it is opened anew, unless there is no other. */
  remove(followed: MirroredJob): void {
    if (!this.#byUid.delete(followed.job.uid)) return;
    this.#room.remove(followed.job);
    if (this.#byUid.size === 0) this.#change.abort();
  }

  /** Opens the stream anew, which brings all curves again. */
  readAgain(): void {
    this.#openAnew(0);
  }

  /** Ends the stream after a while, so that another one is opened for the jobs that there are then. */
  #openAnew(afterMs: number): void {
    const { clock } = this.options;
    const change = this.#change;
    const nowMs = clock.monotonic();
    const waitMs = Math.max(afterMs, TOGETHER_MS, this.#openedMs + OPEN_EVERY_MS - nowMs);
    if (this.#opensMs <= nowMs + waitMs) return;
    this.#opensMs = nowMs + waitMs;
    void clock.sleep(waitMs, change.signal).then(() => change.abort());
  }

  async #run(): Promise<void> {
    const { clock, random, signal } = this.options;
    await clock.sleep(TOGETHER_MS, signal);
    let failures = 0;
    while (this.#byUid.size > 0 && !signal.aborted) {
      const change = this.#change = new AbortController();
      this.#opensMs = Infinity;
      this.#openedMs = clock.monotonic();
      const outage = await this.#follow(change.signal);
      const isToBeOpened = change.signal.aborted;
      change.abort();
      if (isToBeOpened || signal.aborted) continue;
      // An attempt that nobody answers takes long, too.
      failures = this.#heardMs - this.#openedMs >= GOOD_MS ? 0 : failures + 1;
      if (failures > 0) this.#setOutage(outage);
      const pauseMs = backoffMs(Math.max(1, failures), RETRY, random);
      await clock.sleep(Math.max(pauseMs, outage.retryAfterMs ?? 0), signal);
    }
    this.#change.abort();
    this.#isRunning = false;
  }

  /** Follows until the stream ends, or is to be opened anew. */
  async #follow(change: AbortSignal): Promise<Outage> {
    const { manager, missing, clock, signal } = this.options;
    const client = manager();
    if (client === undefined) return { reason: missing() };
    const over = new AbortController();
    const forgets = [signal, change].map((it) => onAbort(it, () => over.abort()));
    const all = [...this.#byUid.values()];
    const before = this.#outage;
    const onOpen = async () => {
      await clock.sleep(ABSENT_MS, over.signal);
      if (over.signal.aborted) return;
      if (this.#outage === before) this.#endOutage();
      this.#markAbsent(all);
    };
    try {
      return await followManager({
        client,
        jobs: all.map(({ job }) => job),
        signal: over.signal,
        onOpen: () => void onOpen(),
        onNews: (news) => this.#take(news),
        onHeard: () => this.#heardMs = clock.monotonic(),
      });
    } finally {
      over.abort();
      for (const forget of forgets) forget();
    }
  }

  #take(news: ManagerNews): void {
    if (news.kind === "outage") {
      this.#setOutage(news);
      // The manager does not say that it is over until curves change.
      return this.#askAgain();
    }
    for (const shown of news.all) {
      const followed = this.#byUid.get(shown.uid);
      if (followed !== undefined) this.#keep(followed, heldCurves(shown));
    }
    this.#endOutage();
  }

  /** Who was told of the outage is sent the curves again, so that it is over there, too. */
  #endOutage(): void {
    if (this.#outage === undefined) return;
    this.#outage = undefined;
    this.#byUid.forEach((it) => this.#changed(it));
  }

  #keep(followed: MirroredJob, held: HeldCurves): void {
    const before = followed.held;
    if (before !== undefined && before !== NO_ROOM && areSame(before, held)) return;
    followed.held = this.options.keep(followed, held);
    if (followed.held !== before) this.#changed(followed);
  }

  #changed(followed: MirroredJob): void {
    followed.version = this.options.nextVersion();
    followed.listeners.notify();
  }

  /** The jobs of a stream of which the manager has sent nothing: it does not know them yet, or not any more. */
  #markAbsent(ofStream: readonly MirroredJob[]): void {
    const absent = ofStream.filter(({ held = NO_CURVES }) => held === NO_CURVES);
    for (const it of absent) this.#keep(it, NO_CURVES);
    if (absent.length === 0) this.#asked = 0;
    else this.#askAgain();
  }

  #askAgain(): void {
    this.#openAnew(backoffMs(++this.#asked, AGAIN, this.options.random));
  }

  #setOutage(outage: Outage): void {
    this.#outage = outage;
    for (const { listeners } of this.#byUid.values()) listeners.notify();
  }
}
