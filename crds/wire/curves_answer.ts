/** Answer about curves as viewers get it, and as one reads it who shows it to others. */
import { z } from "zod";
import {
  type Curve,
  curveFields,
  type CurvePoint,
  type CurvesNews,
  type MarkKind,
  markKindSchema,
} from "./shown_curves.ts";
import type { JobName } from "./row.ts";
import { CURVE_LIMITS } from "./view_limits.ts";

/** The curves of one job. */
export interface ViewedCurves {
  readonly job: JobName & { readonly uid: string };
  /** In a stream: points that begin before it, in milliseconds since the epoch, stay as they were sent. Absent: these are all. */
  readonly since?: number;
  readonly metrics: readonly Curve[];
  readonly marks: readonly {
    /** RFC 3339. */
    readonly time: string;
    readonly kind: MarkKind;
    readonly text: string;
  }[];
}

/** The answer, which is also the event `curves` of a stream. */
export interface CurvesAnswer {
  readonly curves: readonly ViewedCurves[];
  /** Jobs that are not there, or not for this reader. */
  readonly missing?: readonly JobName[];
  /** Jobs that the answer had no room for. */
  readonly left?: readonly JobName[];
}

/** By hand: there may be a million numbers a second. */
const isPoint = (it: unknown) =>
  Array.isArray(it) && (it.length === 4 || it.length === 5) &&
  it.every((number) => Number.isFinite(number));
const points = z.custom<CurvePoint[]>((it) =>
  Array.isArray(it) && it.length <= CURVE_LIMITS.points && it.every(isPoint)
);

const mark = z.object({
  time: z.string().transform((text) => Date.parse(text)).pipe(z.number()),
  kind: markKindSchema,
  text: z.string(),
}).transform(({ time: timeMs, ...rest }) => ({ timeMs, ...rest }));

const answerSchema = z.object({
  curves: z.array(z.object({
    job: z.object({ uid: z.string() }),
    since: z.number().optional(),
    metrics: z.array(z.object({
      ...curveFields,
      points,
    })),
    // A newer manager may have marks of other kinds.
    marks: z.array(mark.or(z.unknown().transform(() => undefined))),
  })).max(CURVE_LIMITS.jobs),
});

/** Reads the curves of an answer; undefined if they cannot be read. */
export function readCurvesAnswer(value: unknown): readonly CurvesNews[] | undefined {
  return answerSchema.safeParse(value).data?.curves.map(({ job, since, metrics, marks }) => ({
    uid: job.uid,
    ...(since !== undefined && { sinceMs: since }),
    metrics,
    marks: marks.filter((it) => it !== undefined),
  }));
}
