/** Heartbeat: where the processes of a pod are, as the pod says it every few seconds beside its pushes (docs/decisions/0081). */
import { z } from "zod";
import { plainText } from "./plain_text.ts";

/** Bounds of a heartbeat. */
export const HEARTBEAT_LIMITS = {
  ranks: 16,
  placeLength: 48,
  /** From one to the next, in milliseconds: what clients keep to. */
  intervalMs: 10_000,
  /** Heartbeats of a pod a second, and at once. */
  perPod: { ratePerSecond: 1, burst: 10 },
} as const;

const whole = () =>
  z.int({ error: "must be a whole number" }).min(0, { error: "must not be negative" });

/** Rank, its step, seconds since that step, and the place in the program where it is. */
const rankSchema = z.tuple([
  whole(),
  whole(),
  z.number({ error: "must be a number of seconds" }).min(0, { error: "must not be negative" }),
  plainText(HEARTBEAT_LIMITS.placeLength).optional(),
], { error: "must be a list of rank, step, seconds since that step, and perhaps a place" });

/** The schema. */
export const heartbeatSchema = z.object({
  ranks: z.array(z.unknown(), { error: "must be a list of ranks" })
    .max(HEARTBEAT_LIMITS.ranks, {
      error: `must be a list of at most ${HEARTBEAT_LIMITS.ranks} ranks`,
    })
    .pipe(z.array(rankSchema)),
}, { error: "must be an object with ranks" });
export type Heartbeat = Readonly<z.infer<typeof heartbeatSchema>>;
