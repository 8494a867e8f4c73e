/** Gangs of the coscheduling plugin of kubernetes-sigs/scheduler-plugins. */
import { COSCHEDULING } from "../../../crds/gang_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Gang } from "../policy.ts";
import { joinGroup, podGroup, type PodMarks } from "./pod_group.ts";

/** Time that a pod may wait for the rest of its group, if the runtime sets none, as the schema says. */
const TIMEOUT_SECONDS = 60;

/** Returns the metadata of a pod with the label of its group. */
export const memberOfCoscheduling = (pod: PodMarks | undefined, group: string): PodMarks => ({
  ...pod,
  labels: { ...pod?.labels, [COSCHEDULING.podGroupLabel]: group },
});

export const coscheduling: Gang = {
  apply: (draft) => joinGroup(draft, memberOfCoscheduling),
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
