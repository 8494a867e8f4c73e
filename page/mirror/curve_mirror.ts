/** Mirror of curves: those of all jobs that somebody here views, from few streams of the manager, for any number of viewers. */
import type { JobRef } from "../../crds/job_kind.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createSleeper } from "../../platform/base/sleeper.ts";
import type { CurveAnswer, CurveAsk } from "../../crds/wire/shown_curves.ts";
import { shownCurves } from "../../owner/curves/held_curves.ts";
import type { Outage } from "../../owner/followed_group.ts";
import type { FollowedCurves, ManagerClient } from "../../views/followed_curves.ts";
import { createCurveReads } from "./curve_reads.ts";
import { MirrorPlaces, NO_PLACE } from "./mirror_places.ts";
import type { MirroredJob } from "./mirrored_jobs.ts";
import { MIRROR_LIMITS } from "./mirror_limits.ts";

/** After which who was given no curves may ask again, in milliseconds. */
const RETRY_MS = 1_000;

const NOT_YET: Outage = { reason: "the manager has not sent these curves yet" };
const CLOSING: Outage = { reason: "this server is about to stop" };
const NO_MANAGER = "no manager of Milepost can be reached from here, so there are no curves";

const refusal = ({ reason, retryAfterMs = RETRY_MS }: Outage): CurveAnswer => ({
  retryAfterMs,
  reason,
});

/** Creates a mirror; nothing runs while nobody views a job. */
export function createCurveMirror(options: {
  /** Returns the manager's status port as it is reached now, with a token that may list the jobs. */
  readonly manager: () => ManagerClient | undefined;
  /** Says what is missing while there is none. */
  readonly missing?: () => string;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Default {@link MIRROR_LIMITS}. */
  readonly maxBytes?: number;
}): FollowedCurves & {
  /** Ends all streams; resolves when nothing runs. */
  close(): Promise<void>;
} {
  const { manager, clock, random = Math.random, maxBytes = MIRROR_LIMITS.bytes } = options;
  const { missing = () => NO_MANAGER } = options;
  const closed = new AbortController();
  const { signal } = closed;
  const places = new MirrorPlaces({ manager, missing, clock, random, signal, maxBytes });
  const reads = createCurveReads({ signal });

  const outageOf = (all: readonly MirroredJob[]) =>
    all.map((it) => places.knownOf(it).outage).find((it) => it !== undefined);

  /** Waits until there are the curves of a job, or the manager cannot give them, or for a while. */
  async function wait(all: readonly MirroredJob[], asking: AbortSignal): Promise<void> {
    const { wake, sleep } = createSleeper(clock);
    const stops = all.map((followed) => places.listen(followed, wake));
    stops.push(onAbort(signal, wake));
    await sleep(MIRROR_LIMITS.waitMs, asking);
    for (const stop of stops) stop();
  }

  /** Curves of a time range: the manager may have more of them than is held. */
  async function askRange(ask: CurveAsk, jobs: readonly JobRef[], user: string) {
    const client = manager();
    if (client === undefined) return refusal({ reason: missing() });
    const read = await reads(client, ask, jobs, user);
    return "reason" in read ? refusal(read) : { curves: [...read.all], left: [] };
  }

  async function ask(
    ask: CurveAsk,
    asking: AbortSignal,
    jobs: readonly JobRef[],
    user = "",
  ): Promise<CurveAnswer> {
    if (signal.aborted) return refusal(CLOSING);
    if (ask.fromMs !== undefined || ask.toMs !== undefined) return await askRange(ask, jobs, user);
    const { jobs: _, refs: __, ...choice } = ask;
    const watched = jobs.map((it) => places.watch(it, user));
    const all = watched.filter((it) => it !== undefined);
    const isKnown = ({ value }: MirroredJob) => value !== undefined;
    const outage = () => outageOf(all) ?? (all.length < watched.length ? NO_PLACE : undefined);
    if (!all.some(isKnown) && outage() === undefined) await wait(all, asking);
    if (signal.aborted) return refusal(CLOSING);
    const curves = all.flatMap(({ value }) =>
      value === undefined ? [] : [shownCurves(value, choice)]
    );
    if (curves.length > 0 || jobs.length === 0) return { curves, left: [] };
    return refusal(outage() ?? NOT_YET);
  }

  return {
    ask,
    follow(job, listener, user = "") {
      const followed = places.watch(job, user);
      if (followed !== undefined) return places.listen(followed, listener);
      listener({ outage: signal.aborted ? CLOSING : NO_PLACE });
      return () => {};
    },
    async close() {
      closed.abort();
      await places.ended();
    },
  };
}
