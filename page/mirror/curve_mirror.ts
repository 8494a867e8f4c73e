/** Mirror of curves: those of all jobs that somebody here views, from few streams of the manager, for any number of viewers. */
import type { JobRef } from "../../crds/job_kind.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createSleeper } from "../../platform/base/sleeper.ts";
import type { CurveAnswer, CurveAsk, ShownCurves } from "../../crds/wire/shown_curves.ts";
import type { FollowedCurves, ManagerClient } from "../../views/followed_curves.ts";
import { createCurveReads } from "./curve_reads.ts";
import { MirrorPlaces, MOST_PLACED } from "./mirror_places.ts";
import type { MirroredJob } from "./mirrored_jobs.ts";
import { MIRROR_LIMITS } from "./mirror_limits.ts";
import { NO_CURVES, NO_ROOM, shownCurves } from "./held_curves.ts";
import type { Outage } from "./manager_stream.ts";

/** Bytes of the curves whose answers are kept for a moment: viewers of one job get the same. */
const SHARED_BYTES = 8 << 20;
const SHARED_MS = 2_000;
/** After which who was given no curves may ask again, in milliseconds. */
const RETRY_MS = 1_000;

/** Viewers of a job that has an outage ask again after this time, in milliseconds. */
const RING_MS = 250;

const NO_PLACE: Outage = {
  reason: `curves of up to ${MOST_PLACED} jobs are looked at here at once, one user's of half of ` +
    "those that are free: these come when there is room",
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
export interface CurveMirror extends FollowedCurves {
  /** Ends all streams; resolves when nothing runs. */
  close(): Promise<void>;
}

/** Creates a mirror; nothing runs while nobody views a job. */
export function createCurveMirror(options: CurveMirrorOptions): CurveMirror {
  const { manager, clock, random = Math.random, maxBytes = MIRROR_LIMITS.bytes } = options;
  const { missing = () => NO_MANAGER } = options;
  const closed = new AbortController();
  const { signal } = closed;
  const id = crypto.randomUUID();
  const places = new MirrorPlaces({ manager, missing, clock, random, signal, maxBytes });
  const reads = createCurveReads({ signal });
  const shared = new Map<string, ShownCurves>();
  /** Jobs whose viewers are to ask again. */
  const ringing = new Set<MirroredJob>();
  let sharedBytes = 0;

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
    const { wake, sleep } = createSleeper(clock);
    const stops = all.map((followed) => places.listen(followed, wake));
    stops.push(onAbort(signal, wake));
    await sleep(MIRROR_LIMITS.waitMs, asking);
    for (const stop of stops) stop();
  }

  /** Lets all viewers of a job ask again, once for all that have asked meanwhile. */
  function ringSoon(followed: MirroredJob): void {
    if (ringing.has(followed)) return;
    ringing.add(followed);
    void clock.sleep(RING_MS, signal).then(() => {
      ringing.delete(followed);
      followed.listeners.notify();
    });
  }

  const outageOf = (all: readonly MirroredJob[]): Outage | undefined =>
    all.map((followed) => {
      const stream = places.streamOf(followed);
      if (stream === undefined) return NO_PLACE;
      return followed.held === NO_ROOM ? TOO_LARGE : stream.outage;
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
  async function askRange(
    ask: CurveAsk,
    all: readonly MirroredJob[],
    user: string,
  ): Promise<CurveAnswer> {
    const due = changed(ask, all);
    if (due.length === 0) return { curves: [], left: [] };
    const client = manager();
    if (client === undefined) return refusal({ reason: missing() });
    const cursors = new Map(due.map(({ uid, cursor }) => [uid, cursor]));
    const { jobs: _, ...query } = ask;
    const jobs = all.filter(({ job }) => cursors.has(job.uid)).map(({ job }) => job);
    const read = await reads(client, query, jobs, user);
    if ("reason" in read) return refusal(read);
    const curves = read.all.map((it) => ({ ...it, cursor: cursors.get(it.uid) ?? "" }));
    return { curves, left: [] };
  }

  async function ask(
    ask: CurveAsk,
    asking: AbortSignal,
    jobs: readonly JobRef[],
    user = "",
  ): Promise<CurveAnswer> {
    const asked = new Set(ask.jobs.map(({ uid }) => uid));
    const watched = jobs.filter(({ uid }) => asked.has(uid)).map((it) => places.watch(it, user));
    const all = watched.filter((it) => it !== undefined);
    const outageNow = () => outageOf(all) ?? (all.length < watched.length ? NO_PLACE : undefined);
    const unknown = () => all.some(({ held }) => held === undefined);
    if (unknown() && changed(ask, all).length === 0 && outageNow() === undefined) {
      await wait(all, asking);
    }
    if (signal.aborted) return refusal(CLOSING);
    const isRange = ask.fromMs !== undefined || ask.toMs !== undefined;
    const answer = isRange
      ? await askRange(ask, all, user)
      : { curves: changed(ask, all), left: [] };
    if ("retryAfterMs" in answer) return answer;
    const outage = outageNow();
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
    follow(job, listener, user = "") {
      const followed = places.watch(job, user);
      return followed === undefined ? () => {} : places.listen(followed, listener);
    },
    async close() {
      closed.abort();
      await places.ended();
    },
  };
}
