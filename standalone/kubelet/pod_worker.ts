/** Pod worker: runs one pod from its arrival to its end, by its plan, and writes its status. */
import { getLogger } from "@logtape/logtape";
import { soonest } from "../../platform/base/soonest.ts";
import { createSleeper, type Sleeper } from "../../platform/base/sleeper.ts";
import type { Container, Pod } from "../../platform/kube/kubernetes.ts";
import { isSidecar } from "../../crds/pod_containers.ts";
import { POD_REASONS } from "../../crds/pod_names.ts";
import { isOlderVersion } from "../../platform/kit/own_writes.ts";
import { hasEnded } from "../jobs/pods.ts";
import type { PodAddress } from "./names/addresses.ts";
import { ManagedContainer } from "./containers/managed_container.ts";
import { type ContainerRole, type Plan, planPod, type RestartPolicy } from "./pod_plan.ts";
import type { Enrollment } from "./launch_agent/launch_agent.ts";
import { PodLauncher } from "./pod_launcher.ts";
import { backOffsOf, INTERRUPTED, type PodStatus, podStatus, recall } from "./pod_status.ts";
import type { PodSurroundings } from "./pod_surroundings.ts";
import { PodWrites } from "./pod_writes.ts";
import { refusalMessage, refusalsOf } from "./pod_refusals.ts";
import { differences } from "./unenforced.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Grace of a pod whose object is gone, in milliseconds. */
const ORPHAN_GRACE_MS = 2000;
/** Wait after a pass that failed, in milliseconds. */
const RETRY_MS = 1000;

function graceOf(pod: Pod): number {
  const seconds = pod.metadata?.deletionGracePeriodSeconds ??
    pod.spec?.terminationGracePeriodSeconds ?? 30;
  return seconds * 1000;
}

function restartPolicyOf(pod: Pod): RestartPolicy {
  const policy = pod.spec?.restartPolicy;
  return policy === "Never" || policy === "OnFailure" ? policy : "Always";
}

/** Whether a pod is an older version of another. */
function isOlder(pod: Pod, than: Pod): boolean {
  return isOlderVersion(pod.metadata?.resourceVersion, than.metadata?.resourceVersion);
}

/** One pod. */
export class PodWorker {
  readonly #launcher: PodLauncher;
  readonly #writes: PodWrites;
  readonly #containers: ManagedContainer[];
  readonly #refusal: string | undefined;
  readonly #enrollment: Enrollment | undefined;
  readonly #stopping = new Map<string, number>();
  /** The number of restarts of each container at which it was last told that it is put off. */
  readonly #toldBackOffs = new Map<string, number>();
  readonly #stops = new Set<Promise<void>>();
  readonly #startedAt: number;
  #gone = false;
  #over: boolean;
  #interrupted = false;
  readonly #sleeper: Sleeper;

  constructor(
    private pod: Pod,
    private readonly address: PodAddress,
    private readonly around: PodSurroundings,
  ) {
    this.#sleeper = createSleeper(around.clock);
    this.#enrollment = around.launchAgent.enroll(
      pod,
      address,
      (container, command, streams) =>
        this.#containers.find(({ name }) => name === container)?.startBeside(command, streams),
    );
    const runnable = this.#enrollment?.pod ?? pod;
    this.#launcher = new PodLauncher(runnable, address.loopback, around);
    this.#writes = new PodWrites(around);
    this.#over = hasEnded(pod);
    const startTime = pod.status?.startTime;
    this.#startedAt = startTime ? Date.parse(startTime) : around.clock.now();
    const refusals = refusalsOf(runnable, { claims: around.claims !== undefined });
    this.#refusal = refusals.length > 0 ? refusalMessage(refusals) : undefined;
    const init = runnable.spec?.initContainers ?? [];
    const main = runnable.spec?.containers ?? [];
    this.#containers = [
      ...init.map((spec) => this.#manage(spec, isSidecar(spec) ? "sidecar" : "init")),
      ...main.map((spec) => this.#manage(spec, "main")),
    ];
  }

  /** Namespace of the pod. */
  get namespace(): string | undefined {
    return this.pod.metadata?.namespace;
  }

  /** Name of the pod. */
  get name(): string | undefined {
    return this.pod.metadata?.name;
  }

  /** Takes a newer version of the pod. */
  update(pod: Pod): void {
    if (isOlder(pod, this.pod)) return;
    this.pod = pod;
    this.wake();
  }

  /** The pod's object is not there any more: ends what runs and then itself. */
  remove(): void {
    this.#gone = true;
    this.wake();
  }

  /** Wakes the worker. */
  wake(): void {
    this.#sleeper.wake();
  }

