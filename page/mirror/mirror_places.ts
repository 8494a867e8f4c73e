/** Places of the jobs that the mirror follows: the stream that brings each, and the room of their curves, counted as it changes. */
import type { JobRef } from "../../crds/job_kind.ts";
import { createFairShare } from "../../platform/http/limits/fair_share.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import type { HeldCurves } from "../../owner/curves/held_curves.ts";
import {
  followedJob,
  type FollowedJobs,
  type Known,
  listen,
  type Outage,
} from "../../owner/followed_group.ts";
import { MIRROR_LIMITS } from "./mirror_limits.ts";
import { type MirroredJob, mirroredJobs, type MirroredJobsOptions } from "./mirrored_jobs.ts";
import { StreamRoom } from "./stream_room.ts";

/** Interval of checks for jobs that nobody views, in milliseconds. */
const SWEEP_MS = 5_000;

/** One stream, and what its jobs take of its bounds. */
interface Stream {
  readonly jobs: FollowedJobs<HeldCurves>;
  readonly room: StreamRoom;
}

/** Places in streams. */
const MOST_PLACED = MIRROR_LIMITS.streams * CURVE_LIMITS.jobs;

/** Of a job without a place. */
export const NO_PLACE: Outage = {
  reason: `curves of up to ${MOST_PLACED} jobs are looked at here at once, one user's of half of ` +
    "those that are free: these come when there is room",
};

const bytesOf = ({ value }: MirroredJob) => value?.bytes ?? 0;

/** The jobs. */
export class MirrorPlaces {
  readonly #byUid = new Map<string, MirroredJob>();
  readonly #streamOf = new Map<MirroredJob, Stream>();
  /** Who viewed each job first, whose places it takes. */
  readonly #userOf = new Map<MirroredJob, string>();
  /** Places in streams, and all jobs: one user has a half of what is free. */
  readonly #placed = createFairShare(MOST_PLACED);
  readonly #watched = createFairShare(MOST_PLACED + MIRROR_LIMITS.waiting);
  readonly #streams = new Set<Stream>();
  /** Those without a stream, in the order in which they came. */
  readonly #waiting = new Set<MirroredJob>();
  /** Those that nobody views, and since when, the one for longest first. */
  readonly #unused = new Map<MirroredJob, number>();
  /** Those whose curves found no room, with the bytes that they would take. */
  readonly #crowdedOut = new Map<MirroredJob, number>();
  #bytes = 0;
  #sweeping: Promise<void> | undefined;

  constructor(
    private readonly options: Omit<MirroredJobsOptions, "fit"> & {
      readonly maxBytes: number;
    },
  ) {}

  /** Returns the job, which is followed from now on; undefined if there is no room for more of that user's. */
  watch(job: JobRef, user: string): MirroredJob | undefined {
    const known = this.#byUid.get(job.uid);
    if (known !== undefined) return known;
    const { clock, signal } = this.options;
    if (signal.aborted || !this.#watched.take(user, 1)) return undefined;
    const followed: MirroredJob = followedJob(job);
    this.#byUid.set(job.uid, followed);
    this.#userOf.set(followed, user);
    this.#unused.set(followed, clock.monotonic());
    this.#waiting.add(followed);
    this.#place(followed);
    this.#sweeping ??= this.#sweep().finally(() => this.#sweeping = undefined);
    return followed;
  }

  /** Calls the listener with what is known of the job, if anything is, and with news of it. Returns a function that stops this. */
  listen(followed: MirroredJob, listener: (known: Known<HeldCurves>) => void): () => void {
    this.#unused.delete(followed);
    const remove = listen(followed, this.knownOf(followed), listener);
    return () => {
      remove();
      if (followed.listeners.size > 0 || this.#byUid.get(followed.job.uid) !== followed) return;
      this.#unused.set(followed, this.options.clock.monotonic());
    };
  }

  /** Returns what is known of a job; of one without a place, that. */
  knownOf(followed: MirroredJob): Known<HeldCurves> {
    return this.#streamOf.get(followed)?.jobs.knownOf(followed) ?? { outage: NO_PLACE };
  }

  /** Resolves when nothing runs any more, after the signal has aborted. */
  async ended(): Promise<void> {
    await Promise.all([this.#sweeping, ...[...this.#streams].map(({ jobs }) => jobs.ended)]);
  }

  /** Makes room for curves: those that nobody views give way. Returns whether there is. */
  #fit(followed: MirroredJob, held: HeldCurves): boolean {
    // It may have given way to another one of the same event.
    if (this.#byUid.get(followed.job.uid) !== followed) return false;
    const hasRoom = () => this.#bytes + held.bytes - bytesOf(followed) <= this.options.maxBytes;
    for (const it of this.#unused.keys()) {
      if (hasRoom()) break;
      if (it !== followed) this.#drop(it);
    }
    const fits = hasRoom();
    this.#bytes += (fits ? held.bytes : 0) - bytesOf(followed);
    if (fits) this.#crowdedOut.delete(followed);
    else this.#crowdedOut.set(followed, held.bytes);
    return fits;
  }

  #streamFor(job: JobRef): Stream | undefined {
    for (const stream of this.#streams) if (stream.room.hasRoomFor(job)) return stream;
    if (this.#streams.size >= MIRROR_LIMITS.streams) return undefined;
    const fit = (followed: MirroredJob, held: HeldCurves) => this.#fit(followed, held);
    const stream = { jobs: mirroredJobs({ ...this.options, fit }), room: new StreamRoom() };
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
    stream.room.add(followed.job);
    stream.jobs.add(followed);
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
    if (stream === undefined) return;
    stream.room.remove(followed.job);
    stream.jobs.remove(followed);
    if (stream.jobs.size > 0) return;
    void stream.jobs.ended.then(() => stream.jobs.size === 0 && this.#streams.delete(stream));
  }

  /** Asks the manager again for curves for which there is room now: it sends them by itself only when they change. */
  #readCrowdedOut(): void {
    if (this.#crowdedOut.size === 0) return;
    const given = this.#unused.keys().reduce((sum, it) => sum + bytesOf(it), 0);
    let free = this.options.maxBytes - this.#bytes + given;
    for (const [followed, bytes] of this.#crowdedOut) {
      const more = bytes - bytesOf(followed);
      if (more > free || this.#unused.has(followed)) continue;
      free -= more;
      this.#crowdedOut.delete(followed);
      this.#streamOf.get(followed)?.jobs.openAnew(0);
    }
  }

  async #sweep(): Promise<void> {
    const { clock, signal } = this.options;
    while (this.#byUid.size > 0 && !signal.aborted) {
      await clock.sleep(SWEEP_MS, signal);
      const oldestMs = clock.monotonic() - MIRROR_LIMITS.lingerMs;
      for (const [followed, sinceMs] of this.#unused) {
        if (sinceMs > oldestMs) break;
        this.#drop(followed);
      }
      for (const followed of this.#waiting) this.#place(followed);
      this.#readCrowdedOut();
    }
  }
}
