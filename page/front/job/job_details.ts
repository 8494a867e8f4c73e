/** Details of one job: object, pods and events as the server gives them, and conditions in words. Pure. */
import { fieldsOf, listOf, numberOf, textOf, timeOf } from "../feed/view_answers_read.ts";

/** A pod of the job. */
export interface Pod {
  readonly name: string;
  readonly rank: string;
  readonly phase: string;
  readonly reason: string;
  readonly node: string;
  readonly restarts: number;
  readonly containers: readonly string[];
}

/** An event of the job or of its pods. */
export interface JobEvent {
  readonly timeMs: number | undefined;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly about: string;
  readonly count: number;
}

/** A condition of the job. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number | undefined;
}

/** A decision to stop the job. */
export interface Stop {
  readonly reason: string;
  readonly message: string;
  readonly user: string;
  readonly timeMs: number;
  readonly graceSeconds: number;
}

/** Parts of the details that may be denied to the viewer, or cut off. */
export type DetailPart = "pods" | "events";

/** Details of a job. */
export interface JobDetails {
  readonly uid: string;
  readonly object: unknown;
  readonly pods: readonly Pod[];
  readonly events: readonly JobEvent[];
  /** What the viewer may not read: there is nothing of it here. */
  readonly denied: ReadonlySet<DetailPart>;
  /** What there is more of than this. */
  readonly cut: ReadonlySet<DetailPart>;
  readonly conditions: readonly Condition[];
  readonly stop: Stop | undefined;
  readonly isSuspended: boolean;
}

const byRank = (a: Pod, b: Pod) =>
  a.rank.localeCompare(b.rank, "en", { numeric: true }) ||
  a.name.localeCompare(b.name, "en", { numeric: true });

function podOf(value: unknown): Pod {
  const it = fieldsOf(value);
  return {
    name: textOf(it.name),
    rank: textOf(it.rank),
    phase: textOf(it.phase),
    reason: textOf(it.reason),
    node: textOf(it.node),
    restarts: numberOf(it.restarts) ?? 0,
    containers: listOf(it.containers).map((name) => textOf(name) || textOf(fieldsOf(name).name)),
  };
}

/** Reads an event, as the server's short form or as `core/v1` has it. */
function eventOf(value: unknown): JobEvent {
  const it = fieldsOf(value);
  const series = fieldsOf(it.series);
  const about = fieldsOf(it.involvedObject);
  return {
    timeMs: [
      it.time,
      series.lastObservedTime,
      it.lastTimestamp,
      it.eventTime,
      it.firstTimestamp,
      fieldsOf(it.metadata).creationTimestamp,
    ].map(timeOf).find((time) => time !== undefined),
    type: textOf(it.type),
    reason: textOf(it.reason),
    message: textOf(it.message),
    about: textOf(it.object) || [about.kind, about.name].map(textOf).filter(Boolean).join("/"),
    count: numberOf(series.count) ?? numberOf(it.count) ?? 1,
  };
}

function stopOf(value: unknown): Stop | undefined {
  const it = fieldsOf(value);
  const time = timeOf(it.time);
  if (time === undefined) return undefined;
  return {
    reason: textOf(it.reason),
    message: textOf(it.message),
    user: textOf(it.user),
    timeMs: time,
    graceSeconds: numberOf(it.graceSeconds) ?? 0,
  };
}

const partsOf = (value: unknown): ReadonlySet<DetailPart> =>
  new Set((["pods", "events"] as const).filter((part) => listOf(value).includes(part)));

/** Reads the details. */
export function readDetails(value: unknown): JobDetails {
  const { object, pods, events, denied, cut } = fieldsOf(value);
  const { metadata, spec, status } = fieldsOf(object);
  const { conditions, stop } = fieldsOf(status);
  const runPolicy = fieldsOf(fieldsOf(spec).runPolicy);
  return {
    uid: textOf(fieldsOf(metadata).uid),
    object,
    denied: partsOf(denied),
    cut: partsOf(cut),
    pods: listOf(pods).map(podOf).sort(byRank),
    events: listOf(events).map(eventOf).sort((a, b) => (b.timeMs ?? 0) - (a.timeMs ?? 0)),
    conditions: listOf(conditions).map(fieldsOf).map((it) => ({
      type: textOf(it.type),
      status: textOf(it.status),
      reason: textOf(it.reason),
      message: textOf(it.message),
      sinceMs: timeOf(it.lastTransitionTime),
    })),
    stop: stopOf(stop),
    isSuspended: fieldsOf(spec).suspend === true || runPolicy.suspend === true,
  };
}

/** What a condition says if it is True, and if not. */
const WORDS: ReadonlyMap<string, readonly [yes: string, no: string]> = new Map([
  ["Created", ["The job has been taken up", "The job has not been taken up"]],
  ["Queuing", ["The job waits for room", "The job does not wait for room"]],
  ["Running", ["The job runs", "The job does not run"]],
  ["Restarting", ["The job is being restarted", "The job is not being restarted"]],
  ["Suspended", ["The job is suspended", "The job is not suspended"]],
  ["Complete", ["The job has completed", "The job has not completed"]],
  ["Succeeded", ["The job has completed", "The job has not completed"]],
  ["Failed", ["The job has failed", "The job has not failed"]],
  ["EarlyStopped", ["The job was stopped early", "The job was not stopped early"]],
]);

/** Returns what a condition says, as a sentence without its end. */
export function conditionWords({ type, status }: Pick<Condition, "type" | "status">): string {
  const words = WORDS.get(type);
  if (status === "True") return words?.[0] ?? `${type} holds`;
  if (status === "False") return words?.[1] ?? `${type} does not hold`;
  return `Whether ${type} holds is not known`;
}

/** What the viewer may do. */
export const ACTIONS = ["suspend", "resume", "stop", "delete"] as const;
/** A change of a job. */
export type Action = typeof ACTIONS[number];
/** The rights of the viewer over a job. */
export type Rights = ReadonlySet<Action | "logs">;

/** Reads the rights. */
export function readRights(value: unknown): Rights {
  const it = fieldsOf(value);
  return new Set(([...ACTIONS, "logs"] as const).filter((name) => it[name] === true));
}

const ENDED: readonly string[] = ["Complete", "Failed", "EarlyStopped"];

/** Returns the changes that make sense in a state and that the viewer may make. */
export function actionsOf(
  rights: Rights,
  state: string,
  { isSuspended, stop }: Pick<JobDetails, "isSuspended" | "stop">,
): readonly Action[] {
  const isOver = ENDED.includes(state);
  const fits: Readonly<Record<Action, boolean>> = {
    suspend: !isOver && !isSuspended && stop === undefined,
    resume: !isOver && isSuspended,
    stop: !isOver && stop === undefined,
    delete: true,
  };
  return ACTIONS.filter((action) => fits[action] && rights.has(action));
}
