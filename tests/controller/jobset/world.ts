/** A cluster in memory with the executor on it, and builders of JobSets. */
import type { JobSet, JobSetSpec, ReplicatedJob } from "../../../crds/jobset.ts";
import { jobSetSchema } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { WATCHED } from "../../../crds/watched.ts";
import type { Job } from "../../../platform/kube/kubernetes.ts";
import { JOBSET_KEYS, MILEPOST_JOBSET_CONTROLLER } from "../../../crds/jobset_names.ts";
import {
  createJobSetReconciler,
  jobSetJobIndexes,
} from "../../../controller/jobset/jobset_controller.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import { Driver } from "../../support/drive.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryCluster } from "../memory_cluster.ts";

/** A replicated job of one container. */
export function replicated(name: string, more: Partial<ReplicatedJob> = {}): ReplicatedJob {
  return {
    name,
    replicas: 1,
    template: {
      spec: { template: { spec: { containers: [{ name: "main", image: "image" }] } } },
    },
    ...more,
  };
}

/** The JobSet of most cases: `t` with `a` once and `b` three times. */
export function jobSet(spec: Partial<JobSetSpec> = {}, metadata: JobSet["metadata"] = {}): JobSet {
  return jobSetSchema.parse({
    apiVersion: "jobset.x-k8s.io/v1alpha2",
    kind: "JobSet",
    metadata: { name: "t", namespace: "default", ...metadata },
    spec: {
      managedBy: MILEPOST_JOBSET_CONTROLLER,
      replicatedJobs: [replicated("a"), replicated("b", { replicas: 3 })],
      ...spec,
    },
  });
}

/** An executor on a cluster. */
export class World {
  readonly clock = new FakeClock();
  readonly cluster = new MemoryCluster();
  /** Events as `reason: message`. */
  readonly events: string[] = [];
  readonly warnings: string[] = [];
  driver: Driver;
  /** Called after each pass. */
  afterPass?: () => void;

  constructor() {
    this.cluster.now = () => this.clock.now();
    this.driver = this.#start();
  }

  #start(): Driver {
    const record = (_about: unknown, { type, reason, message }: EventText) => {
      this.events.push(`${reason}: ${message}`);
      if (type === "Warning") this.warnings.push(reason);
    };
    const driver = new Driver(createJobSetReconciler({
      client: this.cluster.client(),
      managerName: "manager",
      informers: {
        jobSets: this.cluster.informer(WATCHED.jobSet),
        jobs: this.cluster.informer(KINDS.job, jobSetJobIndexes),
        services: this.cluster.informer(KINDS.service),
      },
      events: { record },
      clock: this.clock,
    }));
    driver.afterPass = () => this.afterPass?.();
    return driver;
  }

  /** Works until nothing is left to do, also when the process is restarted meanwhile. */
  async settle(): Promise<void> {
    while (this.driver.busy) await this.driver.settle();
  }

  /** Ends the process and starts another, with fresh caches and no memory. */
  restart(): void {
    this.driver.stop();
    this.driver = this.#start();
  }

  /** Stores a JobSet as a user does, and lets the executor work. */
  async create(object: JobSet): Promise<void> {
    await this.cluster.client().create(KINDS.jobSet, object);
    await this.settle();
  }

  /** Changes the JobSet's spec. */
  async edit(spec: Partial<JobSetSpec>): Promise<void> {
    this.cluster.edit(KINDS.jobSet, "default/t", { spec });
    await this.settle();
  }

  /** The JobSet `t` as it is stored. */
  get jobSet(): JobSet {
    const stored = this.cluster.peek(KINDS.jobSet, "default/t");
    if (!stored) throw new Error("JobSet t is gone");
    return stored;
  }

  /** Names of all Jobs. */
  get jobs(): string[] {
    return this.cluster.all(KINDS.job).map((job) => job.metadata?.name ?? "").sort();
  }

  job(name: string): Job {
    const job = this.cluster.peek(KINDS.job, `default/${name}`);
    if (!job) throw new Error(`Job ${name} is gone`);
    return job;
  }

  /** Restart attempt to number of Jobs. */
  get attempts(): Record<string, number> {
    const attempts: Record<string, number> = {};
    for (const job of this.cluster.all(KINDS.job)) {
      const attempt = job.metadata?.labels?.[JOBSET_KEYS.restartAttempt] ?? "none";
      attempts[attempt] = (attempts[attempt] ?? 0) + 1;
    }
    return attempts;
  }

  /** `type=status/reason` of each condition. */
  get conditions(): string[] {
    return (this.jobSet.status?.conditions ?? [])
      .map(({ type, status, reason }) => `${type}=${status}/${reason}`);
  }

  /** Counters as `name ready/succeeded/failed/active/suspended`, in their order. */
  get counters(): string[] {
    return (this.jobSet.status?.replicatedJobsStatus ?? []).map((each) =>
      `${each.name} ${each.ready}/${each.succeeded}/${each.failed}/${each.active}/${each.suspended}`
    );
  }

  /** `restarts/restartsCountTowardsMax`. */
  get restarts(): string {
    const { restarts, restartsCountTowardsMax = 0 } = this.jobSet.status ?? {};
    return `${restarts}/${restartsCountTowardsMax}`;
  }

  /** Sets fields of the status of Jobs. */
  async report(names: readonly string[], status: Job["status"]): Promise<void> {
    for (const name of names) this.cluster.edit(KINDS.job, `default/${name}`, { status });
    await this.settle();
  }

  ready(...names: string[]): Promise<void> {
    return this.report(names, { active: 1, ready: 1 });
  }

  active(...names: string[]): Promise<void> {
    return this.report(names, { active: 1 });
  }

  complete(...names: string[]): Promise<void> {
    return this.report(names, this.finished("Complete"));
  }

  fail(name: string, reason = "BackoffLimitExceeded", message = "m"): Promise<void> {
    return this.report([name], this.finished("Failed", reason, message));
  }

  /** The status of a Job that has ended now. */
  finished(type: "Complete" | "Failed", reason = "CompletionsReached", message = "m") {
    const lastTransitionTime = new Date(this.clock.now()).toISOString();
    return {
      active: 0,
      conditions: [{ type, status: "True", reason, message, lastTransitionTime }],
    };
  }

  /** Old Jobs stay until {@link release}, as pods that take their time make them. */
  holdJobs(...names: string[]): void {
    for (const name of names) {
      this.cluster.edit(KINDS.job, `default/${name}`, {
        metadata: { finalizers: ["foregroundDeletion"] },
      });
    }
  }

  /** Lets held Jobs go. */
  async release(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.cluster.client().patch(KINDS.job, { namespace: "default", name }, {
        type: "merge",
        body: { metadata: { finalizers: null } },
      });
    }
    await this.settle();
  }
}
