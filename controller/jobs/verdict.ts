/** Verdict on a v1 job: the conditions and events that follow from its pods. Pure. */
import type { EventText } from "../../platform/kube/event_object.ts";
import { V1_CONDITIONS } from "../../crds/v1/names.ts";
import type { NewCondition } from "./condition_list.ts";
import type { KindRules, PodsByType } from "./kind_rules.ts";
import type { Run } from "./run.ts";

/** An event that is recorded once, however often a pass finds its cause. */
export interface Notice extends EventText {
  /** UID of the pod that it is about; the next pod of that name has notices of its own. */
  readonly pod?: string | undefined;
  /** What it is told once of. Default: its message. */
  readonly once?: string;
}

/** What a pass found. */
export interface Verdict {
  /** To be set in this order. */
  readonly conditions: readonly NewCondition[];
  readonly events: readonly EventText[];
  /** How the job ended, if it did. */
  readonly end?: "Succeeded" | "Failed";
}

/** Failed pods of one type. */
export interface FailedPods {
  readonly type: string;
  readonly count: number;
}

/** What was found of the failed pods before the types are judged. */
export interface Failures {
  /** Types of which pods are to be made again, or still end for that. */
  readonly restarting: readonly FailedPods[];
  /** The types of which a pod ended with an exit code that ends the job at once. */
  readonly permanentExit: readonly string[];
}

/** Returns the reason of a condition or event, such as `TFJobRunning`. */
export function reasonOf({ kind }: Pick<Run, "kind">, suffix: string): string {
  return `${kind.kind}${suffix}`;
}

function condition(
  run: Run,
  type: NewCondition["type"],
  message: string,
  status: NewCondition["status"] = "True",
  suffix: string = type,
): NewCondition {
  return { type, status, reason: reasonOf(run, suffix), message };
}

/** Returns the condition that every job has first. */
export function createdCondition(run: Run): NewCondition {
  return condition(run, V1_CONDITIONS.created, `${run.kind.kind} ${run.name} is created.`);
}

/** Suffix of the reason for which a job is not begun. */
export const FAILED_VALIDATION = "FailedValidation";

/** Returns the condition of a job that is not begun, because admission would have refused it. */
export function refusedCondition(run: Run, message: string): NewCondition {
  return condition(run, V1_CONDITIONS.created, message, "False", FAILED_VALIDATION);
}

/** Returns the conditions of a job that is suspended: that it does not run, if it did, and that it is. */
export function suspendedConditions(run: Run): readonly [NewCondition, NewCondition] {
  const message = `${run.kind.kind} ${run.name} is suspended.`;
  return [
    condition(run, V1_CONDITIONS.running, message, "False", V1_CONDITIONS.suspended),
    condition(run, V1_CONDITIONS.suspended, message),
  ];
}

/** Returns the condition of a job that goes on. */
export function resumedCondition(run: Run): NewCondition {
  const message = `${run.kind.kind} ${run.name} is resumed.`;
  return condition(run, V1_CONDITIONS.suspended, message, "False", "Resumed");
}

/** Returns the condition of a job that a limit ends, such as its deadline. */
export function failedCondition(run: Run, message: string): NewCondition {
  return condition(run, V1_CONDITIONS.failed, message);
}

/** Name of the kind in messages about failed pods, as the operator writes it. */
function kindText({ kind }: Run): string {
  return kind.kind === "MXJob" ? "mxjob" : kind.kind;
}

function failureMessage(run: Run, { type, count }: FailedPods): string {
  const { kind, namespace, name } = run;
  const failed = kind.kind === "TFJob" ? `${namespace}/${name} has failed` : `${name} is failed`;
  return `${kindText(run)} ${failed} because ${count} ${type} replica(s) failed.`;
}

/** An exit code that forbids another try ends the job whatever else its pods do. */
function permanentExit(run: Run, type: string): Verdict {
  const message = `job "${run.name}" is failing because "${type}" replica(s) failed.`;
  const failed = failedCondition(run, message);
  return {
    conditions: [failed],
    events: [{ type: "Warning", reason: failed.reason, message }],
    end: "Failed",
  };
}

function restarting(run: Run, failures: readonly FailedPods[]): Verdict {
  const [first] = failures;
  if (first === undefined) return { conditions: [], events: [] };
  const message = `job ${run.name} is restarting because ${first.type} replica(s) failed.`;
  const wanted = condition(run, V1_CONDITIONS.restarting, message);
  return {
    conditions: [wanted],
    // Of a TFJob's types there is only the event about the pod.
    events: run.kind.kind === "TFJob" ? [] : failures.map(({ type, count }) => ({
      type: "Warning",
      reason: wanted.reason,
      message: `${
        kindText(run)
      } ${run.name} is restarting because ${count} ${type} replica(s) failed.`,
    })),
  };
}

function ended(run: Run, end: "Succeeded" | "Failed", message: string, before: NewCondition[]) {
  const wanted = condition(run, end, message);
  const event: EventText = { type: "Normal", reason: wanted.reason, message };
  return { conditions: [...before, wanted], events: [event], end };
}

/**
 * Returns the verdict. The types are asked in the order of the kind's table, each for its success before its
 * failures, and the first one that ends the job is the last one that is asked: what the job has become does not
 * depend on which pod was read first.
 */
export function verdictOf(
  run: Run,
  rules: KindRules,
  byType: PodsByType,
  failures: Failures,
): Verdict {
  const [exited] = failures.permanentExit;
  if (exited !== undefined) return permanentExit(run, exited);
  const who = rules.namesNamespace(run) ? `${run.namespace}/${run.name}` : run.name;
  const { kind } = run.kind;
  const before: NewCondition[] = [];
  for (const { type } of run.replicas) {
    const verdict = rules.judge(run, type, byType);
    if (verdict.succeeded) {
      const how = rules.namesNamespace(run) ? "" : "is ";
      return ended(run, "Succeeded", `${kind} ${who} ${how}successfully completed.`, before);
    }
    if (verdict.failed) {
      const count = byType.counts.get(type)?.failed ?? 0;
      return ended(run, "Failed", failureMessage(run, { type, count }), before);
    }
    if (verdict.running && failures.restarting.length === 0) {
      before.push(condition(run, V1_CONDITIONS.running, `${kind} ${who} is running.`));
    }
  }
  const restarts = restarting(run, failures.restarting);
  return { ...restarts, conditions: [...before, ...restarts.conditions] };
}
