/** Curves at the owner of all state: questions of replicas, and their answers. */
import type { AskKind } from "../ask_kind.ts";
import type { Term } from "../term.ts";
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import type { LogZoom } from "./log_zoom.ts";
import {
  type CurveAnswer,
  type CurveAsk,
  parseCurveAnswer,
  parseCurveAsk,
  type ShownCurves,
} from "../../crds/wire/shown_curves.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { ZOOM_LIMITS } from "./log_zoom.ts";

type CurveTerm = Pick<Term, "curves">;

/** Characters of a point, and of what else there is of a job, a metric or a mark, about: to write them twice takes long. */
const [POINT, OTHER] = [40, 100];

function charactersOf({ metrics, marks }: ShownCurves): number {
  const of = (characters: number, length: number) => characters + OTHER + length;
  return metrics.reduce((sum, it) => of(sum, it.name.length + it.points.length * POINT), OTHER) +
    marks.reduce((sum, { text }) => of(sum, text.length), 0);
}

/** Returns the curves, as many as one answer has room for, and at least one. */
function answerCurves(
  { curves: store }: CurveTerm,
  { jobs, logs: _, ...query }: CurveAsk,
): { curves: ShownCurves[]; left: string[] } {
  const curves: ShownCurves[] = [];
  const left: string[] = [];
  let characters = 0;
  for (const uid of jobs) {
    if (characters > CURVE_LIMITS.answerCharacters) {
      left.push(uid);
      continue;
    }
    const { metrics = [], marks = [] } = store.curvesOf(uid, query) ?? {};
    const shown = { uid, metrics: [...metrics], marks: [...marks] };
    characters += charactersOf(shown);
    curves.push(shown);
  }
  return { curves, left };
}

/** Returns the curves of one job with points of its log. */
async function zoomedJob(
  { curves: store }: CurveTerm,
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
  term: CurveTerm,
  ask: CurveAsk,
  curves: readonly ShownCurves[],
  { kinds, clock, zoom, signal }: CurveAsksOptions & {
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

/** Options of {@link curveAsks}. */
export interface CurveAsksOptions {
  readonly kinds: JobKinds;
  readonly clock: Clock;
  readonly zoom: LogZoom;
}

/** Questions for curves. */
export function curveAsks(options: CurveAsksOptions): AskKind<CurveAsk, CurveAnswer> {
  return {
    name: "curves",
    write: (ask) => ask,
    read: parseCurveAsk,
    readAnswer: parseCurveAnswer,
    async answer(term, ask, signal) {
      const kept = answerCurves(term, ask);
      const isRange = ask.fromMs !== undefined || ask.toMs !== undefined;
      if (!isRange || ask.logs === undefined) return kept;
      return { ...kept, curves: await zoomed(term, ask, kept.curves, { ...options, signal }) };
    },
  };
}
