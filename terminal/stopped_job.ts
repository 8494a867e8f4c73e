/** Changes of a job by hand, as the user: its stop is asked of the manager. */
import { type JobRef, stopPath } from "../crds/job_kind.ts";
import { shownStateOf, storedStopOf } from "../crds/job_state.ts";
import { jobStopSchema } from "../crds/trainjob.ts";
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

/** What changes by hand are done with. */
type ChangedCluster = Pick<TerminalCluster, "client" | "manager" | "missingOfManager"> & {
  /** Default: the system's. */
  readonly clock?: Pick<Clock, "now">;
};

/**
 * Stops this job, and no other one of its name. Returns what was done, as the end of a sentence about the job. Throws
 * what the API server or the manager says, or why that cannot be asked.
 */
export async function stopJobByHand(
  { client, manager, missingOfManager, clock = systemClock }: ChangedCluster,
  { kind, namespace, name, uid }: JobRef,
  body: StopBody,
  signal: AbortSignal,
): Promise<string> {
  const job = await client.get(kind, { namespace, name }, { signal, deadlineMs: DEADLINE_MS });
  const state = shownStateOf(kind, job);
  if (state === "EarlyStopped") return "has ended already, stopped early";
  const asked = manager();
  if (asked === undefined) throw new TransportError(missingOfManager().join("; "));
  const { text } = await asked.read(stopPath(kind, namespace, name), {
    method: "POST",
    headers: { "Content-Type": "application/json", "Accept": "application/json" },
    body: JSON.stringify({ defaultGraceSeconds: GRACE_BY_HAND_SECONDS, ...body, uid }),
    signal,
    deadlineMs: DEADLINE_MS,
  });
  if (state === "Suspended") return "was stopped at once, since it is suspended";
  const stop = jobStopSchema.parse(at(jsonOfText(text), "stop"));
  const { graceSeconds: seconds = 0 } = stop;
  if (seconds === 0 || body.graceSeconds === 0) return "was stopped immediately (no grace period)";
  if (storedStopOf(job) === undefined) return `was told to stop (grace period: ${seconds} s)`;
  const left = durationText(graceLeftMs(decisionOf(stop), clock.now()) / 1000);
  return `is being stopped already, ${left} left; a grace can only be shortened`;
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
  cluster: ChangedCluster,
  change: Change,
  job: JobRef,
  signal: AbortSignal,
): Promise<string> {
  if (change === "stop") return await stopJobByHand(cluster, job, BY_HAND, signal);
  await changeJob(cluster.client, job, { change, uid: job.uid, signal });
  return DONE[change];
}
