/** Places of the jobs that the mirror follows: the stream that brings each, and the room of their curves, counted as it changes. */
import type { JobRef } from "../../crds/job_kind.ts";
import { createFairShare } from "../../platform/http/limits/fair_share.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createListeners } from "../../platform/base/listeners.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { type HeldCurves, NO_ROOM } from "./held_curves.ts";
import { MIRROR_LIMITS } from "./mirror_limits.ts";
import { type MirroredJob, MirroredJobs, type MirroredJobsOptions } from "./mirrored_jobs.ts";

/** Interval of checks for jobs that nobody views, in milliseconds. */
const SWEEP_MS = 5_000;

/** Options of {@link MirrorPlaces}. */
export interface MirrorPlacesOptions
  extends Omit<MirroredJobsOptions, "keep" | "nextVersion" | "clock"> {
  readonly clock: Clock;
  readonly maxBytes: number;
}

/** Places in streams. */
export const MOST_PLACED = MIRROR_LIMITS.streams * CURVE_LIMITS.jobs;

const bytesOf = ({ held }: MirroredJob) => held?.bytes ?? 0;

/** The jobs. */
export class MirrorPlaces {
  readonly #byUid = new Map<string, MirroredJob>();
  readonly #streamOf = new Map<MirroredJob, MirroredJobs>();
  /** Who viewed each job first, whose places it takes. */
  readonly #userOf = new Map<MirroredJob, string>();
  /** Places in streams, and all jobs: one user has a half of what is free. */
  readonly #placed = createFairShare(MOST_PLACED);
  readonly #watched = createFairShare(MOST_PLACED + MIRROR_LIMITS.waiting);
  readonly #streams = new Set<MirroredJobs>();
  /** Those without a stream, in the order in which they came. */
  readonly #waiting = new Set<MirroredJob>();
  /** Those that nobody views, the one for longest first. */
  readonly #unused = new Set<MirroredJob>();
  /** Those whose curves found no room, with the bytes that they would take. */
  readonly #crowdedOut = new Map<MirroredJob, number>();
  #bytes = 0;
  #version = 0;
  #sweeping: Promise<void> | undefined;

  constructor(private readonly options: MirrorPlacesOptions) {}

  /** Returns the job, which is followed from now on; undefined if there is no room for more of that user's. */
  watch(job: JobRef, user: string): MirroredJob | undefined {
    const known = this.#byUid.get(job.uid);
    if (known !== undefined) return known;
    const { clock, signal } = this.options;
    if (signal.aborted || !this.#watched.take(user, 1)) return undefined;
    const unusedSinceMs = clock.monotonic();
    const followed: MirroredJob = { job, listeners: createListeners(), version: 0, unusedSinceMs };
    this.#byUid.set(job.uid, followed);
    this.#userOf.set(followed, user);
    this.#unused.add(followed);
    this.#waiting.add(followed);
    this.#place(followed);
    this.#sweeping ??= this.#sweep().finally(() => this.#sweeping = undefined);
    return followed;
  }

  /** Calls the listener when there is news of the job. Returns a function that stops this. */
  listen(followed: MirroredJob, listener: () => void): () => void {
    const remove = followed.listeners.add(() => listener());
    followed.unusedSinceMs = undefined;
    this.#unused.delete(followed);
    return () => {
      remove();
      if (followed.listeners.size > 0) return;
      followed.unusedSinceMs = this.options.clock.monotonic();
      if (this.#byUid.get(followed.job.uid) === followed) this.#unused.add(followed);
    };
  }

  /** The stream that brings the curves of a job; undefined where there is no place for it. */
  streamOf(followed: MirroredJob): MirroredJobs | undefined {
    return this.#streamOf.get(followed);
  }

  /** Resolves when nothing runs any more, after the signal has aborted. */
  async ended(): Promise<void> {
    await Promise.all([this.#sweeping, ...[...this.#streams].map(({ ended }) => ended)]);
  }

  /** Returns the curves as they may be kept. Those that nobody views give way. */
  #keep(followed: MirroredJob, held: HeldCurves): HeldCurves {
    const hasRoom = () => this.#bytes + held.bytes - bytesOf(followed) <= this.options.maxBytes;
    for (const it of this.#unused) {
      if (hasRoom()) break;
      if (it !== followed) this.#drop(it);
    }
    const kept = hasRoom() ? held : NO_ROOM;
    this.#bytes += kept.bytes - bytesOf(followed);
    if (kept === NO_ROOM) this.#crowdedOut.set(followed, held.bytes);
    else this.#crowdedOut.delete(followed);
    return kept;
  }

  #streamFor(job: JobRef): MirroredJobs | undefined {
    for (const stream of this.#streams) if (stream.hasRoomFor(job)) return stream;
    if (this.#streams.size >= MIRROR_LIMITS.streams) return undefined;
    const stream = new MirroredJobs({
      ...this.options,
      keep: (followed, held) => this.#keep(followed, held),
      nextVersion: () => ++this.#version,
    });
    this.#streams.add(stream);
    return stream;
  }

  #place(followed: MirroredJob): void {
    const user = this.#userOf.get(followed) ?? "";
    if (!this.#placed.take(user, 1)) return;
    const stream = this.#streamFor(followed.job);
    if (stream === undefined) return this.#placed.give(user, 1);
    this.#waiting.delete(followed);
    this.#streamOf.set(followed, stream);
    stream.add(followed);
  }

  #drop(followed: MirroredJob): void {
    const stream = this.#streamOf.get(followed);
    const user = this.#userOf.get(followed) ?? "";
    this.#watched.give(user, 1);
    if (stream !== undefined) this.#placed.give(user, 1);
    this.#userOf.delete(followed);
    this.#byUid.delete(followed.job.uid);
    this.#streamOf.delete(followed);
    this.#waiting.delete(followed);
    this.#unused.delete(followed);
    this.#crowdedOut.delete(followed);
    this.#bytes -= bytesOf(followed);
    stream?.remove(followed);
    if (stream?.size !== 0) return;
    void stream.ended.then(() => {
      if (stream.size === 0) this.#streams.delete(stream);
    });
  }

  /** Asks the manager again for curves for which there is room now: it sends them by itself only when they change. */
  #readCrowdedOut(): void {
    if (this.#crowdedOut.size === 0) return;
    const given = this.#unused.values().reduce((sum, it) => sum + bytesOf(it), 0);
    let free = this.options.maxBytes - this.#bytes + given;
    for (const [followed, bytes] of this.#crowdedOut) {
      const more = bytes - bytesOf(followed);
      if (more > free || this.#unused.has(followed)) continue;
      free -= more;
      this.#crowdedOut.delete(followed);
      this.#bytes -= bytesOf(followed);
      delete followed.held;
      this.#streamOf.get(followed)?.readAgain();
    }
  }

  async #sweep(): Promise<void> {
    const { clock, signal } = this.options;
    while (this.#byUid.size > 0 && !signal.aborted) {
      await clock.sleep(SWEEP_MS, signal);
      const oldestMs = clock.monotonic() - MIRROR_LIMITS.lingerMs;
      for (const followed of this.#unused) {
        if ((followed.unusedSinceMs ?? Infinity) > oldestMs) break;
        this.#drop(followed);
      }
      for (const followed of this.#waiting) this.#place(followed);
      this.#readCrowdedOut();
    }
  }
}
