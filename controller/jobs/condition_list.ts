/** List of a v1 job's conditions, as kubeflow/training-operator keeps it (`pkg/util/status.go`). */
import {
  type ConditionUpdate,
  findCondition,
  isConditionTrue,
} from "../../platform/kube/conditions.ts";
import type { V1Condition } from "../../crds/v1/job.ts";
import { V1_CONDITIONS, type V1ConditionType } from "../../crds/v1/names.ts";

/** A condition that is to be set. */
export interface NewCondition extends ConditionUpdate {
  readonly type: V1ConditionType;
}

/** Each takes the other's place. */
const OPPOSITES: Readonly<Partial<Record<V1ConditionType, V1ConditionType>>> = {
  [V1_CONDITIONS.restarting]: V1_CONDITIONS.running,
  [V1_CONDITIONS.running]: V1_CONDITIONS.restarting,
};
const ENDS: readonly string[] = [V1_CONDITIONS.succeeded, V1_CONDITIONS.failed];
/** What an ended job is not. */
const ENDED: readonly string[] = [V1_CONDITIONS.running, V1_CONDITIONS.restarting];

/** Whether the job has succeeded or failed. */
export function hasEnded(conditions: readonly V1Condition[] | undefined): boolean {
  return isConditionTrue(conditions, V1_CONDITIONS.succeeded, V1_CONDITIONS.failed);
}

/**
 * Returns the list with a condition. One with the same status and reason stays as it is, its message too; any other
 * goes to the end of the list, which is where `kubectl get` reads the state. Nothing changes once the job has failed.
 */
export function withCondition(
  conditions: readonly V1Condition[],
  wanted: NewCondition,
  now: string,
): readonly V1Condition[] {
  const known = findCondition(conditions, wanted.type);
  const isSame = known?.status === wanted.status && known.reason === wanted.reason;
  if (isSame || isConditionTrue(conditions, V1_CONDITIONS.failed)) return conditions;
  const since = known?.status === wanted.status ? known.lastTransitionTime ?? now : now;
  const replaced = wanted.status === "True" ? OPPOSITES[wanted.type] : undefined;
  const ends = wanted.status === "True" && ENDS.includes(wanted.type);
  const others = conditions
    .filter(({ type }) => type !== wanted.type && type !== replaced)
    .map((it) =>
      ends && ENDED.includes(it.type) && it.status === "True"
        ? { ...it, status: "False", lastUpdateTime: now, lastTransitionTime: now }
        : it
    );
  return [...others, { ...wanted, lastUpdateTime: now, lastTransitionTime: since }];
}
