/** Polls for changes between replicas, with their bounds. */
import { z } from "zod";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { cursorSchema, uidSchema } from "../../crds/wire/message_fields.ts";
import { curvesNewsSchema } from "../../crds/wire/shown_curves.ts";
import { jobStatusSchema } from "../ledger/status_asks.ts";
import type { JobVersion, PollAsk } from "../owner_poll.ts";

/** Bytes that a poll may have. */
export const POLL_MAX_BYTES = 1_048_576;
/** Bytes of readings that an answer holds before it leaves the rest to the next one. */
const ANSWER_SOFT_BYTES = 1_048_576;
/** Bytes that an answer may have: characters may be three bytes, and one reading may be too many. */
export const POLL_ANSWER_MAX_BYTES = 4 * ANSWER_SOFT_BYTES;
/** Longest time that the owner waits for news, in milliseconds. */
const MAX_WAIT_MS = 20_000;
const MAX_ENTRIES = 1000;

/** Returns a poll as it stands in a message. */
export function pollMessage({ waitMs, entries }: PollAsk): object {
  return {
    waitMs,
    entries: entries.map(({ job, cursor }) => ({ job: jobMessage(job), cursor })),
  };
}

/** Creates the reader of polls in messages; it returns undefined if something is wrong with one. */
export function createPollReader(kinds: JobKinds): (value: unknown) => PollAsk | undefined {
  const pollSchema = z.object({
    waitMs: z.number().min(0).max(MAX_WAIT_MS),
    entries: z.array(z.object({ job: jobMessageSchema(kinds), cursor: cursorSchema.optional() }))
      .max(MAX_ENTRIES),
  });
  return (value) => pollSchema.safeParse(value).data;
}

const readingSchema = z.object({
  uid: uidSchema,
  cursor: cursorSchema,
  status: jobStatusSchema.optional(),
  curves: curvesNewsSchema.optional(),
});
const readingsSchema = z.object({ readings: z.array(readingSchema).max(MAX_ENTRIES) });

/** What is new of one job at its owner, of whichever kind was asked about. */
export type JobReading = Readonly<z.infer<typeof readingSchema>>;

/**
 * Returns the readings that one answer has room for, at least one. A caller that asks again with the new
 * cursors, and puts the jobs that had news last, gets the rest.
 */
export function readingsThatFit(
  readings: readonly JobVersion[],
): { readings: readonly JobVersion[] } {
  let bytes = 0;
  const end = readings.findIndex((reading) => {
    if (bytes > ANSWER_SOFT_BYTES) return true;
    bytes += JSON.stringify(reading).length;
    return false;
  });
  return { readings: end < 0 ? readings : readings.slice(0, end) };
}

/** Reads the answer to a poll; undefined if it is none. */
export function readReadings(value: unknown): readonly JobReading[] | undefined {
  return readingsSchema.safeParse(value).data?.readings;
}
