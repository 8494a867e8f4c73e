/** Details of one job: object, pods and events as the server gives them. Pure. */
import type {
  DetailPart,
  JobDetails as SentDetails,
  JobRights,
  ShownEvent,
  ShownPod,
} from "../../../crds/wire/details.ts";
import type { Row } from "../feed/view_answers_read.ts";
import { ENDED } from "../url_state.ts";
import {
  countOf,
  fields,
  type FieldsOf,
  listWith,
  numberOf,
  readSettings,
  textOf,
  timeOf,
} from "../feed/answer_fields.ts";
import { asList, asObject } from "../../../platform/base/json.ts";

const podOf = fields(
  {
    name: textOf,
    rank: textOf,
    phase: textOf,
    reason: textOf,
    node: textOf,
    restarts: countOf,
    exitCode: numberOf,
    containers: listWith(textOf),
    gone: (value: unknown) => value === true,
  } satisfies FieldsOf<ShownPod>,
);
/** A pod of the job. */
export type Pod = ReturnType<typeof podOf>;

/** Returns whether a pod writes nothing any more. */
export const hasEnded = ({ phase, gone }: Pick<Pod, "phase" | "gone">): boolean =>
  gone || phase === "Succeeded" || phase === "Failed";

const eventOf = fields(
  {
    timeMs: timeOf,
    type: textOf,
    reason: textOf,
    message: textOf,
    object: textOf,
    count: countOf,
  } satisfies FieldsOf<ShownEvent>,
);

const conditionOf = fields(
  {
    type: textOf,
    status: textOf,
    reason: textOf,
    message: textOf,
    lastTransitionTimeMs: timeOf,
  },
);
/** A condition of the job. */
export type Condition = ReturnType<typeof conditionOf>;

const stopFields = fields(
  {
    reason: textOf,
    message: textOf,
    user: textOf,
    timeMs: timeOf,
    graceSeconds: countOf,
  },
);

/** A decision to stop the job. */
export type Stop = ReturnType<typeof stopFields> & { readonly timeMs: number };

function stopOf(value: unknown): Stop | undefined {
  const { timeMs, ...it } = stopFields(value);
  return timeMs === undefined ? undefined : { ...it, timeMs };
}

const partsOf = (value: unknown): ReadonlySet<DetailPart> =>
  new Set((["pods", "events"] as const).filter((part) => asList(value).includes(part)));

const detailFields = fields(
  {
    pods: listWith(podOf),
    events: listWith(eventOf),
    configuration: readSettings,
    wait: textOf,
    lastWords: textOf,
    nextRestart: numberOf,
  } satisfies FieldsOf<
    SentDetails
  >,
);

/** Details of a job. */
export type JobDetails = ReturnType<typeof readDetails>;

/** Reads the details. */
export function readDetails(value: unknown) {
  const { object, denied, cut, keepsLogs } = asObject(value);
  const { lastWords, ...parts } = detailFields(value);
  const { metadata, spec, status } = asObject(object);
  const { conditions, stop, startTime, restarts, restart, timeSpent } = asObject(status);
  return {
    uid: textOf(asObject(metadata).uid),
    object,
    /** When it was last started, if it says so; else when it was made. */
    startedMs: timeOf(startTime) ?? timeOf(asObject(metadata).creationTimestamp),
    /** What the viewer may not read: there is nothing of it here. */
    denied: partsOf(denied),
    /** What there is more of than this. */
    cut: partsOf(cut),
    /** What its pods wait for, empty if nothing, and the other parts. */
    ...parts,
    /** Whether logs outlive their pods. */
    keepsLogs: keepsLogs === true,
    conditions: asList(conditions).map(conditionOf),
    stop: stopOf(stop),
    /** How often it was started again as a whole. */
    restarts: Math.max(countOf(restarts), countOf(asObject(restart).count)),
    /** What its time went to, in seconds; it may be minutes old. */
    timeSpent,
    /** The end of the log of a program that failed; empty if that holds no more, or is no longer than its headline. */
    lastWords: lastWords.includes("\n") ? lastWords : "",
    isSuspended: asObject(spec).suspend === true ||
      asObject(asObject(spec).runPolicy).suspend === true,
  };
}

/** Returns what a job's details are read again for at once: another job of the name, its state, a restart that begins or is over. */
export const detailsKey = (row: Partial<Pick<Row, "uid" | "state" | "restartingSinceMs">> = {}) =>
  [row.uid, row.state, row.restartingSinceMs].join(" ");

/** Returns when a job without a condition gets one. */
export const conditionWait = (state: string | undefined): string =>
  state === "Running"
    ? "One comes when the job ends or is suspended."
    : "The controller of the job has reported none. One comes when the job ends, is suspended or cannot be run.";

/** A change of a job. */
export type Action = keyof JobRights;
/** What the viewer may do. */
export const ACTIONS: readonly Action[] = ["suspend", "resume", "restart", "stop", "delete"];
/** The rights of the viewer over a job. */
export type Rights = ReadonlySet<Action>;

/** Reads the rights. */
export function readRights(value: unknown): Rights {
  const it = asObject(value);
  return new Set(ACTIONS.filter((name) => it[name] === true));
}

/** Returns the changes that make sense in a state and that the viewer may make. */
export function actionsOf(
  rights: Rights,
  state: string,
  { isSuspended, stop, nextRestart }: Pick<JobDetails, "isSuspended" | "stop" | "nextRestart">,
): readonly Action[] {
  const isOver = ENDED.includes(state);
  const fits: Readonly<Record<Action, boolean>> = {
    suspend: !isOver && !isSuspended && stop === undefined,
    resume: !isOver && isSuspended,
    restart: !isOver && nextRestart !== undefined,
    stop: !isOver && stop === undefined,
    delete: true,
  };
  return ACTIONS.filter((action) => fits[action] && rights.has(action));
}
