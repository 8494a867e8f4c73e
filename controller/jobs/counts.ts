/** Counts of a v1 job's pods by replica type, in the status and for its verdict. Pure. */
import { formatIndexes } from "../../crds/completion_indexes.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { ReplicaStatus, V1Status } from "../../crds/v1/job.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { type Counts, NO_PODS, type PodsByType } from "./kind_rules.ts";
import { replicaLabels } from "./owner.ts";
import type { Replicas, Run } from "./run.ts";
import { isTerminating, judgeFailedPod, planPodSlots } from "./slots.ts";

/** A pod that is being deleted while it runs is neither active any more, nor a failure that anything follows from. */
function count(tally: typeof NO_PODS, run: Run, of: Replicas, pod: Pod): void {
  const phase = pod.status?.phase;
  const isDrained = phase === "Running" && isTerminating(pod);
  if (phase === "Running" && !isDrained) tally.active += 1;
  if (phase === "Succeeded") tally.succeeded += 1;
  if (isDrained) tally.drained += 1;
  if (isDrained || phase === "Failed") tally.failed += 1;
  if (phase !== "Failed" || isTerminating(pod)) return;
  tally[judgeFailedPod(run, of, pod) === "permanent" ? "permanent" : "toRestart"] += 1;
}

/** Returns the pods grouped by type and index, with the counts of each type. */
export function groupPods(run: Run, pods: readonly Pod[]): PodsByType {
  const plans = new Map(
    run.replicas.map((of) => [of.type, { of, plan: planPodSlots(run, of, pods) }]),
  );
  const counts = new Map([...plans].map(([type, { of, plan }]): [string, Counts] => {
    const tally = { ...NO_PODS };
    for (const { pod } of plan.single) count(tally, run, of, pod);
    // Their pods were collected since.
    tally.succeeded += plan.missing.length - plan.wanted.length;
    return [type, tally];
  }));
  const podsOf = (type: string) => plans.get(type)?.plan.single ?? [];
  return {
    counts,
    completed: new Map([...plans].map(([type, { plan }]) => [type, plan.completed])),
    pods: podsOf,
    pod: (type, index) => podsOf(type).find((it) => it.index === index)?.pod,
  };
}

/** Returns the indexes of the status that have succeeded; types without any are left out. */
export function completedTexts(
  { completed }: Pick<PodsByType, "completed">,
): Record<string, string> {
  const texts = [...completed].map(([type, indexes]) => [type, formatIndexes(indexes)] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== ""));
}

/** The label selector of a type's pods, as the subresource `scale` has it. */
function selectorOf(run: Run, of: Replicas): string {
  const labels = replicaLabels(run, { of, index: 0 });
  return [V1_LABELS.jobName, V1_LABELS.operatorName, V1_LABELS.replicaType]
    .map((key) => `${key}=${labels[key]}`).join();
}

/** Returns the counters of the status; those of zero are left out. */
export function replicaStatuses(
  run: Run,
  { counts }: Pick<PodsByType, "counts">,
): NonNullable<V1Status["replicaStatuses"]> {
  return Object.fromEntries(run.replicas.map((of): [string, ReplicaStatus] => {
    const { active = 0, succeeded = 0, failed = 0 } = counts.get(of.type) ?? {};
    return [of.type, {
      ...(active > 0 && { active }),
      ...(succeeded > 0 && { succeeded }),
      ...(failed > 0 && { failed }),
      ...(run.kind.scalable && { selector: selectorOf(run, of) }),
    }];
  }));
}
