/** Jobs in messages between replicas. */
import { z } from "zod";
import type { JobKind, JobRef } from "../job_kind.ts";
import type { JobKinds } from "../job_kinds.ts";
import { nameSchema, uidSchema } from "./message_fields.ts";

/**
 * Version of a message about jobs. In the first one every job is of the implied kind, and none is named;
 * in the second one a job names its kind.
 */
export type MessageVersion = "v1" | "v2";

/** The version that a replica must understand to receive messages about jobs of that kind. */
export function messageVersion({ implied }: JobKinds, kind: JobKind): MessageVersion {
  return kind === implied ? "v1" : "v2";
}

/** The job as it stands in a message. */
export function jobMessage({ implied }: JobKinds, { kind, namespace, name, uid }: JobRef) {
  return kind === implied ? { namespace, name, uid } : { kind: kind.id, namespace, name, uid };
}

/** Creates the schema that reads what {@link jobMessage} returns; it refuses unknown kinds. */
export function jobMessageSchema(kinds: JobKinds) {
  return z.object({
    kind: z.string().optional(),
    namespace: nameSchema,
    name: nameSchema,
    uid: uidSchema,
  }).transform(({ kind: id, ...job }, context): JobRef => {
    const kind = id === undefined ? kinds.implied : kinds.byId(id);
    if (kind !== undefined) return { kind, ...job };
    context.addIssue({ code: "custom", path: ["kind"], message: "is not known" });
    return z.NEVER;
  });
}
