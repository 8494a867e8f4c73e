/** One container of a pod over all its starts: its process, its probes, its state. */
import type { Container } from "../../../platform/kube/kubernetes.ts";
import { POD_REASONS } from "../../../crds/pod_names.ts";
import { lastBytes } from "../../../platform/base/hostile_text.ts";
import { exponentialMs } from "../../../platform/base/backoff.ts";
import { superviseProbes } from "./container_probes.ts";
import type { Launch } from "./launch.ts";
import type { CommandStreams } from "../launch_agent/job_pods.ts";
import {
  type ContainerPhase,
  type ContainerRole,
  type ContainerView,
  type Ended,
  restartDelayMs,
} from "../pod_plan.ts";
import type { PodSurroundings } from "../pod_surroundings.ts";
import type { RunningProcess } from "../processes/processes.ts";
import { runCommand } from "../processes/run_command.ts";

/** Options of {@link ManagedContainer}. */
export interface ContainerOptions
  extends Pick<PodSurroundings, "clock" | "processes" | "logs" | "backOff" | "markPrefix"> {
  readonly spec: Container;
  readonly role: ContainerRole;
  readonly podUid: string;
  /** Address of the pod. */
  readonly address: string;
  /** Grace of a container that a probe ends, in milliseconds. */
  readonly graceMs: number;
  /** Its state before this kubelet started. */
  readonly known?: Pick<ContainerView, "phase" | "restarts" | "last">;
  readonly firstReason: string;
  /** Called after each change. */
  readonly onChange: () => void;
  readonly onEvent: (type: "Normal" | "Warning", reason: string, message: string) => void;
}

/** Delays between attempts to start a container. */
const START_BACKOFF = { firstMs: 200, longestMs: 10_000 } as const;
/** Longest message that a container leaves, in bytes, and what is taken of the end of its log. */
const MESSAGE = { bytes: 4096, logBytes: 2048, logLines: 80 } as const;
/** A container that has run this many times the longest back-off restarts without one. */
const FORGIVE_AFTER = 2;

/** A container. Its methods change its view and call `onChange`. */
export class ManagedContainer {
  #phase: ContainerPhase;
  #restarts: number;
  #last: Ended | undefined;
  #crashes: number;
  #notBefore = 0;
  #started = false;
  #ready = false;
  #attempts = 0;
  #commands = 0;
  #process: RunningProcess | undefined;
  #launch: Launch | undefined;
  #supervision: Promise<void> = Promise.resolve();

  constructor(private readonly options: ContainerOptions) {
    this.#phase = options.known?.phase ?? { kind: "waiting", reason: options.firstReason };
    this.#restarts = options.known?.restarts ?? 0;
    this.#last = options.known?.last;
    this.#crashes = this.#restarts;
  }

  /** The name in the pod. */
  get name(): string {
    return this.options.spec.name;
  }

  /** Its present state. */
  get view(): ContainerView {
    return {
      name: this.name,
      role: this.options.role,
      phase: this.#phase,
      restarts: this.#restarts,
      last: this.#last,
      started: this.#started,
      ready: this.#ready,
      notBefore: this.#notBefore,
    };
  }

  /** Waits before the next attempt to start, longer each time. */
  wait(reason: string, message: string): void {
    const delayMs = exponentialMs(++this.#attempts, START_BACKOFF);
    this.#notBefore = this.options.clock.now() + delayMs;
    if (this.#phase.kind === "ended") this.#countRestart();
    this.#phase = { kind: "waiting", reason, message };
    this.options.onChange();
  }

  /** Records a failed start as an end with exit code 128. */
  failStart(message: string): void {
    const now = this.options.clock.now();
    if (this.#phase.kind === "ended") this.#countRestart();
    this.#end(
      { exitCode: 128, reason: POD_REASONS.startError, message, startedAt: now, finishedAt: now },
    );
  }

  /** Starts the program. Throws a `StartProblem` if that fails. */
  start(launch: Launch): void {
    const { clock, logs, podUid, processes } = this.options;
    const restarts = this.#restarts + (this.#phase.kind === "ended" ? 1 : 0);
    const log = logs.open({ podUid, container: this.name, attempt: restarts });
    try {
      this.#process = processes.start({
        ...launch,
        mark: this.#mark(restarts),
        onOutput: (stream, chunk) => log.write(stream, chunk),
      });
    } catch (error) {
      log.close();
      throw error;
    }
    if (this.#phase.kind === "ended") this.#countRestart();
    this.#launch = launch;
    this.#attempts = 0;
    const startedAt = clock.now();
    this.#phase = { kind: "running", startedAt };
    this.options.onEvent("Normal", POD_REASONS.started, `Started container ${this.name}`);
    this.#supervision = this.#supervise(this.#process, launch, startedAt, () => log.close());
    this.options.onChange();
  }

  /** Ends it: preStop hook, SIGTERM, after the grace SIGKILL. Resolves when all of it is gone. */
  async stop(graceMs: number): Promise<void> {
    const process = this.#process;
    if (!process) return await this.#supervision;
    const begun = this.options.clock.monotonic();
    await this.#preStop(graceMs);
    const left = graceMs - (this.options.clock.monotonic() - begun);
    await process.stop(Math.max(0, left));
    await this.#supervision;
  }

  /** Resolves when everything that it started has ended and was recorded. */
  settled(): Promise<void> {
    return this.#supervision;
  }

  #mark(restarts: number): string {
    const { markPrefix, podUid } = this.options;
    return `${markPrefix}${podUid}/${this.name}/${restarts}`;
  }

