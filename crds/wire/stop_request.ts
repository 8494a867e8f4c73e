/** Requests to stop a job, and what the owner of its state answers. */
import { z } from "zod";
import { jobStopSchema, STOP_LIMITS } from "../trainjob.ts";
import { changeFields } from "./change_request.ts";
import { refusedSchema } from "./message_fields.ts";
import { wholeNumber } from "./sample.ts";

/** The grace of a stop by hand, in a page or terminal, where no annotation says one, in seconds. */
export const GRACE_BY_HAND_SECONDS = 30;

const { reason, message, uid } = changeFields({
  reason: ["Pruned", "Why, in one word: the reason of the condition EarlyStopped."],
  message: "Why, for people: the message of that condition.",
  reasonLength: STOP_LIMITS.reasonLength,
});
const grace = wholeNumber(0, STOP_LIMITS.graceSeconds).optional();

/** The body of a request to stop a job. Unknown names are refused: a misspelt grace would stop it at once. */
export const stopRequestSchema = z.strictObject({
  reason,
  message,
  graceSeconds: grace.meta({
    description:
      "How long the job may go on. Default: as its annotation says, else `defaultGraceSeconds`.",
  }),
  defaultGraceSeconds: grace.meta({
    description:
      "How long it may go on if neither `graceSeconds` nor an annotation says it. Default: 0.",
  }),
  uid,
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
