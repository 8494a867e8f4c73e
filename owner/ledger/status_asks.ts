/** Questions for the newest status of a job. */
import { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobCheckpointSchema, toldRestartSchema } from "../../crds/job_restart.ts";
import { trainerStatusSchema } from "../../crds/trainjob.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { nameSchema, refusedSchema } from "../../crds/wire/message_fields.ts";
import type { AskKind } from "../ask_kind.ts";
import type { ReadAnswer } from "./reading.ts";

/** A status as it stands in a message. */
export const jobStatusSchema = z.object({
  trainerStatus: trainerStatusSchema,
  receivedTime: z.string().max(64),
  pod: nameSchema.optional(),
});

const answerSchema = z.union([
  z.object({
    ok: z.literal(true),
    status: jobStatusSchema.optional(),
    checkpoint: jobCheckpointSchema.optional(),
    restart: toldRestartSchema.optional(),
  }),
  refusedSchema,
]);

/** Creates the kind of these questions. */
export function statusAsks(kinds: JobKinds): AskKind<JobRef, ReadAnswer> {
  return {
    name: "status",
    write: jobMessage,
    schemas: { ask: jobMessageSchema(kinds), answer: answerSchema },
    async answer({ changes, resumptionOf }, job, signal) {
      const [reading] = await changes.status([{ job }], 0, signal) ?? [];
      return { ok: true, status: reading?.status, ...resumptionOf(job) };
    },
  };
}
