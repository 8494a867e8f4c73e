/** Curves at the owner of all state: questions of replicas, their answers, and which curves have changed. */
import type { JobVersion, PollOwner } from "../../owner/owner_poll.ts";
import { createWaitingPolls, type WaitingPolls } from "../../owner/waiting_polls.ts";
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import type { CurveStore } from "../../owner/curves/curve_store.ts";
import type { LogZoom } from "./log_zoom.ts";
import {
  type CurveAnswer,
  type CurveAsk,
  parseCurveAsk,
  type ShownCurves,
} from "../../crds/wire/shown_curves.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { ZOOM_LIMITS } from "./log_zoom.ts";

/** The curves of one term, with their cursors. */
interface Term {
  readonly store: CurveStore;
  readonly cursorOf: (uid: string) => string;
}

/** Characters of a point, and of what else there is of a job, a metric or a mark, about: to write them twice takes long. */
const [POINT, OTHER] = [40, 100];

function charactersOf({ metrics, marks }: ShownCurves): number {
  const of = (characters: number, length: number) => characters + OTHER + length;
  return metrics.reduce((sum, it) => of(sum, it.name.length + it.points.length * POINT), OTHER) +
    marks.reduce((sum, { text }) => of(sum, text.length), 0);
}

/** Returns the curves that have changed, as many as one answer has room for, and at least one. */
function answerCurves(
  { store, cursorOf }: Term,
  { jobs, logs: _, ...query }: CurveAsk,
): { curves: ShownCurves[]; left: string[] } {
  const curves: ShownCurves[] = [];
  const left: string[] = [];
  let characters = 0;
  for (const job of jobs) {
    const cursor = cursorOf(job.uid);
    if (cursor === job.cursor) continue;
    if (characters > CURVE_LIMITS.answerCharacters) {
      left.push(job.uid);
      continue;
    }
    const { metrics = [], marks = [] } = store.curvesOf(job.uid, query) ?? {};
    const shown = { uid: job.uid, cursor, metrics: [...metrics], marks: [...marks] };
    characters += charactersOf(shown);
    curves.push(shown);
  }
  return { curves, left };
}

/** Returns the curves of one job with points of its log. */
async function zoomedJob(
  { store }: Term,
  { metrics, fromMs, toMs = Infinity, points }: CurveAsk,
  shown: ShownCurves,
  { job, zoom, signal }: {
    readonly job: JobRef;
    readonly zoom: LogZoom;
    readonly signal: AbortSignal;
  },
): Promise<ShownCurves> {
  // As they are kept: those of the answer may have been merged for it.
  const kept = store.curvesOf(job.uid, { metrics, fromMs, toMs });
  if (kept === undefined) return shown;
  const begins = kept.metrics.flatMap((it) => it.points[0]?.[0] ?? []);
  const range = { fromMs: fromMs ?? Math.min(...begins), toMs, points };
  const all = await zoom(job, kept, range, signal);
  return {
    ...shown,
    metrics: all.map((it, index) => {
      const points = it.source === "log" ? it.points : shown.metrics[index]?.points ?? [];
      return { ...it, points };
    }),
  };
}

/** Returns the curves with points of the logs that the question names. */
async function zoomed(
  term: Term,
  ask: CurveAsk,
  curves: readonly ShownCurves[],
  { kinds, clock, zoom, signal }: Pick<OwnedCurvesOptions, "kinds" | "clock" | "zoom"> & {
    readonly signal: AbortSignal;
  },
): Promise<ShownCurves[]> {
  const { deadlineMs } = ZOOM_LIMITS;
  const bounds = { clock, deadlineMs, signal, onDeadline: () => new Error("no time is left") };
  return await withDeadline(bounds, (signal) =>
    Promise.all(curves.map((shown) => {
      const log = ask.logs?.find(({ uid }) => uid === shown.uid);
      const kind = log && kinds.byId(log.kind);
      if (log === undefined || kind === undefined) return shown;
      return zoomedJob(term, ask, shown, { job: { ...log, kind }, zoom, signal });
    })));
}

/** The curves of the term that runs on this replica; without one nothing is answered. */
export interface OwnedCurves {
  /** Resolves with undefined if no term runs here. */
  answer(ask: CurveAsk, signal: AbortSignal): Promise<CurveAnswer | undefined>;
  /** The same for a question as another replica sends it; undefined also if it is not understood. */
  answerForwarded(ask: unknown, signal: AbortSignal): Promise<CurveAnswer | undefined>;
  /** Returns the jobs whose curves differ from their cursors; undefined if no term runs here. */
  readonly poll: PollOwner<JobVersion>;
  /** Ends all waits. */
  close(): void;
}

/** One term, with the polls that wait in it. */
interface OpenTerm extends Term {
  readonly polls: WaitingPolls<JobVersion>;
  close(): void;
}

function openTerm(store: CurveStore, clock: Clock): OpenTerm {
  const id = crypto.randomUUID();
  const cursorOf = (uid: string) => `${id}.${store.versionOf(uid)}`;
  const polls = createWaitingPolls({ read: ({ uid }) => ({ uid, cursor: cursorOf(uid) }), clock });
  const stop = store.onChange(polls.changed);
  return {
    store,
    cursorOf,
    polls,
    close() {
      stop();
      polls.close();
    },
  };
}

/** Options of {@link createOwnedCurves}. */
export interface OwnedCurvesOptions {
  readonly kinds: JobKinds;
  readonly clock: Clock;
  /** Returns the curves of the term that runs here. */
  readonly current: () => CurveStore | undefined;
  readonly zoom: LogZoom;
}

/** Creates {@link OwnedCurves}. */
export function createOwnedCurves(options: OwnedCurvesOptions): OwnedCurves {
  const { clock, current } = options;
  let term: OpenTerm | undefined;

  function termNow(): OpenTerm | undefined {
    const store = current();
    if (term?.store === store) return term;
    term?.close();
    term = store && openTerm(store, clock);
    return term;
  }

  async function answer(ask: CurveAsk, signal: AbortSignal): Promise<CurveAnswer | undefined> {
    const now = termNow();
    const kept = now && answerCurves(now, ask);
    const isRange = ask.fromMs !== undefined || ask.toMs !== undefined;
    if (now === undefined || kept === undefined || !isRange || ask.logs === undefined) return kept;
    return { ...kept, curves: await zoomed(now, ask, kept.curves, { ...options, signal }) };
  }

  return {
    answer,
    async answerForwarded(value, signal) {
      const ask = parseCurveAsk(value);
      return ask && await answer(ask, signal);
    },
    poll: async (entries, waitMs, signal) => await termNow()?.polls.poll(entries, waitMs, signal),
    close() {
      term?.close();
      term = undefined;
    },
  };
}