  #countRestart(): void {
    if (this.#phase.kind === "ended") this.#last = this.#phase.ended;
    this.#restarts++;
  }

  async #supervise(
    process: RunningProcess,
    launch: Launch,
    startedAt: number,
    closeLog: () => void,
  ): Promise<void> {
    const over = new AbortController();
    const probing = this.#probe(launch, over.signal);
    const exitCode = await process.ended;
    over.abort();
    closeLog();
    const message = await this.#lastWords(launch.messageFile, exitCode);
    await probing;
    const finishedAt = this.options.clock.now();
    const reason = exitCode === 0 ? POD_REASONS.containerCompleted : POD_REASONS.containerError;
    this.#end({ exitCode, reason, message, startedAt, finishedAt });
  }

  #end(ended: Ended): void {
    const { backOff, clock } = this.options;
    this.#process = undefined;
    this.#started = false;
    this.#ready = false;
    const ranMs = ended.finishedAt - ended.startedAt;
    if (ranMs >= FORGIVE_AFTER * backOff.longestMs) this.#crashes = 0;
    this.#crashes++;
    this.#notBefore = clock.now() + restartDelayMs(this.#crashes, backOff);
    this.#phase = { kind: "ended", ended };
    this.options.onChange();
  }

  /** The program's termination message, or the end of its log if the container asks for that. */
  async #lastWords(file: string, exitCode: number): Promise<string | undefined> {
    const text = await Deno.readTextFile(file).catch(() => "");
    if (text !== "") return lastBytes(text, MESSAGE.bytes);
    const policy = this.options.spec.terminationMessagePolicy;
    if (policy !== "FallbackToLogsOnError" || exitCode === 0) return undefined;
    const { logs, podUid } = this.options;
    const key = { podUid, container: this.name, attempt: this.#restarts };
    const path = (await logs.files(key)).at(-1);
    const lines = path
      ? (await Deno.readTextFile(path).catch(() => "")).trimEnd().split("\n").slice(
        -MESSAGE.logLines,
      )
      : [];
    const said = lines.map((line) => line.replace(/^\S+ \S+ \S+ /, "")).join("\n");
    return lastBytes(said, MESSAGE.logBytes);
  }

  /** Starts a command for a shell beside the program, which may leave others; undefined if that does not run. */
  startBeside(command: string, streams: CommandStreams): RunningProcess | undefined {
    const launch = this.#launch;
    if (this.#process === undefined || launch === undefined) return undefined;
    const spec = this.#beside(launch, launch.enter(["/bin/sh", "-c", command]));
    return this.options.processes.start({ ...spec, ...streams, leavesDescendants: true });
  }

  /** A command beside the container's program. */
  #beside({ cwd, env }: Launch, command: readonly string[]) {
    const mark = `${this.#mark(this.#restarts)}/exec-${++this.#commands}`;
    return { command, cwd, env, mark };
  }

  /** Runs a command beside the container's program. */
  #run(launch: Launch, command: readonly string[], timeoutMs: number) {
    const { clock, processes } = this.options;
    const spec = this.#beside(launch, launch.adapt(command));
    return runCommand({ clock, processes, timeoutMs, spec });
  }

  #probe(launch: Launch, signal: AbortSignal): Promise<void> {
    const { spec, clock, onChange, onEvent, address } = this.options;
    return superviseProbes({
      container: spec,
      clock,
      signal,
      target: {
        address,
        ports: spec.ports ?? [],
        run: (command, timeoutMs) => this.#run(launch, command, timeoutMs),
      },
      listener: {
        onStarted: () => {
          this.#started = true;
          onChange();
        },
        onReady: (ready) => {
          this.#ready = ready;
          if (!ready) onEvent("Warning", POD_REASONS.unhealthy, `Readiness probe failed`);
          onChange();
        },
        onUnhealthy: (probe, message) => {
          onEvent("Warning", POD_REASONS.unhealthy, `Container ${this.name} ends: ${message}`);
          const seconds = probe.terminationGracePeriodSeconds;
          const graceMs = seconds === undefined ? this.options.graceMs : seconds * 1000;
          this.#process?.stop(graceMs);
        },
      },
    });
  }

  async #preStop(graceMs: number): Promise<void> {
    const hook = this.options.spec.lifecycle?.preStop;
    if (!hook || !this.#launch || graceMs <= 0) return;
    if (hook.sleep) {
      const ended = new AbortController();
      this.#process?.ended.finally(() => ended.abort());
      await this.options.clock.sleep(Math.min(graceMs, hook.sleep.seconds * 1000), ended.signal);
    }
    if (!hook.exec?.command) return;
    const { exitCode, output } = await this.#run(this.#launch, hook.exec.command, graceMs);
    if (exitCode !== 0) {
      this.options.onEvent("Warning", "FailedPreStopHook", output.slice(0, 200));
    }
  }
}
