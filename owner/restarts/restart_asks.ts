/** Questions of replicas that restart jobs. */
import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import { jobText } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { type ChangeAsk, changeAskFields } from "../../crds/wire/change_request.ts";
import { jobMessage } from "../../crds/wire/job_message.ts";
import {
  type RestartAnswer,
  restartAnswerSchema,
  type RestartBody,
  restartRequestSchema,
} from "../../crds/wire/restart_request.ts";
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { AskKind } from "../ask_kind.ts";
import { droppedField } from "../field_patch.ts";
import type { RestartStore } from "./restart_store.ts";

/** A request to restart a job, from somebody who may. */
export interface RestartRequest extends ChangeAsk {
  readonly restart: Omit<RestartBody, "uid">;
}

async function answerOf(
  store: RestartStore,
  { restart, ...by }: RestartRequest,
  signal: AbortSignal,
): Promise<RestartAnswer> {
  // Who asks is said apart: the job's pods are told the message.
  const { message = "by hand" } = restart;
  const outcome = await store.store({ ...by, ...restart, message }, signal);
  if (outcome.kind === "pruned") return droppedField(by.job.kind, "status.restart");
  if (outcome.kind !== "refused") return { restart: outcome.restart };
  const { why, reason } = outcome;
  return why === "changed" ? comeAgain(reason) : { refusal: why, reason };
}

/** Requests to restart jobs. */
export function restartAsks(kinds: JobKinds): AskKind<RestartRequest, RestartAnswer> {
  const log = getLogger(["milepost", "manager"]);
  return {
    name: "restart",
    write: (ask) => ({ ...ask, job: jobMessage(ask.job) }),
    schemas: {
      ask: z.object({
        ...changeAskFields(kinds),
        restart: restartRequestSchema.omit({ uid: true }),
      }),
      answer: restartAnswerSchema,
    },
    async answer({ restarts }, ask, signal) {
      try {
        return await answerOf(restarts, ask, signal);
      } catch (error) {
        const problem = messageOf(error);
        log.debug("cannot store a restart", { job: jobText(ask.job), problem });
        return comeAgain(`the restart could not be stored: ${problem}`);
      }
    },
  };
}
