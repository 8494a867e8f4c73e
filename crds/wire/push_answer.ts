/** Answer to a push: that its owner has taken it, with the instruction to the trainer, or when to come again. */
import { z } from "zod";
import type { Refused } from "../../platform/http/replicas/owner_router.ts";
import type { JobRef } from "../job_kind.ts";
import { refusedSchema } from "./message_fields.ts";
import type { Push } from "./push.ts";

/** Instruction to a trainer, in the answer to a push. */
const controlSchema = z.object({
  stop: z.boolean(),
  reason: z.string(),
  message: z.string(),
});
export type Control = Readonly<z.infer<typeof controlSchema>>;

/** The owner's answer to a push. */
export type PushAnswer =
  | {
    readonly ok: true;
    readonly warnings?: readonly string[];
    readonly control?: Control | undefined;
    /** The log lacks the samples of the push, and nobody sends them again. */
    readonly isUnrecorded?: true;
  }
  | Refused;

/** The owner's answer as one replica sends it to another. */
export const pushAnswerSchema = z.union([
  z.object({
    ok: z.literal(true),
    warnings: z.array(z.string()).optional(),
    control: controlSchema.optional(),
  }),
  refusedSchema.extend({ gone: z.boolean().optional() }),
]);

/**
 * Hands a push to the owner of its state. It returns no promise if nothing has to be waited for.
 * `signal` aborts when the answer is no longer awaited.
 */
export type AcceptPush = (push: Push, signal: AbortSignal) => PushAnswer | Promise<PushAnswer>;

/** Returns what the object of a job tells its trainers; undefined if they may go on. It waits for nothing. */
export type ControlNow = (job: JobRef) => Control | undefined;
