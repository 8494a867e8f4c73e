/** Requests to stop jobs, as replicas send them to the owner of all state, and its answers. */
import { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { refusedSchema, uidSchema } from "../../crds/wire/message_fields.ts";
import { jobStopSchema, STOP_LIMITS } from "../../crds/trainjob.ts";
import type { AskKind } from "../../owner/ask_kind.ts";
import type { StopRequest } from "../../owner/observations/observations.ts";
import { stopRequestSchema } from "./messages.ts";

const askSchemaOf = (kinds: JobKinds) =>
  z.object({
    job: jobMessageSchema(kinds),
    trialUid: uidSchema.nullable(),
    user: z.string().min(1).max(STOP_LIMITS.userLength),
    // Which job is meant was decided before.
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

/** Returns the request as the owner takes it. */
function stopRequestOf({ job, trialUid, user, stop }: StopAsk): StopRequest {
  const { reason, message = `asked for by ${user}`, graceSeconds } = stop;
  const graceMs = graceSeconds === undefined ? undefined : graceSeconds * 1000;
  return { job, trialUid, user, reason, message, graceMs };
}

/** Requests to stop jobs. */
export function stopAsks(kinds: JobKinds): AskKind<StopAsk, OwnerStopAnswer> {
  const askSchema = askSchemaOf(kinds);
  return {
    name: "stop",
    write: (ask) => ({ ...ask, job: jobMessage(ask.job) }),
    read: (value) => askSchema.safeParse(value).data,
    readAnswer: (value) => answerSchema.safeParse(value).data,
    answer: async ({ observations }, ask, signal) =>
      await observations?.requestStop(stopRequestOf(ask), signal),
  };
}
