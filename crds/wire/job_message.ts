/** Jobs in messages between replicas. */
import { z } from "zod";
import type { JobRef } from "../job_kind.ts";
import type { JobKinds } from "../job_kinds.ts";
import { nameSchema, uidSchema } from "./message_fields.ts";

/** The job as it stands in a message. */
export function jobMessage({ kind, namespace, name, uid }: JobRef) {
  return { kind: kind.id, namespace, name, uid };
}

/** Creates the schema that reads what {@link jobMessage} returns; it refuses unknown kinds. */
export function jobMessageSchema(kinds: JobKinds) {
  return z.object({
    kind: z.string(),
    namespace: nameSchema,
    name: nameSchema,
    uid: uidSchema,
  }).transform(({ kind: id, ...job }, context): JobRef => {
    const kind = kinds.byId(id);
    if (kind !== undefined) return { kind, ...job };
    context.addIssue({ code: "custom", path: ["kind"], message: "is not known" });
    return z.NEVER;
  });
}
