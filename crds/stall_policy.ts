/** Policy of stalls: what becomes of a job that is stalled, as a job, its runtime or the manager says it (docs/decisions/0084). */
import { z } from "zod";
import { parseDuration } from "../platform/base/duration.ts";
import { type ReadAnnotation, readJson, shapeError } from "./early_stopping.ts";

/** What is done to a stalled job; `Ignore`: it is not even told. */
export const STALL_ACTIONS = ["Notify", "Restart", "Stop", "Ignore"] as const;

/** Limits of a policy; times in milliseconds. */
export const STALL_POLICY_LIMITS = {
  length: 1024,
  durationLength: 80,
  leastMs: 30_000,
  restarts: 20,
  /** A job of which nobody is heard is restarted after so long a time, if its user says one. */
  silentMs: 600_000,
} as const;
const { length, durationLength, leastMs, restarts } = STALL_POLICY_LIMITS;

const DURATION = "a duration of at least 30s, such as 90s or 10m";

/** A duration in milliseconds; 0 for `auto`, where that may be said. */
function time(otherwise: string, mayBeAuto: boolean) {
  const expected = `must be ${mayBeAuto ? '"auto" or ' : ""}${DURATION}`;
  return z.string({ error: expected }).default(otherwise).transform((text, context) => {
    if (mayBeAuto && text === "auto") return 0;
    const ms = text.length <= durationLength ? parseDuration(text) : undefined;
    if (ms !== undefined && ms >= leastMs) return ms;
    context.addIssue({ code: "custom", message: expected });
    return z.NEVER;
  });
}

const COUNT = `must be a whole number from 0 to ${restarts}`;
const SHAPE = "an object with action and, if wanted, after, startup, maxRestarts, needsCheckpoint";

const stallPolicySchema = z.strictObject({
  action: z.enum(STALL_ACTIONS, { error: `must be one of ${STALL_ACTIONS.join(", ")}` })
    .default("Notify"),
  after: time("auto", true),
  startup: time("30m", false),
  maxRestarts: z.int({ error: COUNT }).min(0, COUNT).max(restarts, COUNT).default(3),
  needsCheckpoint: z.boolean({ error: "must be true or false" }).default(true),
}, { error: shapeError(SHAPE) }).transform(({ after, startup, ...others }) => ({
  ...others,
  /** Undefined: what the job has taught. */
  afterMs: after === 0 ? undefined : after,
  startupMs: startup,
}));

/** A policy. */
export type StallPolicy = z.infer<typeof stallPolicySchema>;

/** The policy of who says none. */
export const DEFAULT_STALL_POLICY: StallPolicy = stallPolicySchema.parse({});

/** Reads the annotation `trainer.kubeflow.org/stall-policy`, or `--stall-policy`. */
export function readStallPolicy(text: string): ReadAnnotation<StallPolicy> {
  if (text.length <= length) return readJson(text, stallPolicySchema);
  const message = `must have at most ${length} characters`;
  return { ok: false, problems: [{ field: "", message }] };
}
