/** Questions of replicas that stop jobs. */
import { z } from "zod";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { changeAskFields } from "../../crds/wire/change_request.ts";
import { jobMessage } from "../../crds/wire/job_message.ts";
import type { AskKind } from "../ask_kind.ts";
import type { StopRequest } from "./observations.ts";
import {
  type StopAnswer,
  stopAnswerSchema,
  stopRequestSchema,
} from "../../crds/wire/stop_request.ts";

const askSchemaOf = (kinds: JobKinds) =>
  z.object({ ...changeAskFields(kinds), stop: stopRequestSchema.omit({ uid: true }) });

/** Requests to stop jobs. */
export function stopAsks(kinds: JobKinds): AskKind<StopRequest, StopAnswer> {
  return {
    name: "stop",
    write: (ask) => ({ ...ask, job: jobMessage(ask.job) }),
    schemas: { ask: askSchemaOf(kinds), answer: stopAnswerSchema },
    answer: async ({ observations }, ask, signal) => await observations?.requestStop(ask, signal),
  };
}
