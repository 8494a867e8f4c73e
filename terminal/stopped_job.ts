/** Changes of a job by hand, as the user: its stop and its restart are asked of the manager. */
import { type JobRef, restartPath, stopPath } from "../crds/job_kind.ts";
import { jobRestartSchema } from "../crds/job_restart.ts";
import { checkpointOf, shownStateOf, storedStopOf } from "../crds/job_state.ts";
import { nextRestartOf } from "../crds/restartable.ts";
import { jobStopSchema } from "../crds/trainjob.ts";
import type { RestartBody } from "../crds/wire/restart_request.ts";
import { GRACE_BY_HAND_SECONDS, type StopBody } from "../crds/wire/stop_request.ts";
import { type Clock, systemClock } from "../platform/base/clock.ts";
import { at, jsonOfText } from "../platform/base/json.ts";
import { TransportError } from "../platform/kube/errors.ts";
import { decisionOf, graceLeftMs } from "../owner/observations/stop_decision.ts";
import { changeJob, type JobChange } from "../views/job_changes.ts";
import { durationText } from "./readings.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";
import type { Change } from "./top_state.ts";

const DEADLINE_MS = 15_000;

/** Asked for by whoever presses a key. */
export const BY_HAND: StopBody = { reason: "StoppedByUser" };
const RESTARTED_BY_HAND = "RestartedByUser";

/** What changes by hand are done with. */
type ChangedCluster = Pick<TerminalCluster, "client" | "manager" | "missingOfManager"> & {
  /** Default: the system's. */
  readonly clock?: Pick<Clock, "now">;
};

/** Asks the manager for a change. Returns its answer; throws what it says, or why it cannot be asked. */
async function ask(
  { manager, missingOfManager }: ChangedCluster,
  path: string,
  body: StopBody | RestartBody,
  signal: AbortSignal,
): Promise<unknown> {
  const asked = manager();
  if (asked === undefined) throw new TransportError(missingOfManager().join("; "));
  const { text } = await asked.read(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Accept": "application/json" },
    body: JSON.stringify(body),
    signal,
    deadlineMs: DEADLINE_MS,
  });
  return jsonOfText(text);
}

/**
 * Stops this job, and no other one of its name. Returns what was done, as the end of a sentence about the job. Throws
 * what the API server or the manager says, or why that cannot be asked.
 */
export async function stopJobByHand(
  cluster: ChangedCluster,
  { kind, namespace, name, uid }: JobRef,
  body: StopBody,
  signal: AbortSignal,
): Promise<string> {
  const { client, clock = systemClock } = cluster;
  const job = await client.get(kind, { namespace, name }, { signal, deadlineMs: DEADLINE_MS });
  const state = shownStateOf(kind, job);
  if (state === "EarlyStopped") return "has ended already, stopped early";
  const asked = { defaultGraceSeconds: GRACE_BY_HAND_SECONDS, ...body, uid };
  const answer = await ask(cluster, stopPath(kind, namespace, name), asked, signal);
  if (state === "Suspended") return "was stopped at once, since it is suspended";
  const stop = jobStopSchema.parse(at(answer, "stop"));
  const { graceSeconds: seconds = 0 } = stop;
  if (seconds === 0 || body.graceSeconds === 0) return "was stopped immediately (no grace period)";
  if (storedStopOf(job) === undefined) return `was told to stop (grace period: ${seconds} s)`;
  const left = durationText(graceLeftMs(decisionOf(stop), clock.now()) / 1000);
  return `is being stopped already, ${left} left; a grace can only be shortened`;
}

/**
 * Restarts this job, and no other one of its name. Returns what was done, as the end of a sentence about the job. Throws
 * what the API server or the manager says, or why that cannot be asked.
 */
export async function restartJobByHand(
  cluster: ChangedCluster,
  { kind, namespace, name, uid }: JobRef,
  { message }: { readonly message?: string | undefined },
  signal: AbortSignal,
): Promise<string> {
  const read = { signal, deadlineMs: DEADLINE_MS };
  const job = await cluster.client.get(kind, { namespace, name }, read);
  const asked = { count: nextRestartOf(job), reason: RESTARTED_BY_HAND, message, uid };
  const answer = await ask(cluster, restartPath(kind, namespace, name), asked, signal);
  const { count, pods = [] } = jobRestartSchema.parse(at(answer, "restart"));
  const which = pods.length === 1
    ? "its pod goes, and a new one comes"
    : "its pods go, and new ones come";
  const step = checkpointOf(job)?.step;
  const saved = step === undefined
    ? "it has reported no checkpoint"
    : `its newest checkpoint is of step ${step}`;
  return `is being restarted (restart ${count}): ${which}; ${saved}`;
}

const DONE: Readonly<Record<JobChange, string>> = {
  suspend: "is being suspended",
  resume: "goes on",
  delete: "is being deleted",
};

/**
 * Stops, restarts, suspends, resumes or deletes this job, and no other one of its name. Returns what was done, as the end of a sentence
 * about the job. Throws what the API server or the manager says.
 */
export async function changeByHand(
  cluster: ChangedCluster,
  change: Change,
  job: JobRef,
  signal: AbortSignal,
): Promise<string> {
  if (change === "restart") return await restartJobByHand(cluster, job, {}, signal);
  if (change === "stop") return await stopJobByHand(cluster, job, BY_HAND, signal);
  await changeJob(cluster.client, job, { change, uid: job.uid, signal });
  return DONE[change];
}
