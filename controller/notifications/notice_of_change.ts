/** Notice of a change of a job, for people outside the cluster: from the job's object before and after. Pure. */
import { type AnyJob, type JobKind, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import {
  earlyStopOf,
  endOf,
  failureOf,
  restartOf,
  shouldProgress,
  shownStateOf,
  stallOf,
} from "../../crds/job_state.ts";
import { restartText } from "../../crds/job_restart.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";

/** What is told of a job. */
export const NOTIFIED_EVENTS = [
  EVENT_REASONS.stalled,
  EVENT_REASONS.progressResumed,
  EVENT_REASONS.restarted,
  "Failed",
  "Complete",
  EVENT_REASONS.earlyStopped,
] as const;
export type NotifiedEvent = typeof NOTIFIED_EVENTS[number];

/** A notice. */
export interface JobNotice {
  /** The same for all who find the change: receivers know by it what they have. */
  readonly id: string;
  readonly event: NotifiedEvent;
  readonly job: JobRef;
  readonly state: string;
  /** When it happened; of a stall when the job last made progress, of a restart when it was decided. RFC 3339. */
  readonly since: string;
  /** What a tenant's program or object says of it. */
  readonly text: string | undefined;
}

/** What an object says that is told. */
interface Fact extends Pick<JobNotice, "event" | "since" | "text"> {
  /** When it was known. */
  readonly time: string;
}

/** Times are written by others: what is none is the beginning of time. */
const timeOf = (text: string | undefined) => rfc3339(Date.parse(text ?? "") || 0);

function endFact(kind: JobKind, job: AnyJob): Fact | undefined {
  const end = endOf(kind, job);
  if (end === undefined) return undefined;
  const types = kind.conditions.ends.map(({ type }) => type);
  const stop = earlyStopOf(kind, job);
  const condition = stop ?? trueCondition(job.status?.conditions, ...types);
  const since = timeOf(condition?.lastTransitionTime);
  const event = stop === undefined ? end : EVENT_REASONS.earlyStopped;
  const headline = event === "Failed" ? failureOf(job)?.headline : undefined;
  const text = event === "Complete" ? undefined : headline ?? condition?.message;
  return { event, since, time: since, text };
}

function stallFact(job: AnyJob): Fact | undefined {
  const stall = stallOf(job);
  return stall && {
    event: EVENT_REASONS.stalled,
    since: timeOf(stall.since),
    time: timeOf(stall.time ?? stall.since),
    text: stall.message,
  };
}

function restartFact(job: AnyJob): Fact | undefined {
  const restart = restartOf(job);
  const since = timeOf(restart?.time);
  return restart &&
    { event: EVENT_REASONS.restarted, since, time: since, text: restartText(restart) };
}

/** What the object of a job says; of one that has ended only that. */
function factsOf(kind: JobKind, job: AnyJob): Fact[] {
  const end = endFact(kind, job);
  const facts = end === undefined ? [restartFact(job), stallFact(job)] : [end];
  return facts.filter((it) => it !== undefined);
}

function newFact(kind: JobKind, before: AnyJob | undefined, job: AnyJob): Fact | undefined {
  const [was, is] = [before ? factsOf(kind, before) : [], factsOf(kind, job)];
  const news = is.filter(({ event, since }) =>
    !was.some((it) => it.event === event && it.since === since)
  );
  const newest = news.toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time)).at(-1);
  if (newest !== undefined) return newest;
  const stall = was.find(({ event }) => event === EVENT_REASONS.stalled);
  // Of a job that was stalled, and is suspended, restarted, stopped or deleted now, nobody knows whether it went on.
  const goesOn = stall !== undefined && stallFact(job) === undefined && shouldProgress(kind, job);
  return goesOn ? { ...stall, event: EVENT_REASONS.progressResumed, text: undefined } : undefined;
}

/**
 * Returns the notice of a change; undefined if it is none to be told. `before` is undefined if nobody here saw the job
 * before: then what happened by `afterMs`, in milliseconds since the epoch, is not told.
 */
export function noticeOfChange(
  kind: JobKind,
  { before, job, afterMs }: {
    readonly before: AnyJob | undefined;
    readonly job: AnyJob;
    readonly afterMs: number;
  },
): JobNotice | undefined {
  const fact = newFact(kind, before, job);
  if (fact === undefined) return undefined;
  const { time, ...told } = fact;
  if (before === undefined && Date.parse(time) <= afterMs) return undefined;
  const ref = jobRefOf(kind, job);
  const id = `${ref.uid}-${told.event}-${told.since}`;
  return { ...told, id, job: ref, state: shownStateOf(kind, job) };
}
