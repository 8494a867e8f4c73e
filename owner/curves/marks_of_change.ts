/** Marks of what has changed in the object of a job, or in that of its JobSet. Pure. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { restartText } from "../../crds/job_restart.ts";
import { earlyStopOf, restartOf, suspensionOf } from "../../crds/job_state.ts";
import { headlineOf } from "../../crds/failure_headline.ts";
import { podFailure } from "../../crds/failure_of_pod.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { JOBSET_CONDITIONS } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { CurveMark, MarkKind } from "../../crds/wire/shown_curves.ts";
import { findCondition, trueCondition } from "../../platform/kube/conditions.ts";

/** From the begin of a second to its last millisecond. */
const SECOND_END_MS = 999;

type Condition = NonNullable<ReturnType<typeof suspensionOf>>;

function markAt(kind: MarkKind, second: string, text: string, nowMs: number): CurveMark {
  const secondMs = Date.parse(second);
  const timeMs = Number.isFinite(secondMs) ? Math.min(secondMs + SECOND_END_MS, nowMs) : nowMs;
  return { timeMs, kind, text };
}

/**
 * A mark at the last transition of a condition, with its message. The condition says the second: it was in it, and
 * before now. So the mark stands behind the samples that came before, where a whole second may be before them.
 */
function markOf(kind: MarkKind, condition: Condition | undefined, nowMs: number): CurveMark {
  const { lastTransitionTime = "", message, reason } = condition ?? {};
  return markAt(kind, lastTransitionTime, message || reason || "", nowMs);
}

/**
 * Returns the marks of a change of a job's object: suspended, resumed, restarted as far as the job's own object says it,
 * stopped early. `old` is undefined, or another job of that name, where the job is seen for the first time: then
 * what holds now is marked at the time at which it began, so that a mark that is known comes out the same.
 */
export function marksOfChange(
  kind: JobKind,
  old: AnyJob | undefined,
  now: AnyJob,
  nowMs: number,
): CurveMark[] {
  const before = old?.metadata.uid === now.metadata.uid ? old : undefined;
  const begun = (read: (job: AnyJob) => Condition | undefined, mark: MarkKind): CurveMark[] => {
    const condition = read(now);
    const known = before && read(before);
    return condition === undefined || known !== undefined ? [] : [markOf(mark, condition, nowMs)];
  };
  const restart = restartOf(now);
  const { suspended, restarting } = kind.conditions;
  const wasSuspended = before !== undefined && suspensionOf(kind, before) !== undefined;
  const isResumed = wasSuspended && suspensionOf(kind, now) === undefined;
  return [
    ...begun((job) => suspensionOf(kind, job), "suspended"),
    ...(isResumed
      ? [markOf("resumed", findCondition(now.status?.conditions, suspended), nowMs)]
      : []),
    ...(restarting === undefined
      ? []
      : begun(({ status }) => trueCondition(status?.conditions, restarting), "restarted")),
    ...(restart === undefined || restart.count === (before && restartOf(before)?.count)
      ? []
      : [markAt("restarted", restart.time, restartText(restart), nowMs)]),
    ...begun((job) => earlyStopOf(kind, job), "stopped"),
  ];
}

const failureIn = (pod: WatchedPod) => pod.failure ?? podFailure(KINDS.pod.parse(pod));

/** Returns the mark for the job of a pod of which a container was started again; what it said last is the job's to tell. */
export function marksOfPod(
  old: WatchedPod | undefined,
  now: WatchedPod,
  nowMs: number,
): CurveMark[] {
  if (old === undefined || old.metadata?.uid !== now.metadata?.uid) return [];
  const found = failureIn(now);
  if (found === undefined || found.restarts <= (failureIn(old)?.restarts ?? 0)) return [];
  const text = headlineOf({ ...found.failure, message: undefined });
  return [{ timeMs: nowMs, kind: "restarted", text }];
}

/** Returns the mark of a container that was started again after the newest sample that is known of the job. */
export function marksOfStart(now: WatchedPod, newestMs: number): CurveMark[] {
  const startMs = Date.parse(failureIn(now)?.runsSince ?? "");
  return startMs > newestMs ? marksOfPod({ metadata: now.metadata }, now, startMs) : [];
}

/** A JobSet, as far as its restarts are read. */
type RestartingJobSet = Pick<JobSet, "metadata" | "status">;

/** Restarts of the whole JobSet, and of single Jobs. */
function restartsOf({ status }: RestartingJobSet): number {
  const single = (status?.replicatedJobsStatus ?? []).flatMap(({ jobRestarts = [] }) =>
    jobRestarts
  );
  return [status?.restarts ?? 0, ...single].reduce((sum, count) => sum + count, 0);
}

/** Returns the mark for the TrainJob of a JobSet that restarts; its own object does not say so. */
export function marksOfRestart(
  old: RestartingJobSet | undefined,
  now: RestartingJobSet,
  nowMs: number,
): CurveMark[] {
  if (old === undefined || old.metadata.uid !== now.metadata.uid) return [];
  if (restartsOf(now) <= restartsOf(old)) return [];
  const { restarting } = JOBSET_CONDITIONS;
  const condition = trueCondition(now.status?.conditions, restarting);
  const before = findCondition(old.status?.conditions, restarting);
  // While it stays True, and for restarts of single Jobs, the time is that of an earlier restart.
  const isNew = condition?.lastTransitionTime !== before?.lastTransitionTime;
  return [markOf("restarted", isNew ? condition : undefined, nowMs)];
}
