/** `spec.podFailurePolicy`: the consequence of a failed pod for its Job (Kubernetes batch/v1). Pure. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { keyOf } from "../../../platform/kube/resource.ts";
import { containerStatuses } from "../../../crds/pod_containers.ts";
import type { PodFailureRule } from "../job_settings.ts";

/** The consequence of a failed pod: it counts, does not count, or ends the Job for that reason. */
export type PodVerdict =
  | { readonly action: "Count" | "Ignore" }
  | { readonly action: "FailJob"; readonly message: string };

type ExitCodes = NonNullable<PodFailureRule["onExitCodes"]>;

function exitCodeMatch(pod: Pod, { containerName, operator, values }: ExitCodes) {
  return containerStatuses(pod).find(({ name, state }) => {
    const exitCode = state?.terminated?.exitCode ?? 0;
    if (exitCode === 0) return false;
    if (containerName !== undefined && containerName !== name) return false;
    return operator === "In" ? values.includes(exitCode) : !values.includes(exitCode);
  });
}

/** How the rule matches, as words of the condition's message; undefined if it does not. */
function matchOf(pod: Pod, rule: PodFailureRule): string | undefined {
  if (rule.onExitCodes) {
    const container = exitCodeMatch(pod, rule.onExitCodes);
    return container &&
      `Container ${container.name} for pod ${
        keyOf(pod)
      } failed with exit code ${container.state?.terminated?.exitCode}`;
  }
  const condition = pod.status?.conditions?.find(({ type, status }) =>
    rule.onPodConditions?.some((pattern) =>
      pattern.type === type && (pattern.status ?? "True") === status
    )
  );
  return condition && `Pod ${keyOf(pod)} has condition ${condition.type}`;
}

/** The verdict of the first rule in order that matches; without one the pod counts. */
export function judgePod(pod: Pod, rules: readonly PodFailureRule[]): PodVerdict {
  for (const [index, rule] of rules.entries()) {
    const match = matchOf(pod, rule);
    if (match === undefined) continue;
    if (rule.action === "FailJob") {
      return {
        action: "FailJob",
        message: `${match} matching FailJob rule at index ${index}`,
      };
    }
    return { action: rule.action === "Ignore" ? "Ignore" : "Count" };
  }
  return { action: "Count" };
}
