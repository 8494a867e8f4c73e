/** Requests to restart a job, and what the owner of its state answers. */
import { z } from "zod";
import { jobRestartSchema, RESTART_LIMITS } from "../job_restart.ts";
import { changeFields } from "./change_request.ts";
import { refusedSchema } from "./message_fields.ts";
import { wholeNumber } from "./sample.ts";

const { reason, message, uid } = changeFields({
  reason: ["Hangs", "Why, in one word."],
  message: "Why, for people.",
  reasonLength: RESTART_LIMITS.reasonLength,
});

/** The body of a request to restart a job. */
export const restartRequestSchema = z.strictObject({
  count: wholeNumber(1, 2 ** 31 - 1).meta({
    description:
      "Which restart is meant: one more than `count` of `status.restart`, or 1. Asking again for the same one restarts nothing.",
  }),
  reason,
  message,
  uid,
}, {
  error: (issue) =>
    issue.code === "unrecognized_keys"
      ? undefined
      : "must be a JSON object with a count and a reason",
});
export type RestartBody = z.infer<typeof restartRequestSchema>;

/** The owner's answer: the restart that the job's status holds, why there is none, or when to come again. */
export const restartAnswerSchema = z.union([
  z.object({ restart: jobRestartSchema }),
  z.object({ refusal: z.enum(["conflict", "gone", "elsewhere"]), reason: z.string() }),
  refusedSchema,
]);
export type RestartAnswer = z.infer<typeof restartAnswerSchema>;
