/** Changes of a job by hand, as the user: its stop is asked of the manager. */
import { stopPath } from "../crds/job_kind.ts";
import type { JobRef } from "../crds/job_kind.ts";
import { GRACE_BY_HAND_SECONDS, type StopBody } from "../crds/wire/stop_request.ts";
import { at, jsonOfText } from "../platform/base/json.ts";
import { TransportError } from "../platform/kube/errors.ts";
import { changeJob, type JobChange } from "../views/job_changes.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";
import type { Change } from "./top_state.ts";

const DEADLINE_MS = 15_000;

/** Asked for by whoever presses a key. */
export const BY_HAND: StopBody = { reason: "StoppedByUser" };

/**
 * Stops this job, and no other one of its name. Returns what was done, as the end of a sentence about the job. Throws
 * what the manager says, or why it cannot be asked.
 */
export async function stopJobByHand(
  { manager, missingOfManager }: Pick<TerminalCluster, "manager" | "missingOfManager">,
  { kind, namespace, name, uid }: JobRef,
  body: StopBody,
  signal: AbortSignal,
): Promise<string> {
  const client = manager();
  if (client === undefined) throw new TransportError(missingOfManager().join("; "));
  const { text } = await client.read(stopPath(kind, namespace, name), {
    method: "POST",
    headers: { "Content-Type": "application/json", "Accept": "application/json" },
    body: JSON.stringify({ defaultGraceSeconds: GRACE_BY_HAND_SECONDS, ...body, uid }),
    signal,
    deadlineMs: DEADLINE_MS,
  });
  const seconds = at(jsonOfText(text), "stop", "graceSeconds");
  if (seconds === 0 || body.graceSeconds === 0) return "was stopped immediately (no grace period)";
  return `was told to stop${typeof seconds === "number" ? ` (grace period: ${seconds} s)` : ""}`;
}

const DONE: Readonly<Record<JobChange, string>> = {
  suspend: "is being suspended",
  resume: "goes on",
  delete: "is being deleted",
};

/**
 * Stops, suspends, resumes or deletes this job, and no other one of its name. Returns what was done, as the end of a sentence
 * about the job. Throws what the API server or the manager says.
 */
export async function changeByHand(
  cluster: Pick<TerminalCluster, "client" | "manager" | "missingOfManager">,
  change: Change,
  job: JobRef,
  signal: AbortSignal,
): Promise<string> {
  if (change === "stop") return await stopJobByHand(cluster, job, BY_HAND, signal);
  await changeJob(cluster.client, job, { change, uid: job.uid, signal });
  return DONE[change];
}
