/** A cluster in memory with the engine's view of it, for tests of `controller/jobs/`. */
import type { JobMetrics } from "../../../controller/jobs/job_metrics.ts";
import type { GangScheduler } from "../../../controller/jobs/gang.ts";
import type { JobCaches } from "../../../controller/jobs/observe.ts";
import { replicaIndexes } from "../../../controller/jobs/replica_objects.ts";
import { createV1Controller } from "../../../controller/jobs/v1_controller.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import type { Informer } from "../../../platform/kube/watching/informer.ts";
import { formatKey, keyOf } from "../../../platform/kube/resource.ts";
import { type Fault, MemoryCluster } from "../memory_cluster.ts";

/** Time at the start of the tests. */
export const START = Date.parse("2026-01-01T00:00:00Z");

/** An event as the engine recorded it. */
export interface Told {
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly component?: string;
}

interface Sleeper {
  readonly at: number;
  wake(): void;
}

/** A clock that a test moves; sleeps end when it has passed them. */
class ManualClock implements Clock {
  #now = START;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - START;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = {
        at: this.#now + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      if (signal?.aborted) return resolve();
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
    });
  }

  /** Moves the time, and ends the sleeps that it passes. */
  advance(ms: number): void {
    this.#now += ms;
    for (const sleeper of [...this.#sleepers]) if (sleeper.at <= this.#now) sleeper.wake();
  }
}

/** Phase and containers of a pod, for {@link JobWorld.report}. */
export interface PodReport {
  readonly phase: string;
  readonly exitCode?: number;
  readonly restarts?: number;
  readonly startTime?: string;
}

/** The cluster, its clock, and the controllers of all kinds, which run until {@link stop}. */
export class JobWorld {
  readonly cluster = new MemoryCluster();
  readonly clock = new ManualClock();
  readonly events: Told[] = [];
  readonly runs = new Set<V1KindName>();
  /** The controllers that have made a pass, by their names. */
  readonly passes: string[] = [];
  /** Of controllers that start from now on. */
  metrics: JobMetrics = { counted() {}, created() {}, creationFailed() {}, deleted() {} };
  /** The CA that pods shall trust. */
  caBundle: string | undefined;
  /** Whether the caches of jobs show them as they were when this was set. */
  lateJobs = false;
  /** Whether the caches have read the pods. */
  podsSynced = true;
  /** The scheduler of controllers that start from now on. */
  gang: GangScheduler | undefined;
  readonly #caches = new Map<V1KindName, JobCaches>();
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor() {
    this.cluster.now = () => this.clock.now();
    for (const { kind } of Object.values(V1_KINDS)) {
      this.runs.add(kind);
      this.cluster.withStatus.add(kind);
      this.#caches.set(kind, this.#cachesOf(kind));
    }
  }

  /** Starts the controllers; after {@link stop}, those of another replica, whose caches are filled. */
  start(): void {
    this.#stop = new AbortController();
    const { cluster, clock, events } = this;
    const controllers = Object.values(V1_KINDS).map((kind) => {
      const caches = this.#caches.get(kind.kind);
      if (caches === undefined) throw new Error("every kind has caches");
      return createV1Controller({
        kind,
        caches,
        client: cluster.client(),
        clock,
        runs: () => this.runs.has(kind.kind),
        metrics: this.metrics,
        controllerMetrics: { reconciled: (name) => void this.passes.push(name) },
        caBundle: () => this.caBundle,
        ...(this.gang && { gang: this.gang }),
        events: {
          record: ({ namespace, name }, event) =>
            void events.push({ about: `${namespace}/${name}`, ...event }),
        },
      });
    });
    this.#running = Promise.all(controllers.map((it) => it.run(this.#stop.signal)));
  }

  #cachesOf(kind: V1KindName): JobCaches {
    const { cluster } = this;
    const podsSynced = () => this.podsSynced;
    return {
      jobs: this.#mayBeLate(cluster.informer<V1Job>(V1_RESOURCES[kind])),
      pods: {
        ...cluster.informer(KINDS.pod, replicaIndexes, V1_LABELS.jobName),
        get synced() {
          return podsSynced();
        },
      },
      services: cluster.informer(KINDS.service, replicaIndexes, V1_LABELS.jobName),
    };
  }

  #mayBeLate(jobs: Informer<V1Job>): Informer<V1Job> {
    const seen = new Map<string, V1Job | undefined>();
    return {
      ...jobs,
      get: (key) => {
        const text = typeof key === "string" ? key : formatKey(key);
        if (!this.lateJobs) seen.set(text, jobs.get(key));
        return seen.get(text);
      },
      onChange: (listener) => jobs.onChange((change) => this.lateJobs || listener(change)),
    };
  }

  /** Ends the controllers, as the end of their process does. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Lets the controllers work until they call nothing any more; time passes only by `ms`. */
  async settle(ms = 0): Promise<void> {
    this.clock.advance(ms);
    for (let quiet = 0; quiet < 3;) {
      const { length } = this.cluster.calls;
      await new Promise((resolve) => setTimeout(resolve, 0));
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      quiet = this.cluster.calls.length === length ? quiet + 1 : 0;
    }
  }

  /** Stores a job, as a user creates it. */
  put(kind: V1KindName, spec: unknown, name = "j", status?: unknown): string {
    const job = V1_RESOURCES[kind].parse({
      apiVersion: "kubeflow.org/v1",
      kind,
      metadata: { name, namespace: "ml" },
      spec,
      ...(status !== undefined && { status }),
    });
    return keyOf(this.cluster.put(V1_RESOURCES[kind], job));
  }

  job(kind: V1KindName, key = "ml/j"): V1Job {
    const found = this.cluster.peek(V1_RESOURCES[kind], key);
    if (found === undefined) throw new Error(`${kind} ${key} is gone`);
    return found;
  }

  edit(kind: V1KindName, spec: unknown, key = "ml/j"): void {
    this.cluster.edit(V1_RESOURCES[kind], key, { spec });
  }

  /** Conditions in their order: `Running`, or `Running=False` if it does not hold. */
  conditions(kind: V1KindName, key = "ml/j"): string[] {
    return (this.job(kind, key).status?.conditions ?? [])
      .map(({ type, status }) => status === "True" ? type : `${type}=${status}`);
  }

  get pods(): string[] {
    return this.cluster.all(KINDS.pod).map((it) => it.metadata?.name ?? "").sort();
  }

  get services(): string[] {
    return this.cluster.all(KINDS.service).map((it) => it.metadata?.name ?? "").sort();
  }

  pod(name: string): Pod {
    const found = this.cluster.peek(KINDS.pod, `ml/${name}`);
    if (found === undefined) throw new Error(`pod ${name} is gone`);
    return found;
  }

  /** Reports the state of a pod, as a kubelet does; the first container trains. */
  report(name: string, { phase, exitCode, restarts = 0, ...more }: PodReport): void {
    const container = this.pod(name).spec?.containers[0]?.name ?? "";
    const now = rfc3339(this.clock.now());
    const state = exitCode === undefined
      ? { running: { startedAt: now } }
      : { terminated: { exitCode, finishedAt: now } };
    const containerStatuses = [{ name: container, restartCount: restarts, state, ready: false }];
    this.cluster.edit(KINDS.pod, `ml/${name}`, { status: { phase, containerStatuses, ...more } });
  }

  /** Reports that all pods, or those with the prefix, are in that state. */
  reportAll(report: PodReport, prefix = ""): void {
    for (const name of this.pods) if (name.startsWith(prefix)) this.report(name, report);
  }

  /** The reasons of the events, each once, in their order. */
  get reasons(): string[] {
    return [...new Set(this.events.map(({ reason }) => reason))];
  }

  creations(kind: "Pod" | "Service" = "Pod"): string[] {
    return this.cluster.calls.filter((it) => it.verb === "create" && it.kind === kind)
      .map(({ key }) => key);
  }

  fault(fault: Fault): void {
    this.cluster.faults.push(fault);
  }
}

/** Replicas of a type with a container of that name. */
export function replicas(container: string, count?: number, more: Record<string, unknown> = {}) {
  return {
    ...(count !== undefined && { replicas: count }),
    template: { spec: { containers: [{ name: container, image: "acme/train:1" }] } },
    ...more,
  };
}

/** The spec of a TFJob with those replica counts. */
export function tfSpec(
  counts: Readonly<Record<string, number>>,
  spec: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
) {
  return {
    tfReplicaSpecs: Object.fromEntries(
      Object.entries(counts).map(([type, count]) => [type, replicas("tensorflow", count, more)]),
    ),
    ...spec,
  };
}

/** The spec of a PyTorchJob with that many workers, and a master unless told otherwise. */
export function pyTorchSpec(
  workers: number,
  spec: Record<string, unknown> = {},
  { master = true, ...more }: Record<string, unknown> = {},
) {
  return {
    pytorchReplicaSpecs: {
      ...(master === true && { Master: replicas("pytorch", undefined, more) }),
      ...(workers > 0 && { Worker: replicas("pytorch", workers, more) }),
    },
    ...spec,
  };
}
