/** Restart of a job: its pods go, and come again from its last checkpoint; in `status.restart` and `status.checkpoint`, of a job of any kind. */
import { withAsker } from "../platform/base/asked_by.ts";
import { z } from "zod";
import { atomicList, int32, int64 } from "./schema_marks.ts";
import { CONDITION_REASON } from "./name_syntax.ts";
import { plainText } from "./wire/plain_text.ts";

/** Limits of restarts. */
export const RESTART_LIMITS = {
  /** Pods that are listed: a job with more of them lists the first ones. */
  pods: 1024,
  uidLength: 128,
  reasonLength: 128,
  messageLength: 1024,
  userLength: 1024,
  /** Characters of the place of a checkpoint. */
  locationLength: 512,
  /** Restarts by policy, of one job in a day. */
  aDay: 10,
} as const;

const time = () => z.string().meta({ format: "date-time" });
const step = () => int64().min(0);

/** The schema of a checkpoint that a job's pods reported. */
export const jobCheckpointSchema = z.looseObject({
  step: step().meta({ description: "The last step whose work it holds." }),
  location: plainText(RESTART_LIMITS.locationLength).optional().meta({
    description: "Where it is, in the words of the program. Milepost never opens it.",
  }),
  time: time().meta({ description: "When it was saved." }),
});
export type JobCheckpoint = z.infer<typeof jobCheckpointSchema>;

/** Whether two reports are of the same checkpoint. */
export const isSameCheckpoint = (
  a: JobCheckpoint | undefined,
  b: JobCheckpoint | undefined,
): boolean => a?.step === b?.step && a?.location === b?.location;

/** What restarts by policy are counted against: stored with each, so that another owner counts on. */
const budgetSchema = z.looseObject({
  spent: int32().min(0).meta({
    description: "Restarts by policy since the checkpoint, or without one.",
  }),
  checkpoint: step().optional().meta({
    description: "The step of the checkpoint that they are counted from.",
  }),
  times: atomicList(time()).max(RESTART_LIMITS.aDay).meta({
    description: "When the last ones were.",
  }),
  step: step().optional().meta({ description: "The step at which the job stalled." }),
  stalls: int32().min(0).meta({ description: "How often it stalled there in a row." }),
});
export type RestartBudget = z.infer<typeof budgetSchema>;

/** The schema of the last restart. */
export const jobRestartSchema = z.looseObject({
  count: int32().min(1).meta({ description: "Which restart of the job it is, from 1." }),
  reason: z.string().min(1).max(RESTART_LIMITS.reasonLength).regex(CONDITION_REASON).meta({
    description: "Why, in one word.",
  }),
  message: z.string().max(RESTART_LIMITS.messageLength).meta({
    description: "Why, for people.",
  }),
  user: z.string().max(RESTART_LIMITS.userLength).optional().meta({
    description: "Who asked for it; absent if the job's policy did.",
  }),
  time: time().meta({ description: "When it was decided." }),
  endTime: time().optional().meta({
    description:
      "When the job was let go on, or the restart was ended by a suspension. Absent while it is under way.",
  }),
  step: step().optional().meta({ description: "The last step of the job before it." }),
  pods: atomicList(z.string().max(RESTART_LIMITS.uidLength)).max(RESTART_LIMITS.pods).optional()
    .meta({ description: "UIDs of the pods that go." }),
  budget: budgetSchema.optional(),
}).meta({ description: "The last restart of the job. It holds once it is here." });
export type JobRestart = z.infer<typeof jobRestartSchema>;

/** Returns which restart it is, why it is, and who asked for it. */
export function restartText({ count, reason, message, user }: JobRestart): string {
  return `restart ${count}: ${reason}: ${withAsker(message, user)}`;
}

/** What pods are told of a restart: not who asked for it, nor what it is counted against. */
export const toldRestartSchema = z.object(
  jobRestartSchema.omit({ user: true, pods: true, budget: true }).shape,
);
export type ToldRestart = z.infer<typeof toldRestartSchema>;
