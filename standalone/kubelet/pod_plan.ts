/** Plan of a pod: containers to start and to stop, and the pod's phase. Pure. */
import { type Backoff, exponentialMs } from "../../platform/base/backoff.ts";
import { soonest } from "../../platform/base/soonest.ts";

/** How a container's process ended. Times in milliseconds since the epoch. */
export interface Ended {
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** The state of a container. */
export type ContainerPhase =
  | { readonly kind: "waiting"; readonly reason: string; readonly message?: string }
  | { readonly kind: "running"; readonly startedAt: number }
  | { readonly kind: "ended"; readonly ended: Ended };

/** Init containers run to their end in order, sidecars beside everything, main ones in parallel. */
export type ContainerRole = "init" | "sidecar" | "main";

/** One container, as the plan and the status see it. */
export interface ContainerView {
  readonly name: string;
  readonly role: ContainerRole;
  readonly phase: ContainerPhase;
  /** How often it was started again. */
  readonly restarts: number;
  /** The end before the present state. */
  readonly last?: Ended;
  /** Runs, and its startup probe has passed. */
  readonly started: boolean;
  /** Started, and its readiness probe passes. */
  readonly ready: boolean;
  /** It is not started before this time, in milliseconds since the epoch. */
  readonly notBefore: number;
}

/** `spec.restartPolicy` of a pod. */
export type RestartPolicy = "Always" | "OnFailure" | "Never";
/** `status.phase` of a pod. */
export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/** The next actions. */
export interface Plan {
  readonly start: readonly string[];
  readonly stop: readonly string[];
  readonly phase: PodPhase;
  /** Every init container is through, every sidecar has started. */
  readonly initialized: boolean;
  /** Nothing runs and nothing will. */
  readonly done: boolean;
  /** Time of the next plan in milliseconds since the epoch, if nothing happens before. */
  readonly wakeAt?: number;
}

/** Input of the plan. */
export interface PodState {
  readonly restartPolicy: RestartPolicy;
  /** In the order of the pod: init containers and sidecars, then main containers. */
  readonly containers: readonly ContainerView[];
  /** Whether the pod must end because it is deleted or past its deadline. */
  readonly ending: boolean;
  readonly now: number;
}

const isRunning = (view: ContainerView) => view.phase.kind === "running";

/** Whether a container that has ended is started again. */
export function startsAgain(
  role: ContainerRole,
  exitCode: number,
  restartPolicy: RestartPolicy,
): boolean {
  if (role === "sidecar") return true;
  if (role === "init") return exitCode !== 0 && restartPolicy !== "Never";
  return restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
}

/** Whether a container has ended and stays so. */
function isOver(view: ContainerView, policy: RestartPolicy): boolean {
  return view.phase.kind === "ended" && !startsAgain(view.role, view.phase.ended.exitCode, policy);
}

/** Whether a container that is over has failed. */
function hasFailed(view: ContainerView): boolean {
  return view.phase.kind === "ended" && view.phase.ended.exitCode !== 0;
}

/** Stops what runs: main and init containers at once, then sidecars, the last first. */
function unwind(containers: readonly ContainerView[]): string[] {
  const running = containers.filter(isRunning);
  const first = running.filter((view) => view.role !== "sidecar");
  return (first.length > 0 ? first : running.slice(-1)).map((view) => view.name);
}

/** The phase of a pod that is ending or over. */
function lastPhase(containers: readonly ContainerView[]): PodPhase {
  const main = containers.filter((view) => view.role === "main");
  const good = main.every((view) => view.phase.kind === "ended" && !hasFailed(view));
  return good ? "Succeeded" : "Failed";
}

/** The plan of a pod that is to end. */
function endingPlan(state: PodState, initialized: boolean, running: PodPhase): Plan {
  const stop = unwind(state.containers);
  const done = stop.length === 0;
  const phase = done ? lastPhase(state.containers) : running;
  return { start: [], stop, phase, initialized, done };
}

/** Whether the next init container may start. */
function letsPass(view: ContainerView): boolean {
  if (view.role === "sidecar") return view.started;
  return view.phase.kind === "ended" && view.phase.ended.exitCode === 0;
}

/** The containers whose turn it is: init containers up to the first that is not through, or all. */
function turns(state: PodState): { due: ContainerView[]; initialized: boolean } {
  const inits = state.containers.filter((view) => view.role !== "main");
  const main = state.containers.filter((view) => view.role === "main");
  const begun = main.some((view) => view.phase.kind !== "waiting" || view.restarts > 0);
  const barrier = begun ? -1 : inits.findIndex((view) => !letsPass(view));
  if (barrier >= 0) {
    const before = inits.slice(0, barrier).filter((view) => view.role === "sidecar");
    const at = inits.slice(barrier, barrier + 1);
    return { due: [...before, ...at], initialized: false };
  }
  return { due: [...inits.filter((view) => view.role === "sidecar"), ...main], initialized: true };
}

/**
 * Returns the next actions. Init containers run one after the other, main containers together once
 * the last is through; a container that ended is started again as the restart policy says, not
 * before its `notBefore`; sidecars end after the main containers.
 */
export function planPod(state: PodState): Plan {
  const { containers, restartPolicy, now } = state;
  const { due, initialized } = turns(state);
  const alive: PodPhase =
    initialized && containers.some((view) => view.role === "main" && view.phase.kind !== "waiting")
      ? "Running"
      : "Pending";
  if (state.ending) return endingPlan(state, initialized, alive);
  const main = containers.filter((view) => view.role === "main");
  const initFailed = due.some((view) =>
    view.role === "init" && isOver(view, restartPolicy) && hasFailed(view)
  );
  if (initFailed || main.every((view) => isOver(view, restartPolicy))) {
    return endingPlan(state, initialized, alive);
  }
  const startable = due.filter((view) =>
    view.phase.kind === "waiting" ||
    (view.phase.kind === "ended" && !isOver(view, restartPolicy))
  );
  const later = startable.filter((view) => view.notBefore > now);
  return {
    start: startable.filter((view) => view.notBefore <= now).map((view) => view.name),
    stop: [],
    phase: alive,
    initialized,
    done: false,
    wakeAt: soonest(later.map((view) => view.notBefore)),
  };
}

/** Kubernetes' own delays of restarts: 10 s, doubling up to 5 minutes. */
export const CRASH_BACK_OFF: Backoff = { firstMs: 10_000, longestMs: 300_000 };

/** The delay before restart number `restart`, counted from 1, in milliseconds; the first comes at once. */
export function restartDelayMs(restart: number, backoff: Backoff): number {
  return restart <= 1 ? 0 : exponentialMs(restart - 1, backoff);
}
