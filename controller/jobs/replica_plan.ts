/** Plan for the replicas of a job: which pods and Services are made, deleted and made again. Pure. */
import type { EventText } from "../../platform/kube/event_object.ts";
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import { V1_CONDITIONS } from "../../crds/v1/names.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import type { Replica, Replicas, Run } from "./run.ts";
import { isTerminating, judgeFailedPod, planPodSlots, planSlots } from "./slots.ts";
import { type Failures, reasonOf } from "./verdict.ts";

/** What the replicas need. */
export interface ReplicaPlan extends Failures {
  readonly createPods: readonly Replica[];
  /** Replicas that have succeeded and whose pods are gone: no members of a pod group any more. */
  readonly collected: number;
  readonly createServices: readonly Replica[];
  readonly deletePods: readonly Pod[];
  readonly deleteServices: readonly Service[];
  /** Of {@link deletePods} those that failed and are made again. */
  readonly recreated: readonly Pod[];
  readonly events: readonly EventText[];
  readonly notices: readonly EventText[];
}

/** Whether an exit code may end the job at once. The pods of an MPIJob are judged without regard to exit codes. */
const endsByExitCode = ({ kind }: Run, { restartPolicy }: Replicas) =>
  restartPolicy === "ExitCode" && kind.kind !== "MPIJob";

const isFailed = ({ status }: Pod) => status?.phase === "Failed";

function planPods(run: Run, of: Replicas, pods: readonly Pod[]) {
  const { missing, wanted, surplus, single, crowded } = planPodSlots(run, of, pods);
  const all = single.map(({ pod }) => pod).filter(isFailed);
  const toRestart = all.filter((pod) => judgeFailedPod(run, of, pod) === "restart");
  const failed = toRestart.filter((pod) => !isTerminating(pod));
  const restarts = failed.length > 0 ||
    isConditionTrue(run.status.conditions, V1_CONDITIONS.restarting);
  return {
    create: wanted.map((index) => ({ of, index })),
    /** Number of the replicas without a pod that have succeeded. */
    collected: missing.length - wanted.length,
    surplus: surplus.filter((pod) => !isTerminating(pod)),
    failed,
    /** Failed pods that are made again, and those that still end for that; none of a job that was suspended. */
    restarting: { type: of.type, count: restarts ? toRestart.length : 0 },
    exited: endsByExitCode(run, of) &&
      all.some((pod) => !isTerminating(pod) && judgeFailedPod(run, of, pod) === "permanent"),
    crowded,
  };
}

function restartEvent(run: Run, type: string): EventText {
  const message = `job ${run.name} is restarting because ${type} replica(s) failed.`;
  return { type: "Warning", reason: reasonOf(run, "Restarting"), message };
}

function crowdedNotice(run: Run, of: Replicas, index: number): EventText {
  const message = `We have too many pods for ${of.type.toLowerCase()} ${index}`;
  return { type: "Warning", reason: reasonOf(run, "TooManyPods"), message };
}

/** Returns the plan. Types whose failed pods are made again, or for the end of the job, are named. */
export function planReplicas(
  run: Run,
  { pods, services }: { readonly pods: readonly Pod[]; readonly services: readonly Service[] },
): ReplicaPlan {
  const types = run.replicas.map((of) => ({ of, plan: planPods(run, of, pods) }));
  const ofServices = run.kind.port === undefined
    ? []
    : run.replicas.map((of) => ({ of, plan: planSlots(run, of, services) }));
  const recreated = types.flatMap(({ plan }) => plan.failed);
  return {
    createPods: types.flatMap(({ plan }) => plan.create),
    collected: types.reduce((sum, { plan }) => sum + plan.collected, 0),
    createServices: ofServices.flatMap(({ of, plan }) =>
      plan.missing.map((index) => ({ of, index }))
    ),
    deletePods: [...types.flatMap(({ plan }) => plan.surplus), ...recreated],
    deleteServices: ofServices.flatMap(({ plan }) => plan.surplus),
    recreated,
    restarting: types.map(({ plan }) => plan.restarting).filter(({ count }) => count > 0),
    permanentExit: types.filter(({ plan }) => plan.exited).map(({ of }) => of.type),
    events: types.filter(({ plan }) => plan.failed.length > 0)
      .map(({ of }) => restartEvent(run, of.type)),
    notices: types.flatMap(({ of, plan }) =>
      plan.crowded.map((index) => crowdedNotice(run, of, index))
    ),
  };
}
