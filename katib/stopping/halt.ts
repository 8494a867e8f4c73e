/** Halt of a trial's pods before its end is written (docs/decisions/0043). */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import { JOB_OF_JOB_SET } from "../../crds/owner_links.ts";
import { isSuspended } from "../../crds/suspension_switch.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { suspendForeignJob } from "./foreign_end.ts";

/** Longest time of each of its calls, in milliseconds: the end of the Trial waits for them. */
export const HALT_MS = 1_000;

/** Options of {@link haltJob}. */
export interface HaltOptions {
  readonly client: Pick<KubeClient, "get" | "patch">;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** Reports whether the pods of such jobs are those of a JobSet with the job's name. */
const hasJobSet = ({ ownerPaths }: JobKind) =>
  ownerPaths.some(({ through }) => through.includes(JOB_OF_JOB_SET));

async function suspendJobSet(
  { namespace, name, uid }: JobRef,
  { client, ...bounds }: HaltOptions,
): Promise<void> {
  const jobSet = await getOrUndefined(client, KINDS.jobSet, { namespace, name }, bounds);
  if (!jobSet || !isControlledBy(jobSet.metadata, uid) || jobSet.spec?.suspend === true) return;
  const body = { metadata: { uid: jobSet.metadata.uid }, spec: { suspend: true } };
  await client.patch(KINDS.jobSet, { namespace, name }, { type: "merge", body }, bounds);
}

/**
 * Suspends what runs the job's pods: its JobSet, or the job itself if another operator runs it. They end then, whoever
 * deletes the job, and whenever the garbage collector comes to them. Can be repeated. Does nothing if the controller of
 * the job ends its pods itself.
 */
export async function haltJob(ref: JobRef, job: AnyJob, options: HaltOptions): Promise<void> {
  const bounds = { ...options, deadlineMs: Math.min(options.deadlineMs, HALT_MS) };
  if (!ref.kind.isForeign) {
    return hasJobSet(ref.kind) ? await suspendJobSet(ref, bounds) : undefined;
  }
  if (!isSuspended(ref.kind, job)) await suspendForeignJob(ref, bounds);
}
