/** A cluster in memory with the controller of OptimizationJobs on it. */
import { createOptimizationReconciler } from "../../../controller/optimization/optimization_controller.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, TRAINJOB_CONDITIONS } from "../../../crds/names.ts";
import type { OptimizationJob } from "../../../crds/optimization_job.ts";
import { readTrialRecords, type TrialRecord } from "../../../crds/trial_records.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { WATCHED } from "../../../crds/watched.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import { isConditionTrue } from "../../../platform/kube/conditions.ts";
import { Driver } from "../../support/drive.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryCluster } from "../memory_cluster.ts";

/** The search of most cases, and its records. */
const KEY = "ns/digits";

/** A controller on a cluster. */
export class SearchWorld {
  readonly clock = new FakeClock();
  readonly cluster = new MemoryCluster();
  /** Events as `type reason: message`. */
  readonly events: string[] = [];
  /** The last values of the objective by the TrainJob's name; an error is why it is not known. */
  readonly values = new Map<string, string | Error>();
  /** The most trials whose TrainJobs had not ended at a time. */
  mostOpen = 0;
  driver: Driver;
  /** Called after each pass. */
  afterPass?: () => void;

  constructor() {
    this.cluster.now = () => this.clock.now();
    this.cluster.withStatus.add(KINDS.optimizationJob.kind);
    this.driver = this.#start();
  }

  #start(): Driver {
    const driver = new Driver(createOptimizationReconciler({
      client: this.cluster.client(),
      informers: {
        optimizationJobs: this.cluster.informer(KINDS.optimizationJob),
        trainJobs: this.cluster.informer(WATCHED.trainJob),
      },
      events: {
        record: (_about: unknown, { type, reason, message }: EventText) =>
          void this.events.push(`${type} ${reason}: ${message}`),
      },
      lastValue: ({ metadata: { name = "" } }) => {
        const value = this.values.get(name);
        return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
      },
      clock: this.clock,
    }));
    driver.afterPass = () => {
      this.mostOpen = Math.max(this.mostOpen, this.trials.filter((it) => !hasEnded(it)).length);
      this.afterPass?.();
    };
    return driver;
  }

  /** Ends the process and starts another, with fresh caches and no memory. */
  restart(): void {
    this.driver.stop();
    this.driver = this.#start();
  }

  /** Works until nothing is left to do, also when the process is restarted meanwhile. */
  async settle(): Promise<void> {
    while (this.driver.busy) await this.driver.settle();
  }

  /** Stores a search as a user does, and lets the controller work. */
  async create(job: OptimizationJob): Promise<void> {
    this.cluster.put(KINDS.optimizationJob, job);
    await this.settle();
  }

  /** The search as it is stored. */
  get search(): OptimizationJob {
    const stored = this.cluster.peek(KINDS.optimizationJob, KEY);
    if (!stored) throw new Error("the search is gone");
    return stored;
  }

  /** The conditions of the search as `Type=Status/Reason: message`. */
  get conditions(): string[] {
    return (this.search.status?.conditions ?? []).map(({ type, status, reason, message }) =>
      `${type}=${status}/${reason}: ${message}`
    );
  }

  /** Its TrainJobs by their name. */
  get trials(): TrainJob[] {
    return this.cluster.all(KINDS.trainJob)
      .filter(({ metadata }) => metadata.labels?.[LABELS.optimizationJob] === "digits")
      .sort((one, other) => one.metadata.name?.localeCompare(other.metadata.name ?? "") ?? 0);
  }

  /** Its records by their index. */
  get records(): ReadonlyMap<number, TrialRecord> {
    return readTrialRecords(this.cluster.peek(KINDS.configMap, `${KEY}-trials`)?.data).trials;
  }

  /** The state of each record, as `index state reason`. */
  get states(): string[] {
    return [...this.records].sort(([one], [other]) => one - other)
      .map(([index, { state, reason = "" }]) => `${index} ${state} ${reason}`.trimEnd());
  }

  /** Names of TrainJobs that were asked to be made, in that order. */
  get creations(): string[] {
    return this.cluster.writes.filter(({ verb, kind }) => verb === "create" && kind === "TrainJob")
      .map(({ key }) => key);
  }

  /** The name of a trial. */
  name(index: number): string {
    return `digits-01234567-${index}`;
  }

  /** Ends the TrainJob of a trial. */
  async end(
    index: number,
    type: "Complete" | "Failed" | "EarlyStopped" | "Suspended" = "Complete",
    { value, reason = "R", message = "m", status = {} }: {
      readonly value?: string | Error;
      readonly reason?: string;
      readonly message?: string;
      readonly status?: Record<string, unknown>;
    } = {},
  ): Promise<void> {
    const name = this.name(index);
    if (value !== undefined) this.values.set(name, value);
    const lastTransitionTime = new Date(this.clock.now()).toISOString();
    const condition = { type, status: "True", reason, message, lastTransitionTime };
    this.cluster.edit(KINDS.trainJob, `ns/${name}`, {
      status: { ...status, conditions: [condition], state: type },
    });
    await this.settle();
  }
}

/** Whether a TrainJob has ended. */
export function hasEnded({ status }: TrainJob): boolean {
  const { complete, failed, earlyStopped } = TRAINJOB_CONDITIONS;
  return isConditionTrue(status?.conditions, complete, failed, earlyStopped);
}
