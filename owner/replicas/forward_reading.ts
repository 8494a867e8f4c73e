/** Messages by which a replica reads at the owner, with their path and bounds. */
import { z } from "zod";
import { jsonOfBytes } from "../../platform/base/json.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema, type MessageVersion } from "../../crds/wire/job_message.ts";
import { cursorSchema, nameSchema, uidSchema } from "../../crds/wire/message_fields.ts";
import { trainerStatusSchema } from "../../crds/trainjob.ts";
import type { JobVersion, PollAsk } from "../owner_poll.ts";
import type { Reading } from "../ledger/reading.ts";

/** Path to which reads are forwarded, with POST. */
export const readPath = (version: MessageVersion) => `/forward/${version}/read`;
/** Bytes that a forwarded read may have. */
export const READ_MAX_BYTES = 1_048_576;
/** Bytes of readings that an answer holds before it leaves the rest to the next one. */
const ANSWER_SOFT_BYTES = 1_048_576;
/** Bytes that an answer may have: characters may be three bytes, and one reading may be too many. */
export const READ_ANSWER_MAX_BYTES = 4 * ANSWER_SOFT_BYTES;
/** Longest time that the owner waits for news, in milliseconds. */
const MAX_WAIT_MS = 20_000;
const MAX_ENTRIES = 1000;

const askSchemaOf = (kinds: JobKinds) =>
  z.object({
    transitions: z.int().min(0),
    waitMs: z.number().min(0).max(MAX_WAIT_MS),
    entries: z.array(z.object({ job: jobMessageSchema(kinds), cursor: cursorSchema.optional() }))
      .max(MAX_ENTRIES),
  });

/** A read on its way, and the owner's term that it is meant for. */
export interface ForwardedRead extends PollAsk {
  readonly transitions: number;
}

/** Returns the bytes of a forwarded read. */
export function encodeRead(
  kinds: JobKinds,
  { transitions, waitMs, entries }: ForwardedRead,
): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({
    transitions,
    waitMs,
    entries: entries.map(({ job, cursor }) => ({ job: jobMessage(kinds, job), cursor })),
  }));
}

/** Creates the reader of forwarded reads; it returns undefined if something is wrong with one. */
export function createReadDecoder(
  kinds: JobKinds,
): (bytes: Uint8Array) => ForwardedRead | undefined {
  const askSchema = askSchemaOf(kinds);
  return (bytes) => askSchema.safeParse(jsonOfBytes(bytes)).data;
}

const answerSchema = z.object({
  readings: z.array(z.object({
    uid: uidSchema,
    cursor: cursorSchema,
    status: z.object({
      trainerStatus: trainerStatusSchema,
      receivedTime: z.string().max(64),
      pod: nameSchema.optional(),
    }).optional(),
  })).max(MAX_ENTRIES),
});

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

/** Reads an answer; undefined if there is none, for example because the asked replica is not the owner. */
export function decodeReadings(bytes: Uint8Array): readonly Reading[] | undefined {
  const answer = answerSchema.safeParse(jsonOfBytes(bytes));
  return answer.success ? answer.data.readings : undefined;
}
