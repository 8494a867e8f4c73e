/** Gangs of the coscheduling plugin of kubernetes-sigs/scheduler-plugins. */
import { COSCHEDULING } from "../../../crds/gang_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { type Draft, jobsOf } from "../draft.ts";
import type { Gang } from "../policy.ts";
import { podGroup } from "./pod_group.ts";

/** Time that a pod may wait for the rest of its group, if the runtime sets none, as the schema says. */
const TIMEOUT_SECONDS = 60;

/** Labels every pod with the group, which has the TrainJob's name. */
function apply(draft: Draft): void {
  const { name = "" } = draft.trainJob.metadata;
  for (const job of jobsOf(draft)) {
    const template = job.template.spec?.template;
    if (!template) continue;
    const labels = { ...template.metadata?.labels, [COSCHEDULING.podGroupLabel]: name };
    template.metadata = { ...template.metadata, labels };
  }
}

export const coscheduling: Gang = {
  apply,
  marks: ({ labels }) => labels?.[COSCHEDULING.podGroupLabel] !== undefined,
  children: (draft, progress) => {
    const settings = draft.runtime.podGroupPolicy?.coscheduling;
    const scheduleTimeoutSeconds = settings?.scheduleTimeoutSeconds ?? TIMEOUT_SECONDS;
    return [podGroup(draft, progress, {
      kind: KINDS.coschedulingPodGroup,
      // The scheduler's cache holds no pod that has ended.
      countsSucceeded: false,
      spec: { scheduleTimeoutSeconds },
    })];
  },
  rules: [{
    apiGroups: [COSCHEDULING.group],
    resources: [KINDS.coschedulingPodGroup.plural],
    verbs: ["get", "list", "watch", "create", "patch"],
  }],
};
