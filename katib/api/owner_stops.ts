/** Requests to stop jobs, as replicas send them to the owner of all state, and its answers. */
import { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessageSchema } from "../../crds/wire/job_message.ts";
import { refusedSchema, uidSchema } from "../../crds/wire/message_fields.ts";
import { jobStopSchema, STOP_LIMITS } from "../../crds/trainjob.ts";
import type { StopRequest } from "../../owner/observations/adapter.ts";
import { stopRequestSchema } from "./messages.ts";

const askSchemaOf = (kinds: JobKinds) =>
  z.object({
    job: jobMessageSchema(kinds),
    trialUid: uidSchema.nullable(),
    user: z.string().min(1).max(STOP_LIMITS.userLength),
    // Which job is meant was decided before: replicas of older versions do not know the field.
    stop: stopRequestSchema.omit({ uid: true }),
  });

/** A request to stop a job, from a user whose rights were checked. */
export interface StopAsk {
  readonly job: JobRef;
  /** UID of the Trial on which rights were checked, too; null: no Trial controls the job. */
  readonly trialUid: string | null;
  readonly user: string;
  readonly stop: Omit<z.infer<typeof stopRequestSchema>, "uid">;
}

const answerSchema = z.union([
  z.object({ stop: jobStopSchema }),
  z.object({ refusal: z.enum(["ended", "gone", "elsewhere"]), reason: z.string() }),
  refusedSchema,
]);
/** The owner's answer: the decision that holds, why there is none, or when to come again. */
export type OwnerStopAnswer = z.infer<typeof answerSchema>;

/** Creates the reader of requests that come from other replicas; it returns undefined for anything else. */
export function createStopAskParser(kinds: JobKinds): (value: unknown) => StopAsk | undefined {
  const askSchema = askSchemaOf(kinds);
  return (value) => askSchema.safeParse(value).data;
}

/** Reads an answer that came from the owner; undefined if it is no answer. */
export function parseStopAnswer(value: unknown): OwnerStopAnswer | undefined {
  return answerSchema.safeParse(value).data;
}

/** Returns the request as the adapter takes it. */
export function stopRequestOf({ job, trialUid, user, stop }: StopAsk): StopRequest {
  const { reason, message = `asked for by ${user}`, graceSeconds } = stop;
  const graceMs = graceSeconds === undefined ? undefined : graceSeconds * 1000;
  return { job, trialUid, user, reason, message, graceMs };
}
