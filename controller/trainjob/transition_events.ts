/** Events of a change of a TrainJob's status. Pure. */
import {
  EVENT_REASONS,
  TRAINJOB_CONDITIONS,
  TRAINJOB_MESSAGES,
  TRAINJOB_REASONS,
} from "../../crds/names.ts";
import type { Condition } from "../../platform/kube/kubernetes.ts";
import { isConditionTrue, trueCondition } from "../../platform/kube/conditions.ts";
import type { EventText } from "../../platform/kube/event_object.ts";
import type { OwnStatus } from "./status.ts";

/** The condition if it is True now and was not before. */
function arrived(old: OwnStatus, next: OwnStatus, type: string): Condition | undefined {
  if (isConditionTrue(old.conditions, type)) return undefined;
  return trueCondition(next.conditions, type);
}

/** Returns the job's failure if it has just failed; a job that is not supported is reported otherwise. */
export function newFailure(old: OwnStatus, next: OwnStatus): Condition | undefined {
  const failed = arrived(old, next, TRAINJOB_CONDITIONS.failed);
  return failed?.reason === TRAINJOB_REASONS.runtimeNotSupported ? undefined : failed;
}

/**
 * Returns the events of a change of the status from `old` to `next`, in the order in which things
 * happened. `cause` says what a failure began with.
 */
export function transitionEvents(
  old: OwnStatus,
  next: OwnStatus,
  cause: string | undefined,
): EventText[] {
  const { suspended, complete } = TRAINJOB_CONDITIONS;
  const events: EventText[] = [];
  const add = (reason: string, message: string, type: EventText["type"] = "Normal") =>
    void events.push({ type, reason, message });
  const goesOn = next.state === "Created" || next.state === "Running";
  if (
    goesOn && isConditionTrue(old.conditions, suspended) &&
    !isConditionTrue(next.conditions, suspended)
  ) {
    add(EVENT_REASONS.resumed, TRAINJOB_MESSAGES.resumed);
  }
  if (next.state === "Running" && old.state !== "Running") {
    add(EVENT_REASONS.running, "The first pod of the trainer step runs");
  }
  const suspension = arrived(old, next, suspended);
  if (suspension && next.state === "Suspended") add(EVENT_REASONS.suspended, suspension.message);
  const completion = arrived(old, next, complete);
  if (completion) add(EVENT_REASONS.completed, completion.message);
  const failure = newFailure(old, next);
  if (failure) {
    const first = cause === undefined ? "" : `; first failure: ${cause}`;
    add(EVENT_REASONS.failed, `${failure.message}${first}`, "Warning");
  }
  return events;
}
