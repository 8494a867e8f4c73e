/** Requests to change how a job goes on: what those to stop it, and to restart it, have in common. */
import { z } from "zod";
import { CONDITION_REASON } from "../name_syntax.ts";
import type { JobKinds } from "../job_kinds.ts";
import { STOP_LIMITS } from "../trainjob.ts";
import { jobMessageSchema } from "./job_message.ts";
import { uidSchema } from "./message_fields.ts";

/** Bounds of such a request. */
export const CHANGE_REQUEST_LIMITS = {
  bodyBytes: 16_384,
  /** Characters of its message. */
  messageLength: 1024,
} as const;

const MESSAGE = `must be a text of at most ${CHANGE_REQUEST_LIMITS.messageLength} characters`;
const UID_LENGTH = 128;
const UID = `must be the UID of the job: 1 to ${UID_LENGTH} characters`;

/** Fields of the body: why, in a word and for people, and which job is meant. */
export function changeFields({ reason: [example, description], message, reasonLength }: {
  readonly reason: readonly [example: string, description: string];
  /** Describes the message. */
  readonly message: string;
  readonly reasonLength: number;
}) {
  const words =
    `must be the reason of a condition, such as ${example}: 1 to ${reasonLength} letters and ` +
    "digits, that begin with a letter";
  return {
    reason: z.string({ error: words }).max(reasonLength, words).regex(CONDITION_REASON, words)
      .meta({ description }),
    message: z.string({ error: MESSAGE }).max(CHANGE_REQUEST_LIMITS.messageLength, MESSAGE)
      .optional().meta({ description: message }),
    uid: z.string({ error: UID }).min(1, UID).max(UID_LENGTH, UID).optional().meta({
      description: "Of the job that is meant: another one of the same name is left alone.",
    }),
  };
}

/** Fields of such a request in a message to the owner; which job is meant was decided before. */
export const changeAskFields = (kinds: JobKinds) => ({
  job: jobMessageSchema(kinds),
  /** UID of the Trial that controls the job, on which the user's rights were checked too; null if none does. */
  trialUid: uidSchema.nullable(),
  user: z.string().min(1).max(STOP_LIMITS.userLength),
});

/** Who asks for a change of which job. */
export type ChangeAsk = z.infer<z.ZodObject<ReturnType<typeof changeAskFields>>>;
