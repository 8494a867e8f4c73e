/** Questions of replicas that stop jobs. */
import { z } from "zod";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, jobMessageSchema } from "../../crds/wire/job_message.ts";
import { uidSchema } from "../../crds/wire/message_fields.ts";
import { STOP_LIMITS } from "../../crds/trainjob.ts";
import type { AskKind } from "../ask_kind.ts";
import type { StopRequest } from "./observations.ts";
import {
  type StopAnswer,
  stopAnswerSchema,
  stopRequestSchema,
} from "../../crds/wire/stop_request.ts";

const askSchemaOf = (kinds: JobKinds) =>
  z.object({
    job: jobMessageSchema(kinds),
    trialUid: uidSchema.nullable(),
    user: z.string().min(1).max(STOP_LIMITS.userLength),
    // Which job is meant was decided before.
    stop: stopRequestSchema.omit({ uid: true }),
  });

/** Requests to stop jobs. */
export function stopAsks(kinds: JobKinds): AskKind<StopRequest, StopAnswer> {
  return {
    name: "stop",
    write: (ask) => ({ ...ask, job: jobMessage(ask.job) }),
    schemas: { ask: askSchemaOf(kinds), answer: stopAnswerSchema },
    answer: async ({ observations }, ask, signal) => await observations?.requestStop(ask, signal),
  };
}
