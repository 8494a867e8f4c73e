/** Changes of jobs that a viewer makes: suspended, resumed, deleted, as that viewer and no other. */
import { z } from "zod";
import { uidSchema } from "../crds/wire/message_fields.ts";
import { suspensionSpec } from "../crds/suspension_switch.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import type { NamedJob } from "../crds/job_kind.ts";

/** Changes of a job's object. */
export const JOB_CHANGES = ["suspend", "resume", "delete"] as const;
export type JobChange = typeof JOB_CHANGES[number];

/** The body of a change. */
export const changeSchema = z.strictObject({
  /** Of the job that was seen; another one of the same name is left alone. */
  uid: uidSchema.optional(),
});

const DEADLINE_MS = 15_000;

/** Makes the change. Throws what the client throws. */
export async function changeJob(
  client: Pick<KubeClient, "patch" | "delete">,
  { kind, namespace, name }: NamedJob,
  { change, uid, signal }: {
    readonly change: JobChange;
    readonly uid: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const options = { signal, deadlineMs: DEADLINE_MS };
  const key = { namespace, name };
  if (change === "delete") {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    const propagationPolicy = "Background" as const;
    return await client.delete(kind, key, { ...options, ...preconditions, propagationPolicy });
  }
  const body = {
    ...(uid !== undefined && { metadata: { uid } }),
    spec: suspensionSpec(kind, change === "suspend"),
  };
  await client.patch(kind, key, { type: "merge", body }, options);
}
