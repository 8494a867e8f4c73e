/** A cluster in memory with the Job controller on it, and pods that a test moves by hand. */
import { KINDS } from "../../../crds/kinds.ts";
import type { Job, Pod } from "../../../platform/kube/kubernetes.ts";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import { createJobReconciler, jobPodIndexes } from "../../../standalone/jobs/job_controller.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { Driver } from "../../support/drive.ts";
import { FakeClock } from "../../support/fake_clock.ts";

type JobSpec = NonNullable<Job["spec"]>;

/** A Job `j` of one container. */
export function job(spec: Partial<JobSpec> = {}): Job {
  const container = { name: "main", image: "image" };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", namespace: "default" },
    spec: {
      template: { spec: { restartPolicy: "Never", containers: [container] } },
      ...spec,
    },
  };
}

/** An Indexed Job with as many completions as it runs at a time. */
export function indexed(completions: number, spec: Partial<JobSpec> = {}): Job {
  return job({ completionMode: "Indexed", completions, parallelism: completions, ...spec });
}

/** A Job controller on a cluster. */
export class World {
  readonly clock = new FakeClock();
  readonly cluster = new MemoryCluster();
  /** Events as `reason: message`. */
  readonly events: string[] = [];
  driver: Driver;
  /** Called after each pass. */
  afterPass?: () => void;
  #random = 0;

  constructor() {
    this.cluster.now = () => this.clock.now();
    this.driver = this.#start();
  }

  #start(): Driver {
    const record = (_about: unknown, { reason, message }: EventText) => {
      this.events.push(`${reason}: ${message}`);
    };
    const driver = new Driver(createJobReconciler({
      client: this.cluster.client(),
      informers: {
        jobs: this.cluster.informer(KINDS.job),
        pods: this.cluster.informer(KINDS.pod, jobPodIndexes),
      },
      events: { record },
      clock: this.clock,
      random: () => (this.#random = (this.#random + 0.137) % 1),
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

  async create(object: Job): Promise<void> {
    await this.cluster.client().create(KINDS.job, object);
    await this.settle();
  }

  async edit(spec: Partial<JobSpec>): Promise<void> {
    this.cluster.edit(KINDS.job, "default/j", { spec });
    await this.settle();
  }

  /** Lets time pass, and the controller look again. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.driver.enqueue("default/j");
    await this.settle();
  }

  get job(): Job {
    const stored = this.cluster.peek(KINDS.job, "default/j");
    if (!stored) throw new Error("Job j is gone");
    return stored;
  }

  get pods(): Pod[] {
    return this.cluster.all(KINDS.pod);
  }

  /** Pods that have not ended and are not asked to go. */
  get active(): Pod[] {
    return this.pods.filter(({ metadata, status }) =>
      metadata?.deletionTimestamp === undefined && status?.phase !== "Succeeded" &&
      status?.phase !== "Failed"
    );
  }

  /** Completion indexes of the active pods. */
  get activeIndexes(): string[] {
    return this.active.map(({ metadata }) =>
      metadata?.annotations?.[JOB_KEYS.completionIndex] ?? ""
    )
      .sort();
  }

  /** `type=status/reason` of each condition. */
  get conditions(): string[] {
    return (this.job.status?.conditions ?? [])
      .map(({ type, status, reason }) => `${type}=${status}/${reason}`);
  }

  /** `active/ready/succeeded/failed`. */
  get counters(): string {
    const { active = 0, ready = 0, succeeded = 0, failed = 0 } = this.job.status ?? {};
    return `${active}/${ready}/${succeeded}/${failed}`;
  }

  /** The active pod of that index, or any. */
  pod(index?: number): string {
    const pod = this.active.find(({ metadata }) =>
      index === undefined || metadata?.annotations?.[JOB_KEYS.completionIndex] === `${index}`
    );
    if (!pod) throw new Error(`no active pod of index ${index}`);
    return `default/${pod.metadata?.name}`;
  }

  /** Sets fields of a pod's status, without letting the controller work. */
  move(pod: string, status: Pod["status"]): void {
    this.cluster.edit(KINDS.pod, pod, { status });
  }

  /** Ends a pod with that exit code, without letting the controller work. */
  end(pod: string, exitCode: number, more: Pod["status"] = {}): void {
    const terminated = { exitCode, finishedAt: new Date(this.clock.now()).toISOString() };
    this.move(pod, {
      phase: exitCode === 0 ? "Succeeded" : "Failed",
      containerStatuses: [{
        name: "main",
        image: "image",
        imageID: "",
        ready: false,
        restartCount: 0,
        state: { terminated },
      }],
      ...more,
    });
  }

  async succeed(pod: string): Promise<void> {
    this.end(pod, 0);
    await this.settle();
  }

  async fail(pod: string, exitCode = 1, more: Pod["status"] = {}): Promise<void> {
    this.end(pod, exitCode, more);
    await this.settle();
  }
}
