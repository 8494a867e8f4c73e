/** Requests to stop a job, and what the owner of its state answers. */
import { z } from "zod";
import { CONDITION_REASON } from "../name_syntax.ts";
import { jobStopSchema, STOP_LIMITS } from "../trainjob.ts";
import { refusedSchema } from "./message_fields.ts";
import { wholeNumber } from "./sample.ts";

/** Bounds of a request to stop a job. */
export const STOP_REQUEST_LIMITS = {
  bodyBytes: 16_384,
  /** Characters of its message. */
  messageLength: 1024,
} as const;

/** The grace of a stop by hand, in a page or terminal, where no annotation says one, in seconds. */
export const GRACE_BY_HAND_SECONDS = 30;

const { reasonLength, graceSeconds: maxGrace } = STOP_LIMITS;
const REASON =
  `must be the reason of a condition, such as Pruned: 1 to ${reasonLength} letters and ` +
  "digits, that begin with a letter";
const MESSAGE = `must be a text of at most ${STOP_REQUEST_LIMITS.messageLength} characters`;
const UID_LENGTH = 128;
const UID = `must be the UID of the job: 1 to ${UID_LENGTH} characters`;
const grace = wholeNumber(0, maxGrace).optional();

/** The body of a request to stop a job. Unknown names are refused: a misspelt grace would stop it at once. */
export const stopRequestSchema = z.strictObject({
  reason: z.string({ error: REASON }).max(reasonLength, REASON).regex(CONDITION_REASON, REASON)
    .meta({
      description: "Why, in one word: the reason of the condition EarlyStopped.",
    }),
  message: z.string({ error: MESSAGE }).max(STOP_REQUEST_LIMITS.messageLength, MESSAGE).optional()
    .meta({ description: "Why, for people: the message of that condition." }),
  graceSeconds: grace.meta({
    description:
      "How long the job may go on. Default: as its annotation says, else `defaultGraceSeconds`.",
  }),
  defaultGraceSeconds: grace.meta({
    description:
      "How long it may go on if neither `graceSeconds` nor an annotation says it. Default: 0.",
  }),
  uid: z.string({ error: UID }).min(1, UID).max(UID_LENGTH, UID).optional().meta({
    description: "Of the job that is meant: another one of the same name is left alone.",
  }),
}, {
  error: (issue) =>
    issue.code === "unrecognized_keys" ? undefined : "must be a JSON object with a reason",
});

export type StopBody = z.infer<typeof stopRequestSchema>;

/** The owner's answer: the decision that the job's status holds, why there is none, or when to come again. */
export const stopAnswerSchema = z.union([
  z.object({ stop: jobStopSchema }),
  z.object({ refusal: z.enum(["ended", "gone", "elsewhere"]), reason: z.string() }),
  refusedSchema,
]);
export type StopAnswer = z.infer<typeof stopAnswerSchema>;
