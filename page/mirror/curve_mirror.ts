/** Mirror of curves: those of all jobs that somebody here looks at, from few streams of the manager, for any number of viewers. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Clock } from "../../kube/clock.ts";
import type { CurveAnswer, CurveAsk, ShownCurves } from "../api/owner_curves.ts";
import type { ViewParts } from "../api/view_parts.ts";
import { createCurveReads } from "./curve_reads.ts";
import { type MirroredJob, MirroredJobs } from "./mirrored_jobs.ts";
import { type HeldCurves, NO_CURVES, NO_ROOM, shownCurves } from "./held_curves.ts";
import type { ManagerClient, Outage } from "./manager_stream.ts";

/** Bounds. */
export const MIRROR_LIMITS = {
  /** Streams from the manager, of up to a hundred jobs each: it lets one user have 20 by default. */
  streams: 16,
  /** Bytes of all curves. */
  bytes: 128 << 20,
  /** How long a job that nobody looks at any more is followed, in milliseconds. */
  lingerMs: 30_000,
  /** How long an answer waits for curves that have not come yet, in milliseconds. */
  waitMs: 5_000,
  /** Jobs for which there is no place, and which wait for one. */
  waiting: 10_000,
} as const;

/** How often jobs are looked for that nobody looks at, in milliseconds. */
const SWEEP_MS = 5_000;
/** Bytes of the curves whose answers are kept for a moment: viewers of one job get the same. */
const SHARED_BYTES = 8 << 20;
const SHARED_MS = 2_000;
/** After which who was given no curves may ask again, in milliseconds. */
const RETRY_MS = 1_000;

/** Viewers of a job that has an outage ask again after this time, in milliseconds. */
const RING_MS = 250;

const NO_PLACE: Outage = {
  reason: `curves of more than ${MIRROR_LIMITS.streams * 100} jobs are looked at here at once: ` +
    "those of the others come when there is room",
};
const TOO_LARGE: Outage = {
  reason: "the curves that are looked at here take more memory than there is for them: " +
    "these come when there is room",
};
const NOT_YET: Outage = { reason: "the manager has not sent these curves yet" };
const CLOSING: Outage = { reason: "this server is about to stop" };
const NO_MANAGER = "no manager of Milepost can be reached from here, so there are no curves";

/** Options of {@link createCurveMirror}. */
export interface CurveMirrorOptions {
  /** Returns the manager's status port as it is reached now, with a token that may list the jobs. */
  readonly manager: () => ManagerClient | undefined;
  /** Says what is missing while there is none. */
  readonly missing?: () => string;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Default {@link MIRROR_LIMITS}. */
  readonly maxBytes?: number;
}

/** The mirror: two parts of the page's API. */
export interface CurveMirror extends Pick<ViewParts, "ask" | "follow"> {
  /** Ends all streams; resolves when nothing runs. */
  close(): Promise<void>;
}

