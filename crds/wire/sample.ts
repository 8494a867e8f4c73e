/** Sample: what a trainer reports of one moment, as it is read from the wire. */
import { z } from "zod";
import { RESTART_LIMITS } from "../job_restart.ts";
import { type Phase, PHASES } from "../job_stall.ts";
import { DNS_LABEL_MAX, PUSH_LIMITS } from "../names.ts";
import type { TrainerStatus } from "../trainjob.ts";
import { plainText } from "./plain_text.ts";

const INT32_MAX = 2_147_483_647;

/** Report of a pod as it pushes it: with the step of the training, which the status of a job does not show. */
export type Sample = TrainerStatus & {
  /** Counted by the training itself, from 0. */
  readonly step?: number;
  /** What the program does. */
  readonly phase?: Phase;
  /** The newest checkpoint: the last step whose work it holds, and where it is. */
  readonly checkpoint?: { readonly step: number; readonly location?: string };
  /** Metrics of which the pod pushed the newest value before: shown with the others, and not recorded again. */
  readonly unchanged?: TrainerStatus["metrics"];
};

/** Fields that the status of a job does not show. */
const OWN_FIELDS = ["step", "phase", "checkpoint", "unchanged"] as const;

/** Returns the part of a sample that the status of a job shows. */
export function shownStatus(sample: Sample): TrainerStatus {
  if (OWN_FIELDS.every((field) => sample[field] === undefined)) return sample;
  const { step: _step, phase: _phase, checkpoint: _checkpoint, unchanged = [], ...shown } = sample;
  if (unchanged.length === 0) return shown;
  return {
    ...shown,
    metrics: [...shown.metrics ?? [], ...unchanged].slice(0, PUSH_LIMITS.metrics),
  };
}

/** Schema of a whole number between bounds. */
export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

function text(max: number) {
  const error = `must be a string of 1 to ${max} characters`;
  // Counted in code points, as the API server counts them.
  return z.string({ error }).refine((value) => {
    const length = value.length <= max ? value.length : [...value].length;
    return length >= 1 && length <= max;
  }, { error });
}

const metric = z.object(
  { name: text(PUSH_LIMITS.metricNameLength), value: text(PUSH_LIMITS.metricValueLength) },
  { error: "must be an object with name and value" },
);

const TOO_MANY = `must be a list of at most ${PUSH_LIMITS.metrics} metrics`;
// The length is checked first: the items of an over-long list are not parsed.
const metrics = z.array(z.unknown(), { error: TOO_MANY })
  .max(PUSH_LIMITS.metrics, { error: TOO_MANY })
  .pipe(z.array(metric));

const TIME = "must be a time as RFC 3339 has it, for example 2025-01-23T10:30:45Z";
const time = z.string({
  error: (issue) =>
    issue.input === undefined || issue.input === null
      ? "lastUpdatedTime is required when trainerStatus is present"
      : TIME,
}).refine(isTime, { error: TIME });

const ISO_TIME = z.regexes.datetime({ offset: true });
function isTime(value: string): boolean {
  const isShaped = value.length <= 64 && /T\d\d:\d\d:\d\d/.test(value) && ISO_TIME.test(value);
  if (!isShaped || value.endsWith("Z")) return isShaped;
  // In UTC it may lie in a year that the API server cannot read.
  const year = new Date(value).getUTCFullYear();
  return year >= 0 && year <= 9999;
}

const checkpoint = z.object({
  step: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  location: plainText(RESTART_LIMITS.locationLength).nullish(),
}, { error: "must be an object with step, and perhaps location" });

/** A sample, as it is read from the wire. */
export const sampleSchema = z.object({
  progressPercentage: wholeNumber(0, 100).nullish(),
  estimatedRemainingSeconds: wholeNumber(0, INT32_MAX).nullish(),
  metrics: metrics.nullish(),
  unchanged: metrics.nullish(),
  step: wholeNumber(0, Number.MAX_SAFE_INTEGER).nullish(),
  phase: z.enum(PHASES, { error: `must be one of ${PHASES.join(", ")}` }).nullish(),
  checkpoint: checkpoint.nullish(),
  lastUpdatedTime: time,
}, { error: "must be an object" });

/** Name of the container that pushes. */
export const containerSchema = text(DNS_LABEL_MAX).nullish();

const checkpointOf = ({ step, location }: z.infer<typeof checkpoint>) =>
  location ? { step, location } : { step };

/** Returns a sample without null fields. */
export function sampleOf(status: z.infer<typeof sampleSchema>): Sample {
  const { progressPercentage, estimatedRemainingSeconds, lastUpdatedTime } = status;
  const { metrics, unchanged, step, phase, checkpoint } = status;
  return {
    ...(typeof progressPercentage === "number" && { progressPercentage }),
    ...(typeof estimatedRemainingSeconds === "number" && { estimatedRemainingSeconds }),
    ...(metrics && { metrics }),
    ...(unchanged && { unchanged }),
    ...(typeof step === "number" && { step }),
    ...(phase && { phase }),
    ...(checkpoint && { checkpoint: checkpointOf(checkpoint) }),
    lastUpdatedTime,
  };
}
