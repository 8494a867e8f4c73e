/** Condition that ended a JobSet. Pure. */
import type { JobSetStatus } from "../../../crds/jobset.ts";
import { JOBSET_CONDITIONS } from "../../../crds/jobset_names.ts";
import type { Condition } from "../../../platform/kube/kubernetes.ts";

/** Returns the condition that ended the JobSet, if there is one. */
export function terminalCondition(status: JobSetStatus | undefined): Condition | undefined {
  return status?.conditions?.find(({ type, status }) =>
    status === "True" &&
    (type === JOBSET_CONDITIONS.completed || type === JOBSET_CONDITIONS.failed)
  );
}
