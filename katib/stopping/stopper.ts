/** Idempotent stop of a trial: writes the end of the Trial, then of its job. */
import { getLogger } from "@logtape/logtape";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { type AnyJob, type JobRef, jobText } from "../../crds/job_kind.ts";
import { endOf, storedStopOf } from "../../crds/job_state.ts";
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import type { Trial } from "../../crds/trial.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Kind, KubeMeta, ObjectKey } from "../../platform/kube/resource.ts";
import { decidedAgain, hasChanged } from "../../platform/kube/rereading.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { Stop, StopOutcome, Stopper } from "../../owner/observations/observations.ts";
import { aboutJob, aboutTrial } from "../../trials/plan/notice.ts";
import { decisionOf, describeStop } from "../../owner/observations/stop_decision.ts";
import { endForeignJob } from "./foreign_end.ts";
import { HALT_MS, haltJob } from "./halt.ts";
import { type StopStoreOptions, storeStop } from "./stop_store.ts";
import { jobStop, type StopWrite, trialStop } from "./stop_writes.ts";

const log = getLogger(["milepost", "katib"]);

/** Most stops that are remembered until their event is recorded. */
const REMEMBERED = 10_000;

/** What is told of a stop by rules that gives no time to save anything. */
const AT_ONCE =
  `; stopped at once, as no annotation ${ANNOTATIONS.earlyStoppingGrace} gives it time to save`;

/** The objects of one stop, read at one moment; undefined if replaced or being deleted. */
interface StopObjects {
  readonly trial: Trial | undefined;
  readonly job: AnyJob | undefined;
}

function isThere(metadata: KubeMeta, uid: string): boolean {
  return metadata.uid === uid && metadata.deletionTimestamp === undefined;
}

