/** Objects of the tests with Kueue: runtimes, TrainJobs, flavors and queues. Pure. */
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, STEPS, TRAINER_API_VERSION } from "../../../crds/names.ts";
import type { ClusterTrainingRuntime } from "../../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../../crds/trainjob.ts";

/** Processor time that each pod asks for; the queue has room for four pods of the flavor `spot`. */
export const POD_CPU = "100m";
const POOL_CPU = "400m";

/** Labels of a job that choose its queue and its priority. */
export const KUEUE_LABELS = {
  queue: "kueue.x-k8s.io/queue-name",
  priority: "kueue.x-k8s.io/priority-class",
} as const;

/** Local queues: one with the flavors `spot` and `demand`, one with a topology, one with flavors of other labels. */
export type Queue = "team" | "team-racks" | "team-moves";

function job(name: string, step: string, more: object = {}) {
  const container = {
    name: step === STEPS.trainer ? "node" : step,
    image: "none",
    command: ["sleep", "600"],
    resources: { requests: { cpu: POD_CPU } },
  };
  return {
    name,
    template: {
      metadata: { labels: { [LABELS.ancestorStep]: step } },
      spec: {
        backoffLimit: 0,
        template: { spec: { restartPolicy: "Never", containers: [container] } },
      },
    },
    ...more,
  };
}

function runtime(name: string, replicatedJobs: readonly unknown[]): ClusterTrainingRuntime {
  return KINDS.clusterTrainingRuntime.parse({
    apiVersion: TRAINER_API_VERSION,
    kind: "ClusterTrainingRuntime",
    metadata: { name, labels: { [LABELS.framework]: "plain" } },
    spec: { mlPolicy: { numNodes: 1 }, template: { spec: { replicatedJobs } } },
  });
}

/** A runtime with nodes alone. */
export const plainRuntime = (name: string) => runtime(name, [job("node", STEPS.trainer)]);

/** A runtime whose nodes start when the data set is there. */
export const stagedRuntime = (name: string) =>
  runtime(name, [
    job("dataset-initializer", STEPS.datasetInitializer),
    job("node", STEPS.trainer, {
      dependsOn: [{ name: "dataset-initializer", status: "Complete" }],
    }),
  ]);

/** What a test says of a TrainJob. */
export interface TrainJobText {
  readonly runtime?: string;
  readonly queue?: Queue | undefined;
  readonly priority?: "low" | "high";
  readonly nodes?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Partial<TrainJobSpec>;
}

/** A TrainJob as its user writes it. */
export function trainJobOf(name: string, text: TrainJobText = {}): TrainJob {
  const { runtime: runtimeName = "plain", queue, priority, nodes = 1, annotations, spec } = text;
  const labels = {
    ...queue === undefined ? {} : { [KUEUE_LABELS.queue]: queue },
    ...priority === undefined ? {} : { [KUEUE_LABELS.priority]: priority },
  };
  return KINDS.trainJob.parse({
    apiVersion: TRAINER_API_VERSION,
    kind: "TrainJob",
    metadata: { name, namespace: "default", labels, annotations },
    spec: { runtimeRef: { name: runtimeName }, trainer: { numNodes: nodes }, ...spec },
  });
}

const KUEUE = "kueue.x-k8s.io/v1beta2";

function flavor(name: string, more: object = {}) {
  const nodeLabels = { pool: name };
  const tolerations = [{ key: name, operator: "Exists", effect: "NoSchedule" }];
  const spec = { nodeLabels, tolerations, ...more };
  return { apiVersion: KUEUE, kind: "ResourceFlavor", metadata: { name }, spec };
}

/** A cluster queue with so much processor time of each flavor. */
export function clusterQueue(name: string, cpuOfFlavors: Readonly<Record<string, string>>) {
  const flavors = Object.entries(cpuOfFlavors).map(([flavorName, nominalQuota]) => ({
    name: flavorName,
    resources: [{ name: "cpu", nominalQuota }],
  }));
  return {
    apiVersion: KUEUE,
    kind: "ClusterQueue",
    metadata: { name },
    spec: {
      namespaceSelector: {},
      preemption: { withinClusterQueue: "LowerPriority" },
      resourceGroups: [{ coveredResources: ["cpu"], flavors }],
    },
  };
}

function localQueue(name: Queue, clusterQueueName: string) {
  return {
    apiVersion: KUEUE,
    kind: "LocalQueue",
    metadata: { name, namespace: "default" },
    spec: { clusterQueue: clusterQueueName },
  };
}

const priorityClass = (name: string, value: number) => ({
  apiVersion: KUEUE,
  kind: "WorkloadPriorityClass",
  metadata: { name },
  value,
});

/** The cluster queue of each local queue. */
export const CLUSTER_QUEUES: Readonly<Record<Queue, string>> = {
  "team": "teams",
  "team-racks": "racks",
  "team-moves": "moves",
};

/** Quotas of the first queue: with room for four pods on `spot`, and perhaps on `demand`. */
export const teams = (demand: "0" | typeof POOL_CPU) =>
  clusterQueue(CLUSTER_QUEUES.team, { spot: POOL_CPU, demand });

/** The third queue, with a flavor of a topology, or one that has neither its labels nor its gate. */
export const moves = (flavor: "racks" | "zone") =>
  clusterQueue(CLUSTER_QUEUES["team-moves"], { [flavor]: POOL_CPU });

/** Everything that an administrator creates. */
export const QUEUES: readonly unknown[] = [
  {
    apiVersion: KUEUE,
    kind: "Topology",
    metadata: { name: "hosts" },
    spec: { levels: [{ nodeLabel: "kubernetes.io/hostname" }] },
  },
  flavor("spot"),
  flavor("demand"),
  flavor("racks", { topologyName: "hosts" }),
  flavor("zone", { nodeLabels: { zone: "demand" }, tolerations: [] }),
  teams("0"),
  clusterQueue(CLUSTER_QUEUES["team-racks"], { racks: POOL_CPU }),
  moves("racks"),
  localQueue("team", CLUSTER_QUEUES.team),
  localQueue("team-moves", CLUSTER_QUEUES["team-moves"]),
  localQueue("team-racks", CLUSTER_QUEUES["team-racks"]),
  priorityClass("low", 100),
  priorityClass("high", 1000),
];
