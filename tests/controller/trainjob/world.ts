/** A cluster in memory with the reconciler's view of it, for tests of `controller/trainjob/`. */
import type { Executor } from "../../../controller/runtime/draft.ts";
import {
  type ReconcilerOptions,
  reconcileTrainJob,
} from "../../../controller/trainjob/reconcile.ts";
import { createChildCaches } from "../../../controller/trainjob/child_caches.ts";
import { createChildConfigMaps } from "../../../controller/trainjob/child_config_maps.ts";
import type { JobSet } from "../../../crds/jobset.ts";
import { createEndedJobSets } from "../../../controller/trainjob/ended_jobsets.ts";
import { createTrainJobFailures } from "../../../controller/trainjob/trainjob_failures.ts";
import { createRunningPods } from "../../../controller/trainjob/running_pods.ts";
import { createBoundedCache } from "../../../platform/base/bounded_cache.ts";
import type { WaitCheck } from "../../../controller/trainjob/job_events.ts";
import { createNotices } from "../../../platform/base/notices.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, MANAGER } from "../../../crds/names.ts";
import { WATCHED } from "../../../crds/watched.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { ReconcileResult } from "../../../platform/kube/controller.ts";
import { MemoryCluster } from "../memory_cluster.ts";

/** Time at the start of the tests. */
export const START = Date.parse("2026-01-01T00:00:00Z");
/** Key of the TrainJob that the builders make, and of its JobSet. */
export const KEY = "ml/tj";

/** An event as the reconciler recorded it. */
export interface Told {
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** The cluster, its clock and the reconciler. */
export class World {
  readonly cluster: MemoryCluster;
  readonly events: Told[] = [];
  now = START;
  executor: Executor = "builtin";
  ca: string | undefined;
  /** The Trial that the TrainJob's pods push for. */
  trial: string | undefined;
  /** Whether a stop of the TrainJob is being carried out. */
  isStopping = false;
  /** Whether what the job's pods pushed is in the log. */
  settled = true;
  /** ML policies that the definition of runtimes drops. */
  droppedPolicies: readonly string[] = [];
  readonly options: ReconcilerOptions;

  constructor(
    { cluster = new MemoryCluster(), ...more }:
      & Partial<Pick<ReconcilerOptions, "policies" | "since">>
      & { cluster?: MemoryCluster } = {},
  ) {
    this.cluster = cluster;
    const { events } = this;
    cluster.now = () => this.now;
    const runningPods = createRunningPods();
    const failures = createTrainJobFailures();
    const endedJobSets = createEndedJobSets();
    cluster.informer(WATCHED.pod).onChange(runningPods.seen);
    cluster.informer(WATCHED.pod).onChange(failures.seen);
    cluster.informer(WATCHED.jobSet).onChange(endedJobSets.seen);
    this.options = {
      client: cluster.client(),
      managerName: MANAGER.name,
      informers: {
        trainJobs: cluster.informer(KINDS.trainJob),
        trainingRuntimes: cluster.informer(KINDS.trainingRuntime),
        clusterTrainingRuntimes: cluster.informer(KINDS.clusterTrainingRuntime),
        jobSets: cluster.informer(WATCHED.jobSet),
        pods: cluster.informer(WATCHED.pod),
      },
      configMaps: createChildConfigMaps({
        client: cluster.client(),
        cache: cluster.informer(WATCHED.configMap, {}, LABELS.trainJobName),
      }),
      childCaches: createChildCaches({
        client: cluster.client(),
        clock: { monotonic: () => 0 },
        parentsOf: () => [],
        waiting: () => [],
      }),
      runningPods,
      failures,
      failureMessages: true,
      endedJobSets,
      since: START,
      waitChecks: createBoundedCache<WaitCheck>(100),
      ...more,
      events: {
        record: ({ namespace, name }, event) =>
          void events.push({ about: `${namespace}/${name}`, ...event }),
      },
      clock: { now: () => this.now },
      executor: () => this.executor,
      runtimeDefinitions: { droppedFor: () => Promise.resolve(this.droppedPolicies) },
      caBundle: () => this.ca,
      trials: {
        trialOf: () => Promise.resolve(this.trial),
        isStopping: () => this.isStopping,
      },
      settling: { isSettled: () => this.settled },
      isNews: createNotices(1000),
    };
  }

  /** One reconciliation. Throws what went wrong. */
  async reconcile(key = KEY): Promise<ReconcileResult> {
    const result = await this.pass(key);
    if (result?.error !== undefined) throw result.error;
    return result;
  }

  /** One reconciliation, with what went wrong in its result. */
  pass(key = KEY): Promise<ReconcileResult> {
    return reconcileTrainJob(this.options, key, new AbortController().signal);
  }

  /** Reconciles until a pass writes nothing; throws where that does not come. */
  async settle(key = KEY): Promise<void> {
    for (let pass = 0; pass < 10; pass++) {
      const before = this.cluster.writes.length;
      await this.reconcile(key);
      if (this.cluster.writes.length === before) return;
    }
    throw new Error(`still writing: ${JSON.stringify(this.cluster.writes.slice(-3))}`);
  }

  /** The events of type Warning. */
  get warnings(): Told[] {
    return this.events.filter(({ type }) => type === "Warning");
  }

  get trainJob(): TrainJob {
    const found = this.cluster.peek(KINDS.trainJob, KEY);
    if (!found) throw new Error("the TrainJob is gone");
    return found;
  }

  get jobSet(): JobSet | undefined {
    return this.cluster.peek(KINDS.jobSet, KEY);
  }

  /** The conditions of the TrainJob as `Type=Status/Reason: message`. */
  get conditions(): string[] {
    return (this.trainJob.status?.conditions ?? []).map(({ type, status, reason, message }) =>
      `${type}=${status}/${reason}: ${message}`
    );
  }

  /** What a JobSet executor would write to the JobSet's status. */
  report(status: JobSet["status"]): void {
    this.cluster.edit(KINDS.jobSet, KEY, { status });
  }

  /** A condition of the JobSet, now. */
  condition(type: string, status = "True", reason = "R", message = "m") {
    const lastTransitionTime = new Date(this.now).toISOString().replace(".000Z", "Z");
    return { type, status, reason, message, lastTransitionTime };
  }

  /** Changes the TrainJob as a user would. */
  edit(spec: unknown): void {
    this.cluster.edit(KINDS.trainJob, KEY, { spec });
  }
}
