/** Status of a pod, as the kubelet writes it into the Pod object. Pure. */
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { POD_CONDITIONS, POD_REASONS } from "../../crds/pod_names.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { setCondition } from "../../platform/kube/conditions.ts";
import { allContainers, containerStatuses } from "../../crds/pod_containers.ts";
import {
  type ContainerView,
  type Ended,
  type Plan,
  type RestartPolicy,
  startsAgain,
} from "./pod_plan.ts";

/** `status` of a pod. */
export type PodStatus = NonNullable<Pod["status"]>;
type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];
type ContainerState = NonNullable<ContainerStatus["state"]>;
type Conditions = NonNullable<PodStatus["conditions"]>;

/** Input of the status. */
export interface StatusInput {
  readonly pod: Pod;
  readonly containers: readonly ContainerView[];
  readonly plan: Pick<Plan, "phase" | "initialized">;
  readonly restartPolicy: RestartPolicy;
  /** Why the pod as a whole failed, such as its deadline. */
  readonly failure?: { readonly reason: string; readonly message: string };
  /** An end that is not the pod's own fault, which a condition shows to Job controllers. */
  readonly disruption?: string;
  readonly podIP: string;
  readonly hostIP: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly now: number;
}

/** A container's id: it changes with each start. */
function containerId(pod: Pod, view: ContainerView): string {
  return `process://${pod.metadata?.uid ?? ""}/${view.name}/${view.restarts}`;
}

function terminated(ended: Ended, containerID: string): ContainerState {
  return {
    terminated: {
      exitCode: ended.exitCode,
      reason: ended.reason,
      ...(ended.message ? { message: ended.message } : {}),
      startedAt: rfc3339(ended.startedAt),
      finishedAt: rfc3339(ended.finishedAt),
      containerID,
    },
  };
}

/** The state of a container; the back-off before a restart is a waiting state. */
function stateOf(input: StatusInput, view: ContainerView, id: string): ContainerState {
  const { phase } = view;
  if (phase.kind === "running") return { running: { startedAt: rfc3339(phase.startedAt) } };
  if (phase.kind === "waiting") {
    return {
      waiting: { reason: phase.reason, ...(phase.message ? { message: phase.message } : {}) },
    };
  }
  const live = input.plan.phase === "Running" || input.plan.phase === "Pending";
  const again = live && startsAgain(view.role, phase.ended.exitCode, input.restartPolicy);
  if (!again || view.notBefore <= input.now) return terminated(phase.ended, id);
  const seconds = Math.ceil((view.notBefore - phase.ended.finishedAt) / 1000);
  const message = `back-off ${seconds}s restarting failed container=${view.name}`;
  return { waiting: { reason: POD_REASONS.crashLoopBackOff, message } };
}

function containerStatus(input: StatusInput, view: ContainerView): ContainerStatus {
  const image = allContainers(input.pod).find(({ name }) => name === view.name)?.image ?? "";
  const id = containerId(input.pod, view);
  const state = stateOf(input, view, id);
  const last = state.waiting && view.phase.kind === "ended" ? view.phase.ended : view.last;
  const begun = view.phase.kind !== "waiting";
  return {
    name: view.name,
    image,
    imageID: "",
    ready: view.role === "init"
      ? view.phase.kind === "ended" && view.phase.ended.exitCode === 0
      : view.ready,
    started: view.started,
    restartCount: view.restarts,
    state,
    ...(last ? { lastState: terminated(last, id) } : {}),
    ...(begun ? { containerID: id } : {}),
  };
}

/** The conditions that the kubelet keeps; those of others stay. */
function conditionsOf(input: StatusInput): Conditions {
  const now = rfc3339(input.now);
  const over = input.plan.phase === "Succeeded" || input.plan.phase === "Failed";
  const working = input.containers.filter((view) => view.role !== "init");
  const unready = working.filter((view) => !view.ready).map((view) => view.name);
  const list = (names: string[]) => `[${names.join(" ")}]`;
  const waiting = input.containers.filter((view) =>
    view.role !== "main" && (view.role === "sidecar" ? !view.started : view.phase.kind !== "ended")
  ).map((view) => view.name);
  let conditions: Conditions = input.pod.status?.conditions ?? [];
  const set = (type: string, good: boolean, reason: string, message: string) => {
    const status = good ? "True" as const : "False" as const;
    const update = { type, status, reason: good ? "" : reason, message: good ? "" : message };
    conditions = setCondition(conditions, update, now);
  };
  set(POD_CONDITIONS.scheduled, true, "", "");
  set(
    POD_CONDITIONS.initialized,
    input.plan.initialized || input.plan.phase === "Succeeded",
    POD_REASONS.notInitialized,
    `containers with incomplete status: ${list(waiting)}`,
  );
  const ready = input.plan.phase === "Running" && unready.length === 0;
  const reason = over ? POD_REASONS.completed : POD_REASONS.notReady;
  const message = over ? "" : `containers with unready status: ${list(unready)}`;
  set(POD_CONDITIONS.containersReady, ready, reason, message);
  set(POD_CONDITIONS.ready, ready, reason, message);
  if (input.disruption !== undefined) {
    conditions = setCondition(conditions, {
      type: POD_CONDITIONS.disruptionTarget,
      status: "True",
      reason: POD_REASONS.terminatedByKubelet,
      message: input.disruption,
    }, now);
  }
  return conditions;
}