  /** Works until the pod is gone, with its folder and logs, or `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#tellDifferences();
    while (!signal.aborted) {
      const wakeAt = await this.#step().catch((error) => {
        logger.error("A pod's worker failed; retrying", { pod: this.name, error });
        return this.around.clock.now() + RETRY_MS;
      });
      if (this.#gone && this.#idle()) break;
      await this.#sleeper.sleep((wakeAt ?? Infinity) - this.around.clock.now(), signal);
    }
    await Promise.all(this.#stops);
    await Promise.all(this.#containers.map((container) => container.settled()));
    this.#enrollment?.leave();
    if (!this.#gone) return;
    this.#launcher.releaseGpus(this.pod);
    await this.#launcher.removeFolder();
    await this.around.releaseLogs(this.pod);
  }

  #manage(spec: Container, role: ContainerRole): ManagedContainer {
    const { clock, recordEvent } = this.around;
    const known = recall(this.pod, spec.name, clock.now());
    if (known?.interrupted) this.#interrupted = true;
    return new ManagedContainer({
      ...this.around,
      spec,
      role,
      known,
      podUid: this.pod.metadata?.uid ?? "",
      address: this.address.loopback,
      graceMs: (this.pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000,
      firstReason: this.pod.spec?.initContainers?.length
        ? POD_REASONS.podInitializing
        : POD_REASONS.containerCreating,
      onChange: () => this.wake(),
      onEvent: (type, reason, message) => recordEvent(this.pod, { type, reason, message }),
    });
  }

  #idle(): boolean {
    return this.#containers.every((container) => container.view.phase.kind !== "running");
  }

  /** Reports once that an earlier kubelet had left it, and what is different for this pod: fields that are not enforced, and commands that are replaced. */
  #tellDifferences(): void {
    if (this.#interrupted) this.#tell("Warning", POD_REASONS.terminatedByKubelet, INTERRUPTED);
    if (this.#over || this.#refusal) return;
    for (const { reason, message } of differences(this.pod, this.#enrollment)) {
      this.#tell("Normal", reason, message);
    }
  }

  #isEnding(): boolean {
    return this.#gone || this.around.signal.aborted ||
      this.pod.metadata?.deletionTimestamp !== undefined;
  }

  /** Why the pod as a whole has failed. */
  #failure(now: number): { reason: string; message: string } | undefined {
    if (this.#refusal) return { reason: POD_REASONS.unsupported, message: this.#refusal };
    const seconds = this.pod.spec?.activeDeadlineSeconds;
    if (seconds === undefined || now < this.#startedAt + seconds * 1000) return undefined;
    return {
      reason: POD_REASONS.deadlineExceeded,
      message: "Pod was active on the node longer than the specified deadline",
    };
  }

  /** Observes, decides, acts. Returns the time of the next pass, in milliseconds since the epoch. */
  async #step(): Promise<number | undefined> {
    if (this.#over) return await this.#afterEnd();
    const now = this.around.clock.now();
    const failure = this.#failure(now);
    const ending = this.#isEnding() || failure !== undefined;
    let plan = this.#plan(now, ending);
    for (const name of plan.stop) this.#stop(name);
    if (plan.start.length > 0) {
      const due = this.#containers.filter(({ name }) => plan.start.includes(name));
      await this.#launcher.start(this.pod, due, () => this.#isEnding());
      plan = this.#plan(this.around.clock.now(), ending);
    }
    const refreshAt = plan.done ? undefined : await this.#launcher.refresh(this.pod);
    if (this.#gone) return undefined;
    const final: Plan = plan.done && failure ? { ...plan, phase: "Failed" } : plan;
    if (plan.done) this.#launcher.releaseGpus(this.pod);
    const retryAt = await this.#writeStatus(final, failure);
    if (retryAt === undefined && plan.done) {
      this.#over = true;
      if (this.#refusal) this.#tell("Warning", POD_REASONS.unsupported, this.#refusal);
      return await this.#afterEnd();
    }
    const deadline = this.pod.spec?.activeDeadlineSeconds;
    const times = [plan.wakeAt, refreshAt, retryAt];
    if (deadline !== undefined && !failure) times.push(this.#startedAt + deadline * 1000);
    return soonest(times);
  }

  #plan(now: number, ending: boolean): Plan {
    return planPod({
      restartPolicy: restartPolicyOf(this.pod),
      containers: this.#containers.map((container) => container.view),
      ending,
      now,
    });
  }

  /** Begins to end a container; again if the grace period has become shorter. */
  #stop(name: string): void {
    const graceMs = this.#gone ? Math.min(ORPHAN_GRACE_MS, graceOf(this.pod)) : graceOf(this.pod);
    if (graceMs >= (this.#stopping.get(name) ?? Infinity)) return;
    this.#stopping.set(name, graceMs);
    const container = this.#containers.find((one) => one.name === name);
    if (!container) return;
    this.#tell("Normal", POD_REASONS.killing, `Stopping container ${name}`);
    const stop: Promise<void> = container.stop(graceMs).finally(() => this.#stops.delete(stop));
    this.#stops.add(stop);
  }

  #tell(type: "Normal" | "Warning", reason: string, message: string): void {
    this.around.recordEvent(this.pod, { type, reason, message });
  }

  /** Writes the status if it changed. Returns when to try again if that failed. */
  async #writeStatus(
    plan: Plan,
    failure: { reason: string; message: string } | undefined,
  ): Promise<number | undefined> {
    const { clock, node } = this.around;
    const status = podStatus({
      pod: this.pod,
      containers: this.#containers.map((container) => container.view),
      plan,
      restartPolicy: restartPolicyOf(this.pod),
      failure: plan.phase === "Failed" ? failure : undefined,
      disruption: plan.phase === "Failed" && this.#interrupted && !failure
        ? INTERRUPTED
        : undefined,
      podIP: this.address.podIP,
      hostIP: node.hostIP,
      startedAt: this.#startedAt,
      now: clock.now(),
    });
    this.#tellBackOffs(status);
    const { stored, retryAt } = await this.#writes.writeStatus(this.pod, status);
    if (stored && !isOlder(stored, this.pod)) this.pod = stored;
    return retryAt;
  }

  /** Reports once for each end of a container that its next start is put off. */
  #tellBackOffs(status: PodStatus): void {
    for (const { container, restarts, message } of backOffsOf(this.pod, status)) {
      if (this.#toldBackOffs.get(container) === restarts) continue;
      this.#toldBackOffs.set(container, restarts);
      this.#tell("Warning", POD_REASONS.backOff, message);
    }
  }

  /** Cleans up a pod that is over: removes its volumes, and its object if it is being deleted. */
  async #afterEnd(): Promise<number | undefined> {
    await this.#launcher.removeFolder();
    return this.#gone ? undefined : await this.#writes.removeObject(this.pod);
  }
}
