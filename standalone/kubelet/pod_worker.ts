/** Runs one pod from its arrival to its end: acts on the plan, writes the status. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import type { Container, Pod } from "../../crds/kubernetes.ts";
import { POD_REASONS } from "../../crds/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { isConflict, isNotFound, messageOf } from "../../kube/errors.ts";
import type { PodAddress } from "./addresses.ts";
import { ConfigProblem, type PodFacts } from "./field_refs.ts";
import { prepareLaunch } from "./launch.ts";
import type { LogStore } from "./logs.ts";
import { ManagedContainer } from "./managed_container.ts";
import type { NameTable } from "./names.ts";
import {
  type BackOff,
  type ContainerRole,
  type Plan,
  planPod,
  type RestartPolicy,
} from "./pod_plan.ts";
import { INTERRUPTED, podStatus, recall } from "./pod_status.ts";
import { type Processes, StartProblem } from "./processes.ts";
import { refusalMessage, refusalsOf } from "./refusals.ts";
import { createTokenSource, type TokenSource } from "./tokens.ts";
import type { ObjectSource } from "./volume_files.ts";
import { createVolumes, type PodVolumes } from "./volumes.ts";

const logger = getLogger(["milepost", "standalone"]);

/** What all pods of a kubelet share. */
export interface PodSurroundings {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly logs: LogStore;
  /** Folder of the pods' folders. */
  readonly podsFolder: string;
  readonly node: Pick<PodFacts, "hostIP" | "nodeName" | "allocatable">;
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly backOff: BackOff;
  /** How often ConfigMaps and Secrets that are mounted are read again, in milliseconds. */
  readonly refreshMs: number;
  readonly markPrefix: string;
  /** Aborts when the kubelet stops: calls end with it. */
  readonly signal: AbortSignal;
  /** What names mean to the pods of a namespace. */
  readonly namesFor: (namespace: string) => NameTable;
  readonly recordEvent: (
    pod: Pod,
    event: { type: "Normal" | "Warning"; reason: string; message: string },
  ) => void;
}

/** Grace of a pod whose object is gone, in milliseconds. */
const ORPHAN_GRACE_MS = 2000;
const CALL_MS = 10_000;
/** Wait after a write of the status that failed, in milliseconds. */
const STATUS_RETRY_MS = 1000;

function graceOf(pod: Pod): number {
  const seconds = pod.metadata?.deletionGracePeriodSeconds ??
    pod.spec?.terminationGracePeriodSeconds ?? 30;
  return seconds * 1000;
}

function roleOf(container: Container, isInit: boolean): ContainerRole {
  if (!isInit) return "main";
  return container.restartPolicy === "Always" ? "sidecar" : "init";
}

function restartPolicyOf(pod: Pod): RestartPolicy {
  const policy = pod.spec?.restartPolicy;
  return policy === "Never" || policy === "OnFailure" ? policy : "Always";
}

