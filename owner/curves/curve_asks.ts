/** Curves at the owner of all state: questions of replicas, and their answers. */
import type { AskKind } from "../ask_kind.ts";
import type { Term } from "../term.ts";
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import type { LogZoom } from "./log_zoom.ts";
import { GAP_TEXTS } from "./marks.ts";
import {
  type Curve,
  type CurveAnswer,
  curveAnswerSchema,
  type CurveAsk,
  curveAskSchema,
  type CurveMark,
  type ShownCurves,
} from "../../crds/wire/shown_curves.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { ZOOM_LIMITS } from "./log_zoom.ts";

type CurveTerm = Pick<Term, "curves">;

/** Time for which a question waits for what logs have of curves that are not whole, and one for a time range, in milliseconds. */
const [RESTORE_MS, RESTORE_RANGE_MS] = [1_200, 300];

/** Characters of a point, and of what else there is of a job, a metric or a mark, about: to write them twice takes long. */
const [POINT, OTHER] = [40, 100];

function charactersOf({ metrics, marks }: ShownCurves): number {
  const of = (characters: number, length: number) => characters + OTHER + length;
  return metrics.reduce((sum, it) => of(sum, it.name.length + it.points.length * POINT), OTHER) +
    marks.reduce((sum, { text }) => of(sum, text.length), 0);
}

/** Says where curves end whose log is still being read; nothing where none has begun. */
function readingMarks(metrics: readonly Curve[]): CurveMark[] {
  const ends = metrics.flatMap(({ points }) => points.at(-1)?.[0] ?? []);
  if (ends.length === 0) return [];
  return [{ timeMs: Math.min(...ends), kind: "gap", text: GAP_TEXTS.reading }];
}

/**
 * Returns the curves, as many as one answer has room for, and at least one. Those that are still read from logs (`late`) come
 * with the next answer, unless there are no others: then a mark says that there will be more.
 */
function answerCurves(
  { curves: store }: CurveTerm,
  { jobs, refs: _, ...query }: CurveAsk,
  late: readonly string[],
): { curves: ShownCurves[]; left: string[] } {
  const curves: ShownCurves[] = [];
  const left: string[] = [];
  const areAllLate = late.length === jobs.length;
  let characters = 0;
  for (const uid of jobs) {
    if (characters > CURVE_LIMITS.answerCharacters || !areAllLate && late.includes(uid)) {
      left.push(uid);
      continue;
    }
    const { metrics = [], marks = [] } = store.curvesOf(uid, query) ?? {};
    const shown = { uid, metrics: [...metrics], marks: [...marks] };
    if (areAllLate) shown.marks.push(...readingMarks(metrics));
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

/** Returns the curves with points of the logs of the first of those jobs. */
async function zoomed(
  term: CurveTerm,
  ask: CurveAsk,
  curves: readonly ShownCurves[],
  { refs, clock, zoom, signal }: Pick<CurveAsksOptions, "clock" | "zoom"> & {
    readonly refs: readonly JobRef[];
    readonly signal: AbortSignal;
  },
): Promise<ShownCurves[]> {
  const { deadlineMs } = ZOOM_LIMITS;
  const bounds = { clock, deadlineMs, signal, onDeadline: () => new Error("no time is left") };
  const read = new Map(refs.slice(0, CURVE_LIMITS.logs).map((job) => [job.uid, job]));
  return await withDeadline(bounds, (signal) =>
    Promise.all(curves.map((shown) => {
      const job = read.get(shown.uid);
      return job === undefined ? shown : zoomedJob(term, ask, shown, { job, zoom, signal });
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
    schemas: { ask: curveAskSchema, answer: curveAnswerSchema },
    async answer(term, ask, signal) {
      const refs = (ask.refs ?? []).flatMap(({ kind: id, ...job }): JobRef[] => {
        const kind = options.kinds.byId(id);
        return kind === undefined ? [] : [{ ...job, kind }];
      });
      const isRange = ask.fromMs !== undefined || ask.toMs !== undefined;
      const late = await term.restore(refs, isRange ? RESTORE_RANGE_MS : RESTORE_MS) ?? [];
      const kept = answerCurves(term, ask, late);
      if (!isRange || refs.length === 0) return kept;
      return {
        ...kept,
        curves: await zoomed(term, ask, kept.curves, { ...options, refs, signal }),
      };
    },
  };
}
