/** Conditions of a JobSet, and the rules by which they change. */
import type { JobSetStatus } from "../../crds/jobset.ts";
import type { Condition } from "../../platform/kube/kubernetes.ts";
import { JOBSET_CONDITIONS as TYPES, JOBSET_REASONS as REASONS } from "../../crds/jobset_names.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import {
  type ConditionUpdate,
  findCondition,
  setCondition,
} from "../../platform/kube/conditions.ts";
import type { EventText } from "../../platform/kube/event_object.ts";

/** A status before it is written, and the events that are sent after that. */
export interface StatusDraft {
  readonly status: JobSetStatus;
  readonly events: readonly EventText[];
}

/** A wanted condition, and the type of the event that announces it. */
export type ConditionChange = ReturnType<typeof change>;

function change(
  type: string,
  status: ConditionUpdate["status"],
  [reason, message]: readonly [string, string],
  event: EventText["type"] = "Normal",
) {
  return { type, status, reason, message, event };
}

/** Every change of a JobSet's conditions, word for word as upstream's. */
export const CHANGES = {
  completed: change(TYPES.completed, "True", [
    REASONS.allJobsCompleted,
    "jobset completed successfully",
  ]),
  failed: (reason: string, message: string) =>
    change(TYPES.failed, "True", [reason, message], "Warning"),
  suspended: change(TYPES.suspended, "True", [REASONS.suspended, "jobset is suspended"]),
  resumed: change(TYPES.suspended, "False", [REASONS.resumed, "jobset is resumed"]),
  startupInProgress: change(TYPES.startupInProgress, "True", [
    REASONS.startupInProgress,
    "in order startup policy is in progress",
  ]),
  startupCompleted: change(TYPES.startupCompleted, "True", [
    REASONS.startupCompleted,
    "in order startup policy has completed",
  ]),
  restarting: (reason: string, message: string) =>
    change(TYPES.restarting, "True", [reason, message], "Warning"),
  jobsReady: change(TYPES.restarting, "False", [REASONS.jobsReady, "all jobs are ready"]),
  restartEndedByCompletion: change(TYPES.restarting, "False", [
    REASONS.restartEndedByCompletion,
    "jobset completed successfully",
  ]),
  restartEndedByFailure: change(TYPES.restarting, "False", [
    REASONS.restartEndedByFailure,
    "jobset failed",
  ]),
  restartEndedBySuspension: change(TYPES.restarting, "False", [
    REASONS.restartEndedBySuspension,
    "jobset is suspended",
  ]),
  refused: (reason: string, message: string) =>
    change(TYPES.refused, "True", [reason, message], "Warning"),
  accepted: change(TYPES.refused, "False", [REASONS.accepted, "the spec can be executed"]),
} as const;

/** The startup condition that becomes False when the other one becomes True. */
const OPPOSITE: Readonly<Record<string, string>> = {
  [TYPES.startupInProgress]: TYPES.startupCompleted,
  [TYPES.startupCompleted]: TYPES.startupInProgress,
};

function endOpposite(conditions: Condition[], type: string): Condition[] {
  const opposite = OPPOSITE[type];
  return conditions.map((condition) =>
    condition.type === opposite && condition.status === "True"
      ? { ...condition, status: "False" }
      : condition
  );
}

/**
 * Returns the draft with that condition. False is written over an existing condition only; equal words
 * change nothing and send no event; the transition time changes only with the status.
 */
export function withCondition(
  draft: StatusDraft,
  wanted: ConditionChange,
  now: number,
): StatusDraft {
  const { event, ...update } = wanted;
  const conditions = draft.status.conditions ?? [];
  const old = findCondition(conditions, update.type);
  if (old === undefined && update.status === "False") return draft;
  const changed = setCondition(conditions, update, rfc3339(now));
  if (changed === conditions) return draft;
  return {
    status: {
      ...draft.status,
      conditions: update.status === "True" ? endOpposite(changed, update.type) : changed,
    },
    events: [...draft.events, { type: event, reason: update.reason, message: update.message }],
  };
}

/** Returns the draft of a JobSet that has completed. */
export function withCompletion(draft: StatusDraft, now: number): StatusDraft {
  const completed = withCondition(draft, CHANGES.completed, now);
  const ended = withCondition(completed, CHANGES.restartEndedByCompletion, now);
  return { ...ended, status: { ...ended.status, terminalState: TYPES.completed } };
}

/** Returns the draft of a JobSet that has failed for that reason. */
export function withFailure(
  draft: StatusDraft,
  { reason, message }: { reason: string; message: string },
  now: number,
): StatusDraft {
  const failed = withCondition(draft, CHANGES.failed(reason, message), now);
  const ended = withCondition(failed, CHANGES.restartEndedByFailure, now);
  return { ...ended, status: { ...ended.status, terminalState: TYPES.failed } };
}
