/** Condition that ended a JobSet. Pure. */
import type { JobSetStatus } from "../../../crds/jobset.ts";
import { JOBSET_CONDITIONS } from "../../../crds/jobset_names.ts";
import { trueCondition } from "../../../platform/kube/conditions.ts";
import type { Condition } from "../../../platform/kube/kubernetes.ts";

/** Returns the condition that ended the JobSet, if there is one. */
export function terminalCondition(status: JobSetStatus | undefined): Condition | undefined {
  return trueCondition(status?.conditions, JOBSET_CONDITIONS.completed, JOBSET_CONDITIONS.failed);
}
