/** Observations as replicas and clients read them: metrics, rows, and places in a log. */
import { z } from "zod";

/** Bounds of a read. */
export const OBSERVATION_LIMITS = {
  /** Rows of a page by default. */
  page: 500,
  /** Most rows of a page. */
  maxPage: 5000,
  /** Characters of a time in a query. */
  timeLength: 64,
  /** Most jobs of a stream of many. */
  streamJobs: 1000,
  /** Bytes of the body that asks for one. */
  streamBodyBytes: 1_048_576,
  /** Characters of its selector. */
  selectorLength: 4096,
} as const;

const text = (description: string) => z.string().meta({ description });
const time = (description: string) => z.string().meta({ format: "date-time", description });

export const metricSchema = z.object({
  name: z.string(),
  latest: text("The value with the latest time."),
  min: text("The smallest number, as it was pushed."),
  max: text("The largest number, as it was pushed."),
}).meta({ description: "What is known of a metric over the whole log." });

export const logRowSchema = z.object({
  time: time("When the pod measured it, in UTC with up to six digits of fraction."),
  name: z.string(),
  value: z.string(),
  step: z.int().optional().meta({
    description: "The step of the training that was pushed with it, if the log keeps steps.",
  }),
  podUid: text("UID of the pod that pushed it, if the log keeps pods.").optional(),
}).meta({ description: "One value of one metric." });

/** Behind the first `seen` rows of a time, and all before it. */
export const positionSchema = z.object({ time: z.string().max(64), seen: z.int().min(0) });
/** A place in a log; `time` is of the form of `sortableTime`. */
export type Position = Readonly<z.infer<typeof positionSchema>>;
