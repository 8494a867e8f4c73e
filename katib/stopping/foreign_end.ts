/** End of a trial's job that another operator runs: deleted, or suspended if its Trial retains it. */
import type { AnyJob, JobRef } from "../../crds/job_kind.ts";
import { isSuspended, suspensionSpec } from "../../crds/suspension_switch.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isForbidden, isNotFound, KubeError, messageOf } from "../../platform/kube/errors.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";

/** What became of the job: it ends, or goes on for that reason. */
export type ForeignEnd = { readonly left?: undefined } | { readonly left: string };

/** Options of {@link suspendForeignJob}. */
export interface SuspensionOptions {
  readonly client: Pick<KubeClient, "patch">;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** Reports whether the API server refused a write for good: for want of a right, or by validation. */
const isRefused = (error: unknown) =>
  isForbidden(error) || (error instanceof KubeError && [400, 405, 422].includes(error.code));

/** Suspends the job. Rejects if that is refused. */
export async function suspendForeignJob(
  { kind, namespace, name, uid }: JobRef,
  { client, signal, deadlineMs }: SuspensionOptions,
): Promise<ForeignEnd> {
  const body = { metadata: { uid }, spec: suspensionSpec(kind, true) };
  const patch = { type: "merge", body } as const;
  const patched = await client.patch(kind, { namespace, name }, patch, { signal, deadlineMs });
  // A definition without such a field drops it.
  return isSuspended(kind, patched) ? {} : { left: `a ${kind.kind} cannot be suspended` };
}

/** Ends the job. Can be repeated. Rejects if the outcome is not known. */
export async function endForeignJob(
  ref: JobRef,
  job: AnyJob,
  options: SuspensionOptions & {
    readonly client: Pick<KubeClient, "delete" | "patch">;
    /** Whether the Trial retains its job. */
    readonly retain: boolean;
  },
): Promise<ForeignEnd> {
  const { client, retain, signal, deadlineMs } = options;
  const { kind, namespace, name, uid } = ref;
  if (retain && isSuspended(kind, job)) return {};
  try {
    if (retain) return await suspendForeignJob(ref, options);
    const call = { propagationPolicy: "Background", signal, deadlineMs } as const;
    await deleteExactly(client, kind, { metadata: { namespace, name, uid } }, call);
    return {};
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isRefused(error)) throw error;
    return { left: messageOf(error) };
  }
}
