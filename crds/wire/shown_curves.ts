/** Curves of jobs: what is asked of their owner, its answer, and what viewers are answered. */
import { z } from "zod";
import { jsonOfText } from "../../platform/base/json.ts";
import { nameSchema, refusedSchema, uidSchema } from "./message_fields.ts";
import { CURVE_LIMITS } from "./view_limits.ts";

/** A question as it stands in a message. */
export const curveAskSchema = z.object({
  /** UIDs. */
  jobs: z.array(uidSchema).max(CURVE_LIMITS.jobs),
  metrics: z.array(z.string().max(CURVE_LIMITS.metricNameLength)).max(CURVE_LIMITS.metrics)
    .optional(),
  points: z.int().min(1).max(CURVE_LIMITS.points),
  fromMs: z.number().optional(),
  toMs: z.number().optional(),
  /** The jobs by their names, so that logs can be read; `kind` is the kind's id. */
  refs: z.array(
    z.object({ kind: nameSchema, namespace: nameSchema, name: nameSchema, uid: uidSchema }),
  ).max(CURVE_LIMITS.jobs).optional(),
});

/** A question for the curves of jobs. */
export type CurveAsk = Readonly<z.infer<typeof curveAskSchema>>;

const pointSchema = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number().optional(),
]);
/**
 * Beginning of a bucket in milliseconds since the epoch, and the least, the most and the last of its samples. `step` is
 * that of this last sample where it may be another than the last step of the bucket: other samples came after it.
 */
export type CurvePoint = [timeMs: number, min: number, max: number, last: number, step?: number];

/** Fields of a curve beside its points. */
export const curveFields = {
  name: z.string(),
  /** Whether it is the progress of the job, whatever metrics are called. */
  isProgress: z.boolean().optional(),
  /** Whether it is the step of the training, which is no metric: it says where the points of the others stand. */
  isStep: z.boolean().optional(),
  /** Whether it says when the metric of that name was no finite number: 0 stands for NaN, 1 for +Inf, −1 for −Inf. */
  isNonFinite: z.boolean().optional(),
  /** What the points of a time range were made of, and whether the log had not all of it. */
  source: z.enum(["log", "curve"]).optional(),
  cut: z.boolean().optional(),
};
const curveSchema = z.object({
  ...curveFields,
  points: z.array(pointSchema),
});

/** Something that happened to a job; `gap`: samples may be missing before it; `quiet`: since when it makes no step, as long as that lasts. */
export const markKindSchema = z.enum([
  "restarted",
  "suspended",
  "resumed",
  "pod",
  "stopped",
  "gap",
  "quiet",
]);
const markSchema = z.object({
  timeMs: z.number(),
  kind: markKindSchema,
  /** For people; written by others. */
  text: z.string(),
});

const shownSchema = z.object({
  uid: uidSchema,
  metrics: z.array(curveSchema),
  marks: z.array(markSchema),
});

/** News of a job's curves as they stand in a message. */
export const curvesNewsSchema = shownSchema.extend({
  /** A time at which points begin. */
  sinceMs: z.number().optional(),
});

/** An answer as it stands in a message. */
export const curveAnswerSchema = z.union([
  z.object({
    curves: z.array(shownSchema),
    /** The jobs that this answer had no room for. */
    left: z.array(uidSchema),
  }),
  refusedSchema,
]);

/** The curve of one metric, by time; where there was no sample there is no point. */
export type Curve = Readonly<z.infer<typeof curveSchema>>;
/** What a curve is of. */
export type CurveKind = Pick<Curve, "name" | "isProgress" | "isStep" | "isNonFinite">;

/** Returns what a curve is of, and nothing else of it. */
export const kindOf = ({ name, isProgress, isStep, isNonFinite }: CurveKind): CurveKind => ({
  name,
  ...(isProgress && { isProgress }),
  ...(isStep && { isStep }),
  ...(isNonFinite && { isNonFinite }),
});

/** Whether a curve has the numbers of a metric. */
export const isMetric = ({ isProgress, isStep, isNonFinite }: CurveKind): boolean =>
  !isProgress && !isStep && !isNonFinite;
export type MarkKind = z.infer<typeof markKindSchema>;
/** Marks between two runs of a job. */
export const BREAKS: readonly MarkKind[] = ["restarted", "resumed", "pod", "gap"];
export type CurveMark = Readonly<z.infer<typeof markSchema>>;
/** The curves of one job. */
export type ShownCurves = Readonly<z.infer<typeof shownSchema>>;
/**
 * What is new of a job's curves. Who has curves keeps their points from before `sinceMs`, and those of this news follow;
 * without that time they are all. What it does not name is gone.
 */
export type CurvesNews = Readonly<z.infer<typeof curvesNewsSchema>>;
/** The owner's answer: curves, or when to come again. */
export type CurveAnswer = z.infer<typeof curveAnswerSchema>;

/** Reads the curves of one job from their JSON; undefined if it is none. */
export function parseShownCurves(text: string): ShownCurves | undefined {
  return shownSchema.safeParse(jsonOfText(text)).data;
}