function isTerminal(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** The version of an object as a number, where it is one. */
function versionOf(pod: Pod): number {
  return Number(pod.metadata?.resourceVersion ?? NaN);
}

/** Reads ConfigMaps and Secrets of a namespace one by one. */
function objectSource(
  { client, signal }: PodSurroundings,
  namespace: string,
): ObjectSource {
  const options = { deadlineMs: CALL_MS, signal };
  const orNothing = (error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  };
  return {
    configMap: (name) => client.get(KINDS.configMap, { namespace, name }, options).catch(orNothing),
    secret: (name) => client.get(KINDS.secret, { namespace, name }, options).catch(orNothing),
  };
}

/** One pod. */
export class PodWorker {
  readonly #around: PodSurroundings;
  readonly #address: PodAddress;
  readonly #facts: PodFacts;
  readonly #folder: string;
  readonly #containers: ManagedContainer[];
  readonly #specs: Map<string, Container>;
  readonly #objects: ObjectSource;
  readonly #tokens: TokenSource;
  readonly #volumes: PodVolumes;
  readonly #refusal: string | undefined;
  readonly #stopping = new Map<string, number>();
  readonly #stops = new Set<Promise<void>>();
  readonly #startedAt: number;
  #pod: Pod;
  #gone = false;
  #over: boolean;
  #deleted = false;
  #interrupted = false;
  #written = "";
  #refreshAt: number | undefined;
  #woken = false;
  #wake: () => void = () => {};

  constructor(pod: Pod, address: PodAddress, around: PodSurroundings) {
    this.#pod = pod;
    this.#around = around;
    this.#address = address;
    this.#folder = `${around.podsFolder}/${pod.metadata?.uid ?? ""}`;
    this.#facts = { ...around.node, podIP: address.loopback };
    this.#objects = objectSource(around, pod.metadata?.namespace ?? "");
    this.#tokens = createTokenSource({ ...around, pod });
    this.#volumes = createVolumes(`${this.#folder}/volumes`, {
      facts: this.#facts,
      objects: this.#objects,
      tokens: this.#tokens,
    });
    this.#over = isTerminal(pod.status?.phase);
    const told = pod.status?.startTime;
    this.#startedAt = told ? Date.parse(told) : around.clock.now();
    const refusals = refusalsOf(pod);
    this.#refusal = refusals.length > 0 ? refusalMessage(refusals) : undefined;
    const init = pod.spec?.initContainers ?? [];
    const main = pod.spec?.containers ?? [];
    this.#specs = new Map([...init, ...main].map((spec) => [spec.name, spec]));
    this.#containers = [
      ...init.map((spec) => this.#manage(spec, roleOf(spec, true))),
      ...main.map((spec) => this.#manage(spec, "main")),
    ];
  }

  /** Namespace of the pod. */
  get namespace(): string | undefined {
    return this.#pod.metadata?.namespace;
  }

  /** Name of the pod. */
  get name(): string | undefined {
    return this.#pod.metadata?.name;
  }

  /** Takes a newer version of the pod. */
  update(pod: Pod): void {
    if (versionOf(pod) < versionOf(this.#pod)) return;
    this.#pod = pod;
    this.wake();
  }

  /** The pod's object is not there any more: ends what runs and then itself. */
  remove(): void {
    this.#gone = true;
    this.wake();
  }

  /** Lets the worker look again. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Works until the pod is gone, with its folder and logs, or `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#woken = false;
      const wakeAt = await this.#step();
      if (this.#gone && this.#idle()) break;
      if (!this.#woken) await this.#sleep(wakeAt, signal);
    }
    await Promise.all(this.#stops);
    await Promise.all(this.#containers.map((container) => container.settled()));
    if (!this.#gone) return;
    await Deno.remove(this.#folder, { recursive: true }).catch(() => {});
    await this.#around.logs.remove(this.#pod.metadata?.uid ?? "");
  }

  #manage(spec: Container, role: ContainerRole): ManagedContainer {
    const { clock, processes, logs, backOff, markPrefix, recordEvent } = this.#around;
    const known = recall(this.#pod, spec.name, clock.now());
    if (known?.interrupted) this.#interrupted = true;
    return new ManagedContainer({
      spec,
      role,
      known,
      clock,
      processes,
      logs,
      backOff,
      markPrefix,
      podUid: this.#pod.metadata?.uid ?? "",
      address: this.#address.loopback,
      graceMs: (this.#pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000,
      firstReason: this.#pod.spec?.initContainers?.length
        ? POD_REASONS.podInitializing
        : POD_REASONS.containerCreating,
      onChange: () => this.wake(),
      onEvent: (type, reason, message) => recordEvent(this.#pod, { type, reason, message }),
    });
  }

  #idle(): boolean {
    return this.#containers.every((container) => container.view.phase.kind !== "running");
  }

  async #sleep(wakeAt: number | undefined, signal: AbortSignal): Promise<void> {
    const awake = new AbortController();
    this.#wake = () => awake.abort();
    const ended = AbortSignal.any([signal, awake.signal]);
    const ms = wakeAt === undefined ? Infinity : wakeAt - this.#around.clock.now();
    if (ms === Infinity) {
      await new Promise<void>((resolve) => {
        if (ended.aborted) resolve();
        ended.addEventListener("abort", () => resolve(), { once: true });
      });
    } else await this.#around.clock.sleep(Math.max(0, ms), ended);
    this.#wake = () => {};
  }

  /** Why the pod as a whole has failed. */
  #failure(now: number): { reason: string; message: string } | undefined {
    if (this.#refusal) return { reason: POD_REASONS.unsupported, message: this.#refusal };
    const seconds = this.#pod.spec?.activeDeadlineSeconds;
    if (seconds === undefined || now < this.#startedAt + seconds * 1000) return undefined;
    return {
      reason: POD_REASONS.deadlineExceeded,
      message: "Pod was active on the node longer than the specified deadline",
    };
  }

  /** Looks, decides, acts. Answers when to look again, in milliseconds since the epoch. */
  async #step(): Promise<number | undefined> {
    if (this.#over) return await this.#afterEnd();
    const now = this.#around.clock.now();
    const failure = this.#failure(now);
    const deleting = this.#gone || this.#pod.metadata?.deletionTimestamp !== undefined;
    let plan = this.#plan(now, deleting || failure !== undefined);
    for (const name of plan.stop) this.#stop(name);
    if (plan.start.length > 0) {
      await this.#start(plan.start);
      plan = this.#plan(this.#around.clock.now(), deleting || failure !== undefined);
    }
    const refreshAt = plan.done ? undefined : await this.#refresh();
    if (this.#gone) return undefined;
    const final: Plan = plan.done && failure ? { ...plan, phase: "Failed" } : plan;
    const retryAt = await this.#writeStatus(final, failure);
    if (retryAt === undefined && plan.done) {
      this.#over = true;
      return await this.#afterEnd();
    }
    const deadline = this.#pod.spec?.activeDeadlineSeconds;
    const times = [plan.wakeAt, refreshAt, retryAt];
    if (deadline !== undefined && !failure) times.push(this.#startedAt + deadline * 1000);
    const known = times.filter((time) => time !== undefined);
    return known.length > 0 ? Math.min(...known) : undefined;
  }

  #plan(now: number, ending: boolean): Plan {
    return planPod({
      restartPolicy: restartPolicyOf(this.#pod),
      containers: this.#containers.map((container) => container.view),
      ending,
      now,
    });
  }

  /** Begins to end a container; again with less grace where that has become shorter. */
  #stop(name: string): void {
    const graceMs = this.#gone ? Math.min(ORPHAN_GRACE_MS, graceOf(this.#pod)) : graceOf(this.#pod);
    if (graceMs >= (this.#stopping.get(name) ?? Infinity)) return;
    this.#stopping.set(name, graceMs);
    const container = this.#containers.find((one) => one.name === name);
    if (!container) return;
    this.#tell("Normal", POD_REASONS.killing, `Stopping container ${name}`);
    const stop: Promise<void> = container.stop(graceMs).finally(() => this.#stops.delete(stop));
    this.#stops.add(stop);
  }

  #tell(type: "Normal" | "Warning", reason: string, message: string): void {
    this.#around.recordEvent(this.#pod, { type, reason, message });
  }

  async #start(names: readonly string[]): Promise<void> {
    const due = this.#containers.filter((container) => names.includes(container.name));
    try {
      for (const folder of ["home", "tmp", "volumes"]) {
        await Deno.mkdir(`${this.#folder}/${folder}`, { recursive: true, mode: 0o700 });
      }
      await this.#volumes.refresh(this.#pod);
    } catch (error) {
      const message = messageOf(error);
      this.#tell("Warning", POD_REASONS.failedMount, message);
      for (const container of due) container.wait(POD_REASONS.containerCreating, message);
      return;
    }
    this.#refreshAt ??= this.#around.clock.now() + this.#around.refreshMs;
    await Promise.all(due.map((container) => this.#startOne(container)));
  }

  async #startOne(container: ManagedContainer): Promise<void> {
    const spec = this.#specs.get(container.name);
    if (!spec) return;
    try {
      const launch = await prepareLaunch({
        pod: this.#pod,
        container: spec,
        folder: this.#folder,
        volumes: this.#volumes,
        objects: this.#objects,
        facts: this.#facts,
        names: this.#around.namesFor(this.#pod.metadata?.namespace ?? ""),
        baseEnv: this.#around.baseEnv,
      });
      if (this.#gone || this.#pod.metadata?.deletionTimestamp !== undefined) return;
      container.start(launch);
    } catch (error) {
      if (error instanceof StartProblem) return container.failStart(error.message);
      const reason = error instanceof ConfigProblem
        ? POD_REASONS.createContainerConfigError
        : POD_REASONS.createContainerError;
      container.wait(reason, messageOf(error));
    }
  }

  /** Brings mounted files up to date where it is time. Answers when it will be again. */
  async #refresh(): Promise<number | undefined> {
    if (this.#refreshAt === undefined || this.#gone) return undefined;
    const { clock, refreshMs } = this.#around;
    const due = () => Math.min(this.#refreshAt ?? Infinity, this.#tokens.renewAt ?? Infinity);
    if (clock.now() >= due()) {
      this.#refreshAt = clock.now() + refreshMs;
      await this.#volumes.refresh(this.#pod).catch((error) =>
        this.#tell("Warning", POD_REASONS.failedMount, messageOf(error))
      );
    }
    return Math.max(due(), clock.now() + 100);
  }

  /** Writes the status where it changed. Answers when to try again where that failed. */
  async #writeStatus(
    plan: Plan,
    failure: { reason: string; message: string } | undefined,
  ): Promise<number | undefined> {
    const { client, clock, node, signal } = this.#around;
    const { namespace, name = "", uid } = this.#pod.metadata ?? {};
    const status = podStatus({
      pod: this.#pod,
      containers: this.#containers.map((container) => container.view),
      plan,
      restartPolicy: restartPolicyOf(this.#pod),
      failure: plan.phase === "Failed" ? failure : undefined,
      disruption: plan.phase === "Failed" && this.#interrupted && !failure
        ? INTERRUPTED
        : undefined,
      podIP: this.#address.podIP,
      hostIP: node.hostIP,
      startedAt: this.#startedAt,
      now: clock.now(),
    });
    const text = JSON.stringify(status);
    if (text === this.#written) return undefined;
    try {
      const patch = { type: "merge" as const, body: { metadata: { uid }, status } };
      const options = { deadlineMs: CALL_MS, signal, subresource: "status" };
      const stored = await client.patch(KINDS.pod, { namespace, name }, patch, options);
      if (!(versionOf(stored) < versionOf(this.#pod))) this.#pod = stored;
      this.#written = text;
      return undefined;
    } catch (error) {
      if (signal.aborted || isNotFound(error) || isConflict(error)) {
        return clock.now() + STATUS_RETRY_MS;
      }
      logger.warn("Cannot write a pod's status", {
        pod: `${namespace}/${name}`,
        error: messageOf(error),
      });
      return clock.now() + STATUS_RETRY_MS;
    }
  }

  /** What is left to do for a pod that is over: its volumes go, and its object when it is deleted. */
  async #afterEnd(): Promise<number | undefined> {
    await Deno.remove(this.#folder, { recursive: true }).catch(() => {});
    const { namespace, name = "", uid, deletionTimestamp } = this.#pod.metadata ?? {};
    if (this.#gone || this.#deleted || deletionTimestamp === undefined) return undefined;
    try {
      await this.#around.client.delete(KINDS.pod, { namespace, name }, {
        deadlineMs: CALL_MS,
        signal: this.#around.signal,
        gracePeriodSeconds: 0,
        preconditions: { uid },
      });
      this.#deleted = true;
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) this.#deleted = true;
      else return this.#around.clock.now() + STATUS_RETRY_MS;
    }
    return undefined;
  }
}