/** Creates a {@link Stopper}. Its only state are the events that are not recorded yet. */
export function createStopper(
  options: StopStoreOptions & {
    readonly client: Pick<KubeClient, "get" | "patch" | "delete">;
  },
): Stopper {
  const { client, clock, events, deadlineMs } = options;
  /** UIDs of jobs whose last write may have succeeded without an answer. */
  const unanswered = createBoundedCache<true>(REMEMBERED);
  /** UIDs of jobs whose Trial's end was written here, or may have been. */
  const ended = createBoundedCache<true>(REMEMBERED);

  const stop = (stop: Stop, signal: AbortSignal): Promise<StopOutcome> =>
    decidedAgain(`${jobText(stop.plan.job)} or its Trial`, () => tryOnce(stop, signal));

  /** Undefined: an object changed after it was read. */
  async function tryOnce(stop: Stop, signal: AbortSignal): Promise<StopOutcome | undefined> {
    const { key } = stop.plan;
    const objects = await read(stop, signal);
    if (key.kind === "job") return await stopJob(stop, objects, signal);
    const { trial, job } = objects;
    if (trial === undefined) return "gone";
    const now = clock.now();
    const end = trialStop(trial, stop, now);
    if (end.kind === "finished") return "finished before";
    if (end.kind === "patch") {
      // Katib judges a job that ended by itself; a deleted job has no end to write.
      if (job === undefined) return "gone";
      if (jobStop(stop.plan.job.kind, job, stop.decision, now).kind === "finished") {
        return "finished before";
      }
      const kept = await keep(stop, job, signal);
      if (kept === "changed") return undefined;
      const halted = () => halt(stop, { trial, job }, signal);
      const markEnded = () => void ended.set(stop.plan.job.uid, true);
      const write = () => patch(KINDS.trial, key, end, signal, markEnded);
      if (kept === "kept") await halted();
      // Where nothing else tells a new owner why the pods have ended, the Trial's end is on its way before they are.
      const [isWritten] = await Promise.all([write(), kept === "not kept" ? halted() : undefined]);
      if (!isWritten) return undefined;
      markEnded();
    }
    const outcome = await stopJob(stop, objects, signal);
    if (outcome === undefined) return undefined;
    // Katib may have deleted the job, or objects it end, between the two writes.
    if (outcome !== "stopped" && ended.has(stop.plan.job.uid)) report(stop, objects);
    return "stopped";
  }

  /**
   * Keeps the decision in the job's status, which outlives this owner: a log without runs says nothing any more when the
   * pods are gone. Returns whether it is there, or that the job has changed, by this or otherwise.
   */
  async function keep(
    { plan: { key, job: ref }, decision }: Stop,
    job: AnyJob,
    signal: AbortSignal,
  ): Promise<"kept" | "changed" | "not kept"> {
    if (ref.kind.isForeign) return "not kept";
    if (storedStopOf(job) !== undefined) return "kept";
    // Its calls are short: the end of the Trial waits for them.
    const short = { ...options, deadlineMs: Math.min(deadlineMs, HALT_MS) };
    try {
      const { kind } = await storeStop(short, { job: ref, decision }, key, signal);
      if (kind === "stopped") return "kept";
      return kind === "pruned" || kind === "elsewhere" ? "not kept" : "changed";
    } catch (error) {
      signal.throwIfAborted();
      warn(ref, "the decision to stop a trial is not in its job's status", error);
      return "not kept";
    }
  }

  function warn({ namespace, name, kind: { kind } }: JobRef, what: string, error: unknown): void {
    log.warn(what, { kind, namespace, name, problem: messageOf(error) });
  }

  /** Ends the job's pods, if it can: Katib deletes the job once its Trial has ended. */
  async function halt(
    { plan: { job: ref } }: Stop,
    { trial, job }: { readonly trial: Trial; readonly job: AnyJob },
    signal: AbortSignal,
  ): Promise<void> {
    // Another operator's job that stays is suspended after its Trial says why.
    if (ref.kind.isForeign && trial.spec?.retainRun === true) return;
    try {
      await haltJob(ref, job, { client, deadlineMs, signal });
    } catch (error) {
      signal.throwIfAborted();
      warn(ref, "the pods of a trial that is stopped end later than they could", error);
    }
  }

  async function stopJob(
    stop: Stop,
    objects: StopObjects,
    signal: AbortSignal,
  ): Promise<StopOutcome | undefined> {
    if (objects.job === undefined) return "gone";
    const { job } = stop.plan;
    if (job.kind.isForeign) return await endForeign(stop, objects, objects.job, signal);
    const end = jobStop(job.kind, objects.job, stop.decision, clock.now());
    if (end.kind === "finished") return "finished before";
    // Another owner reported a stop that is found done, unless this one wrote it without an answer.
    const isOwn = end.kind === "patch" || unanswered.has(job.uid);
    if (end.kind === "patch") {
      const onUnanswered = () => void unanswered.set(job.uid, true);
      if (!await patch(job.kind, job, end, signal, onUnanswered)) return undefined;
    }
    if (isOwn) report(stop, objects);
    return "stopped";
  }

  /** Ends a job of another operator. Its Trial says already that it was stopped. */
  async function endForeign(
    stop: Stop,
    objects: StopObjects,
    job: AnyJob,
    signal: AbortSignal,
  ): Promise<StopOutcome> {
    const { job: ref } = stop.plan;
    if (endOf(ref.kind, job) !== undefined) return "finished before";
    const retain = objects.trial?.spec?.retainRun === true;
    const { left } = await endForeignJob(ref, job, { client, retain, deadlineMs, signal });
    if (left !== undefined && objects.trial !== undefined && ended.has(ref.uid)) {
      events.record(aboutTrial(objects.trial), {
        type: "Warning",
        reason: EVENT_REASONS.trialJobLeft,
        message: `the trial was stopped early, but its ${ref.kind.kind} goes on: ${left}`,
      });
    }
    if (ended.has(ref.uid)) report(stop, objects);
    return "stopped";
  }

  async function read(
    { plan: { key, job: ref } }: Stop,
    signal: AbortSignal,
  ): Promise<StopObjects> {
    const bounds = { signal, deadlineMs };
    const [trial, job] = await Promise.all([
      key.kind === "trial" ? getOrUndefined(client, KINDS.trial, key, bounds) : undefined,
      getOrUndefined(client, ref.kind, ref, bounds),
    ]);
    return {
      trial: trial && isThere(trial.metadata, key.uid) ? trial : undefined,
      job: job && isThere(job.metadata, ref.uid) ? job : undefined,
    };
  }

  /** Returns false if the object changed. Other errors leave the outcome unknown. */
  async function patch(
    kind: Kind<unknown>,
    { namespace, name }: ObjectKey,
    { body }: Extract<StopWrite, { kind: "patch" }>,
    signal: AbortSignal,
    onUnanswered: () => void,
  ): Promise<boolean> {
    const options = { subresource: "status", signal, deadlineMs };
    try {
      await client.patch(kind, { namespace, name }, { type: "merge", body }, options);
      return true;
    } catch (error) {
      if (hasChanged(error)) return false;
      onUnanswered();
      throw error;
    }
  }

  /** Records the events, once, by the owner that wrote the last part. */
  function report({ plan: { job: ref }, decision }: Stop, { trial, job }: StopObjects): void {
    unanswered.delete(ref.uid);
    ended.delete(ref.uid);
    const stored = job && storedStopOf(job);
    const made = stored === undefined ? decision : decisionOf(stored);
    const isSudden = made.user === undefined && made.graceMs === 0;
    const message = describeStop(made) + (isSudden ? AT_ONCE : "");
    const event = { type: "Normal", reason: EVENT_REASONS.earlyStopped, message } as const;
    if (trial !== undefined) events.record(aboutTrial(trial), event);
    if (job !== undefined) events.record(aboutJob(ref), event);
  }

  return { store: (...decided) => storeStop(options, ...decided), stop };
}