/** A pod that failed before any container: its own reason is what `kubectl get` must show. */
function neverBegan({ failure, containers }: StatusInput): boolean {
  return failure !== undefined &&
    containers.every(({ phase, restarts }) => phase.kind === "waiting" && restarts === 0);
}

/** The status of the pod, whole but for what others write (`qosClass`, foreign conditions). */
export function podStatus(input: StatusInput): PodStatus {
  const { containers, failure, podIP, hostIP } = input;
  const main = containers.filter((view) => view.role === "main");
  const init = containers.filter((view) => view.role !== "main");
  return {
    phase: input.plan.phase,
    ...(failure ? { reason: failure.reason, message: failure.message } : {}),
    conditions: conditionsOf(input),
    podIP,
    podIPs: [{ ip: podIP }],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    startTime: rfc3339(input.startedAt),
    containerStatuses: neverBegan(input) ? [] : main.map((view) => containerStatus(input, view)),
    ...(init.length > 0
      ? { initContainerStatuses: init.map((view) => containerStatus(input, view)) }
      : {}),
  };
}

/** The end in a container status, as the kubelet's own value. */
function endedOf(state: ContainerState | undefined, now: number): Ended | undefined {
  const told = state?.terminated;
  if (!told) return undefined;
  return {
    exitCode: told.exitCode,
    reason: told.reason ?? POD_REASONS.containerError,
    message: told.message,
    startedAt: told.startedAt ? Date.parse(told.startedAt) : now,
    finishedAt: told.finishedAt ? Date.parse(told.finishedAt) : now,
  };
}

/** The end of a container that was running when the kubelet ended. */
export const INTERRUPTED =
  "Milepost ended or was killed while this ran; its next start ended what was left of the processes";

/**
 * Reads the container status of an earlier kubelet: state, restarts and last end. A container that ran
 * then has ended with 137, because processes are not taken over. Undefined if nothing was written.
 */
export function recall(
  pod: Pod,
  name: string,
  now: number,
): (Pick<ContainerView, "phase" | "restarts" | "last"> & { interrupted: boolean }) | undefined {
  const told = containerStatuses(pod).find((status) => status.name === name);
  if (!told) return undefined;
  const last = endedOf(told.lastState, now);
  const base = { restarts: told.restartCount, last };
  const running = told.state?.running;
  if (running) {
    const startedAt = running.startedAt ? Date.parse(running.startedAt) : now;
    const ended: Ended = {
      exitCode: 137,
      reason: POD_REASONS.terminatedByKubelet,
      message: INTERRUPTED,
      startedAt,
      finishedAt: now,
    };
    return { ...base, phase: { kind: "ended", ended }, interrupted: true };
  }
  const ended = endedOf(told.state, now);
  if (ended) return { ...base, phase: { kind: "ended", ended }, interrupted: false };
  const crashed = told.state?.waiting?.reason === POD_REASONS.crashLoopBackOff ? last : undefined;
  if (crashed) return { ...base, phase: { kind: "ended", ended: crashed }, interrupted: false };
  const reason = told.state?.waiting?.reason ?? POD_REASONS.containerCreating;
  return { ...base, phase: { kind: "waiting", reason }, interrupted: false };
}

/** Returns the containers whose next start is put off, with what a kubelet says of each. */
export function backOffsOf(
  { metadata: { name, namespace, uid } = {} }: Pod,
  status: PodStatus,
) {
  return containerStatuses({ status })
    .filter(({ state }) => state?.waiting?.reason === POD_REASONS.crashLoopBackOff)
    .map(({ name: container, restartCount: restarts }) => ({
      container,
      restarts,
      message:
        `Back-off restarting failed container ${container} in pod ${name}_${namespace}(${uid})`,
    }));
}