/** Creates a mirror; nothing runs while nobody looks at a job. */
export function createCurveMirror(options: CurveMirrorOptions): CurveMirror {
  const { manager, clock, random = Math.random, maxBytes = MIRROR_LIMITS.bytes } = options;
  const { missing = () => NO_MANAGER } = options;
  const closed = new AbortController();
  const { signal } = closed;
  const id = crypto.randomUUID();
  /** With the stream that brings them; without, where there is no place. */
  const byUid = new Map<string, { readonly followed: MirroredJob; stream?: MirroredJobs }>();
  const streams = new Set<MirroredJobs>();
  const reads = createCurveReads({ clock, signal });
  const shared = new Map<string, ShownCurves>();
  /** Jobs whose viewers are to ask again. */
  const ringing = new Set<MirroredJob>();
  let version = 0;
  let bytes = 0;
  let sharedBytes = 0;
  let sweeping: Promise<void> | undefined;

  const nextVersion = () => ++version;
  const bytesOf = ({ held }: MirroredJob) => held?.bytes ?? 0;

  /** Those that nobody looks at give way. */
  function keep(followed: MirroredJob, held: HeldCurves): HeldCurves {
    for (const it of [...byUid.values()]) {
      if (bytes + held.bytes - bytesOf(followed) <= maxBytes) break;
      if (it.followed !== followed && it.followed.unusedSinceMs !== undefined) drop(it.followed);
    }
    const hasRoom = bytes + held.bytes - bytesOf(followed) <= maxBytes;
    const kept = hasRoom ? held : NO_ROOM;
    bytes += kept.bytes - bytesOf(followed);
    return kept;
  }

  function streamFor(job: JobRef): MirroredJobs | undefined {
    for (const stream of streams) if (stream.hasRoomFor(job)) return stream;
    if (streams.size >= MIRROR_LIMITS.streams) return undefined;
    const stream = new MirroredJobs({ manager, missing, clock, random, signal, keep, nextVersion });
    streams.add(stream);
    return stream;
  }

  function drop({ job: { uid }, ...followed }: MirroredJob): void {
    const stream = byUid.get(uid)?.stream;
    byUid.delete(uid);
    bytes -= followed.held?.bytes ?? 0;
    stream?.remove(uid);
    if (stream?.size !== 0) return;
    void stream.ended.then(() => {
      if (stream.size === 0) streams.delete(stream);
    });
  }

  function place(followed: MirroredJob): void {
    const stream = streamFor(followed.job);
    byUid.set(followed.job.uid, { followed, ...(stream && { stream }) });
    stream?.add(followed);
  }

  function watch(job: JobRef): MirroredJob | undefined {
    const known = byUid.get(job.uid)?.followed;
    if (known !== undefined) return known;
    if (signal.aborted) return undefined;
    const most = MIRROR_LIMITS.streams * 100 + MIRROR_LIMITS.waiting;
    if (byUid.size >= most) return undefined;
    const unusedSinceMs = clock.monotonic();
    const followed: MirroredJob = { job, listeners: new Set(), version: 0, unusedSinceMs };
    place(followed);
    sweeping ??= sweep().finally(() => sweeping = undefined);
    return followed;
  }

  async function sweep(): Promise<void> {
    while (byUid.size > 0 && !signal.aborted) {
      await clock.sleep(SWEEP_MS, signal);
      const oldestMs = clock.monotonic() - MIRROR_LIMITS.lingerMs;
      const all = [...byUid.values()];
      for (const { followed } of all) {
        if ((followed.unusedSinceMs ?? Infinity) <= oldestMs) drop(followed);
      }
      for (const { followed, stream } of byUid.values()) {
        if (stream === undefined) place(followed);
      }
    }
  }

  function forgetShared(): void {
    shared.clear();
    sharedBytes = 0;
  }

  /** Returns the curves of a job as one of its viewers asked for them. */
  function shownOf({ job: { uid }, held, version }: MirroredJob, query: Omit<CurveAsk, "jobs">) {
    const cursor = `${id}.${version}`;
    const key = JSON.stringify([uid, version, query.points, query.metrics]);
    const known = shared.get(key);
    if (known !== undefined) return known;
    const shown = { uid, cursor, ...shownCurves(held ?? NO_CURVES, query) };
    sharedBytes += held?.bytes ?? 0;
    if (sharedBytes > SHARED_BYTES) forgetShared();
    if (shared.size === 0) void clock.sleep(SHARED_MS, signal).then(forgetShared);
    shared.set(key, shown);
    return shown;
  }

  /** Waits until there are the curves of a job, or the manager cannot give them, or for a while. */
  async function wait(all: readonly MirroredJob[], asking: AbortSignal): Promise<void> {
    const over = new AbortController();
    const end = () => over.abort();
    for (const it of [signal, asking]) it.addEventListener("abort", end, { once: true });
    for (const { listeners } of all) listeners.add(end);
    await clock.sleep(MIRROR_LIMITS.waitMs, asking.aborted ? asking : over.signal);
    for (const { listeners } of all) listeners.delete(end);
    for (const it of [signal, asking]) it.removeEventListener("abort", end);
    over.abort();
  }

  /** Lets all viewers of a job ask again, once for all that have asked meanwhile. */
  function ringSoon(followed: MirroredJob): void {
    if (ringing.has(followed)) return;
    ringing.add(followed);
    void clock.sleep(RING_MS, signal).then(() => {
      ringing.delete(followed);
      [...followed.listeners].forEach((listener) => listener());
    });
  }

  const outageOf = (all: readonly MirroredJob[]): Outage | undefined =>
    all.map(({ job: { uid }, held }) => {
      const { stream } = byUid.get(uid) ?? {};
      if (stream === undefined) return NO_PLACE;
      return held === NO_ROOM ? TOO_LARGE : stream.outage;
    }).find((it) => it !== undefined);

  const refusal = ({ reason, retryAfterMs = RETRY_MS }: Outage): CurveAnswer => ({
    retryAfterMs,
    reason,
  });

  function changed(ask: CurveAsk, all: readonly MirroredJob[]): ShownCurves[] {
    const cursors = new Map(ask.jobs.map(({ uid, cursor }) => [uid, cursor]));
    const { jobs: _, ...query } = ask;
    return all.filter(({ held, version, job: { uid } }) =>
      held !== undefined && cursors.get(uid) !== `${id}.${version}`
    ).map((followed) => shownOf(followed, query));
  }

  /** Curves of a time range: the manager may have more of them than is held. */
  async function askRange(ask: CurveAsk, all: readonly MirroredJob[]): Promise<CurveAnswer> {
    const due = changed(ask, all);
    if (due.length === 0) return { curves: [], left: [] };
    const client = manager();
    if (client === undefined) return refusal({ reason: missing() });
    const cursors = new Map(due.map(({ uid, cursor }) => [uid, cursor]));
    const { jobs: _, ...query } = ask;
    const jobs = all.filter(({ job }) => cursors.has(job.uid)).map(({ job }) => job);
    const read = await reads(client, query, jobs);
    if ("reason" in read) return refusal(read);
    const curves = read.all.map(({ uid, curves }) => ({
      uid,
      cursor: cursors.get(uid) ?? "",
      ...curves,
    }));
    return { curves, left: [] };
  }

  async function ask(
    ask: CurveAsk,
    asking: AbortSignal,
    jobs: readonly JobRef[],
  ): Promise<CurveAnswer> {
    const asked = new Set(ask.jobs.map(({ uid }) => uid));
    const all = jobs.filter(({ uid }) => asked.has(uid)).map(watch).filter((it) =>
      it !== undefined
    );
    const unknown = () => all.some(({ held }) => held === undefined);
    if (unknown() && changed(ask, all).length === 0 && outageOf(all) === undefined) {
      await wait(all, asking);
    }
    if (signal.aborted) return refusal(CLOSING);
    const isRange = ask.fromMs !== undefined || ask.toMs !== undefined;
    const answer = isRange ? await askRange(ask, all) : { curves: changed(ask, all), left: [] };
    if ("retryAfterMs" in answer) return answer;
    const outage = outageOf(all);
    if (answer.curves.length === 0) {
      if (outage !== undefined) return refusal(outage);
      return unknown() ? refusal(NOT_YET) : answer;
    }
    if (outage === undefined) return answer;
    // What is held is shown, and that there is no news of it is said with the next question.
    for (const followed of all) ringSoon(followed);
    return answer;
  }

  return {
    ask,
    follow(job, listener) {
      const followed = watch(job);
      if (followed === undefined) return () => {};
      const ring = () => listener();
      followed.listeners.add(ring);
      followed.unusedSinceMs = undefined;
      return () => {
        followed.listeners.delete(ring);
        if (followed.listeners.size === 0) followed.unusedSinceMs = clock.monotonic();
      };
    },
    async close() {
      closed.abort();
      await Promise.all([sweeping, ...[...streams].map(({ ended }) => ended)]);
    },
  };
}
