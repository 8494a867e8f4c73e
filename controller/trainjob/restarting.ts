/** Restarts that are carried out: the calls of each step, and what is told of them. */
import { KINDS } from "../../crds/kinds.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { restartOf, restartUnderWay } from "../../crds/job_state.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { WATCHED } from "../../crds/watched.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import { isForbidden, messageOf } from "../../platform/kube/errors.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { doneEvent, waitsEvent } from "../restart_events.ts";
import { writeChild, type Writer } from "./act.ts";
import { CHILD_RETRY_MS } from "./children.ts";
import { type JobEventOptions, recordEvent } from "./job_events.ts";
import { rightToGrant } from "./missing_right.ts";
import type { ObservedJob } from "./observed.ts";
import { isLiving, isOwnPod, lateWait, planJobs, type RestartStep } from "./restart_plan.ts";
import type { StatusDecision } from "./status.ts";

/** Time until the next look at Jobs, which are not watched, in milliseconds. */
const LOOK_MS = 500;
/** Pods that are listed: one that lives is enough to wait. */
const PODS_LISTED = 20;
const NO_ENDED_PODS = "status.phase!=Succeeded,status.phase!=Failed";

/** The job after a step of its restart, and the time until the next look. */
export interface Restarting {
  readonly job: ObservedJob;
  readonly requeueAfterMs?: number | undefined;
}

/** Tells that something holds the restart up, once of each cause, however its words change. */
function tellWait(
  options: JobEventOptions,
  { trainJob }: ObservedJob,
  { cause, text }: { readonly cause: string; readonly text: string },
): void {
  const count = restartOf(trainJob)?.count;
  if (!options.isNews(`${trainJob.metadata.uid} restart ${count} ${cause}`)) return;
  recordEvent(options, trainJob, waitsEvent(count, text));
}

/** Looks at the Jobs of a JobSet whose pods are gone, and deletes those that would not run again. */
async function lookAtJobs(
  { client, key: { namespace, name }, signal }: Writer,
  job: ObservedJob,
  jobSet: JobSet,
): Promise<boolean> {
  const listed = await client.list(WATCHED.job, {
    namespace,
    labelSelector: `${JOBSET_KEYS.jobSetName}=${name}`,
    signal,
  });
  const jobs = listed.items.filter((it) => isControlledBy(it.metadata, jobSet.metadata.uid ?? ""));
  const { remove, mayRestart } = planJobs(job, jobSet, jobs);
  const call = { propagationPolicy: "Foreground", signal } as const;
  for (const it of remove) await deleteExactly(client, WATCHED.job, it, call);
  if (!mayRestart) return false;
  // The Jobs rest, so that no pod comes that this list does not have.
  const pods = await client.list(WATCHED.pod, {
    namespace,
    labelSelector: `${JOBSET_KEYS.jobSetUid}=${jobSet.metadata.uid}`,
    fieldSelector: NO_ENDED_PODS,
    limit: PODS_LISTED,
    signal,
  });
  return !pods.items.some((pod) => isOwnPod(pod, job.trainJob, jobSet) && isLiving(pod));
}

/** Carries out the next step of a restart. */
export async function carryOn(
  options: JobEventOptions,
  writer: Writer,
  { job, step }: { readonly job: ObservedJob; readonly step: RestartStep },
): Promise<Restarting> {
  if (restartUnderWay(job.trainJob) === undefined && step.kind === "none") return { job };
  // Its pods are ended on purpose.
  options.failures.forget(keyOf(job.trainJob), job.jobSet?.metadata.uid);
  if (step.kind === "none") return { job };
  const { attempts, key: { name }, managerName } = writer;
  if (step.kind === "suspend") {
    const plan = { kind: KINDS.jobSet, name, write: step.write };
    const written = await attempts.one(() => writeChild(writer, plan));
    return { job: written ? { ...job, jobSet: KINDS.jobSet.parse(written) } : job };
  }
  const late = lateWait(job, { sinceMs: options.since, nowMs: options.clock.now() });
  if (late.text !== undefined) tellWait(options, job, { cause: "late", text: late.text });
  if (step.kind === "wait") return { job, requeueAfterMs: late.dueMs };
  try {
    const mayRestart = await lookAtJobs(writer, job, step.jobSet);
    return { job: { ...job, mayRestart }, ...(!mayRestart && { requeueAfterMs: LOOK_MS }) };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const text = `${messageOf(error)}; ${rightToGrant(KINDS.job, managerName)}`;
    tellWait(options, job, { cause: "right", text });
    return { job, requeueAfterMs: CHILD_RETRY_MS };
  }
}

/** Tells of a restart that is done. */
export function tellRestart(
  options: Pick<JobEventOptions, "events">,
  trainJob: TrainJob,
  restarting: StatusDecision["restarting"],
): void {
  if (restarting?.outcome !== "done") return;
  recordEvent(options, trainJob, doneEvent(restarting.restart.count));
}
