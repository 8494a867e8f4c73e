/** Parser of the annotation `trainer.kubeflow.org/pruner`: which trials of a search are stopped while they run. */
import { z } from "zod";
import { type ReadAnnotation, readJson, shapeError } from "./early_stopping.ts";

/** Longest text of the annotation, in characters. */
const MAX_LENGTH = 1_024;
/** Largest step, and number of trials, that a setting may name. */
const INT32_MAX = 2_147_483_647;

const wholeNumber = (least: number, otherwise: number) => {
  const message = `must be a whole number from ${least} to ${INT32_MAX}`;
  return z.int({ error: message }).min(least, message).max(INT32_MAX, message).default(otherwise);
};

/** Optuna's MedianPruner: its names and defaults. */
const medianSchema = z.strictObject({
  n_startup_trials: wholeNumber(0, 5),
  n_warmup_steps: wholeNumber(0, 0),
  interval_steps: wholeNumber(1, 1),
  n_min_trials: wholeNumber(1, 1),
}, { error: shapeError("an object with settings of Optuna's MedianPruner") });
/** Settings of the median rule. */
export type MedianSettings = z.infer<typeof medianSchema>;

const MIN_RESOURCE = `must be "auto" or a whole number from 1 to ${INT32_MAX}`;

/** Optuna's SuccessiveHalvingPruner: its names and defaults. */
const ashaSchema = z.strictObject({
  min_resource: z.union([
    z.literal("auto"),
    z.int().min(1).max(INT32_MAX),
  ], { error: MIN_RESOURCE }).default("auto"),
  reduction_factor: wholeNumber(2, 4),
  min_early_stopping_rate: wholeNumber(0, 0),
  bootstrap_count: wholeNumber(0, 0),
}, { error: shapeError("an object with settings of Optuna's SuccessiveHalvingPruner") })
  .refine((it) => it.min_resource !== "auto" || it.bootstrap_count === 0, {
    path: ["bootstrap_count"],
    message: 'must be 0 while min_resource is "auto"',
  });
/** Settings of asynchronous successive halving. */
export type AshaSettings = z.infer<typeof ashaSchema>;

const ONE = 'one pruner with its settings: {"median": {}} or {"asha": {"min_resource": 1}}';

const prunerSchema = z.strictObject({
  median: medianSchema.optional(),
  asha: ashaSchema.optional(),
}, { error: shapeError(ONE) })
  .refine((it) => Object.keys(it).length === 1, `must be ${ONE}`)
  .transform(({ median, asha }) =>
    median !== undefined
      ? { kind: "median" as const, settings: median }
      : { kind: "asha" as const, settings: asha ?? ashaSchema.parse({}) }
  );
/** A pruner and its settings. */
export type PrunerSettings = z.infer<typeof prunerSchema>;

/** Reads the annotation. */
export function readPruner(text: string): ReadAnnotation<PrunerSettings> {
  if (text.length <= MAX_LENGTH) return readJson(text, prunerSchema);
  const message = `must have at most ${MAX_LENGTH} characters`;
  return { ok: false, problems: [{ field: "", message }] };
}
