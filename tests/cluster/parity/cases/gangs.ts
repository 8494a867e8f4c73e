/** Pod groups of coscheduling and Volcano. */
import type { CaseTable } from "../case.ts";
import type { Target } from "../answers.ts";
import type { Manifest } from "../manifest.ts";
import {
  container,
  create,
  type Fields,
  job,
  type JobSketch,
  node,
  patch,
  plain,
  pods,
  remove,
  rendered,
  renders,
  runtimePatch,
  type RuntimeSketch,
  TJ,
  torch,
  trainJob,
} from "../sketches.ts";

const COSCHEDULING = { coscheduling: {} };
const VOLCANO = { volcano: {} };
const QUEUE = "scheduling.volcano.sh/queue-name";

const asks = (requests: Fields, limits?: Fields): Fields => ({
  resources: { requests, ...limits === undefined ? {} : { limits } },
});
const nodeOf = (resources: Fields, more: JobSketch = {}) =>
  node({ containers: [container("node", resources)], ...more });
const SMALL = nodeOf(asks({ cpu: "500m", memory: "256Mi" }));

const gang = (sketch: RuntimeSketch = {}) =>
  plain({ podGroupPolicy: COSCHEDULING, jobs: [SMALL], ...sketch });
const volcano = (sketch: RuntimeSketch = {}) => gang({ podGroupPolicy: VOLCANO, ...sketch });
const nodes = (numNodes: number, more: Fields = {}) => trainJob({ trainer: { numNodes, ...more } });

const initializer = (more: JobSketch = {}) =>
  job("dataset-initializer", {
    step: "dataset-initializer",
    containers: [container("dataset-initializer", asks({ cpu: "1", memory: "4Gi" }))],
    ...more,
  });
const after = (name: string, status: string) => ({ more: { dependsOn: [{ name, status }] } });
const STAGED = [
  initializer(),
  nodeOf(asks({ cpu: "2", memory: "1Gi" }), after("dataset-initializer", "Complete")),
];

/** The pod group of coscheduling, and one of somebody else. */
const GROUP: Target = { apiVersion: "scheduling.x-k8s.io/v1alpha1", kind: "PodGroup", name: "tj" };
const FOREIGN: Manifest = {
  apiVersion: "scheduling.x-k8s.io/v1alpha1",
  kind: "PodGroup",
  metadata: { name: "tj" },
  spec: { minMember: 7 },
};

const priorityClass = (name: string): Manifest => ({
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name },
  value: 10,
});
const withClass = (priorityClassName: string): Fields =>
  nodeOf(asks({ cpu: "1" }), { pod: { priorityClassName } });

const RESOURCES: CaseTable = {
  "a gang of one node": renders(gang()),
  "a gang of nodes": renders(gang(), nodes(3)),
  "a gang with a time of its own": renders(
    gang({ podGroupPolicy: { coscheduling: { scheduleTimeoutSeconds: 15 } } }),
  ),
  "a gang of the torch policy": renders(
    torch({ podGroupPolicy: COSCHEDULING, jobs: [SMALL] }),
    nodes(2),
  ),
  "a gang with the TrainJob's resources": renders(
    gang(),
    nodes(4, { resourcesPerNode: { requests: { cpu: "250m", memory: "1Gi" } } }),
  ),
  "a gang with requests below its limits": renders(
    gang({
      jobs: [nodeOf(asks(
        { cpu: "1", memory: "1Gi", "nvidia.com/gpu": "2" },
        { cpu: "2", memory: "2Gi", "nvidia.com/gpu": "2" },
      ))],
    }),
    nodes(2),
  ),
  "a gang whose amounts are written in other ways": renders(
    gang({ jobs: [nodeOf(asks({ cpu: "0.1", memory: "1e9", "ephemeral-storage": "1536Mi" }))] }),
    nodes(4),
  ),
  "a gang without requests": renders(gang({ jobs: [node()] }), nodes(2)),
  "a gang with init containers": renders(
    gang({
      jobs: [nodeOf(asks({ cpu: "1", memory: "1Gi" }), {
        pod: {
          initContainers: [
            container("a", asks({ cpu: "3" })),
            container("b", asks({ memory: "512Mi" })),
          ],
        },
      })],
    }),
    nodes(2),
  ),
  "a gang with sidecars": renders(
    gang({
      jobs: [nodeOf(asks({ cpu: "1" }), {
        pod: {
          initContainers: [
            { ...container("side", asks({ cpu: "200m" })), restartPolicy: "Always" },
            container("first", asks({ cpu: "1500m" })),
          ],
        },
      })],
    }),
    nodes(3),
  ),
  "a gang with overhead": renders(
    gang({ jobs: [nodeOf(asks({ cpu: "1" }), { pod: { overhead: { cpu: "50m" } } })] }),
    // Its pods would need a RuntimeClass.
    trainJob({ suspend: true, trainer: { numNodes: 2 } }),
  ),
  "a gang with GPUs as limits alone": renders(
    gang({ jobs: [nodeOf({ resources: { limits: { "nvidia.com/gpu": "2" } } })] }),
    nodes(2),
  ),
  "a gang without time": renders(
    gang({ podGroupPolicy: { coscheduling: { scheduleTimeoutSeconds: 0 } } }),
  ),
  "a gang without an mlPolicy": renders(
    gang({ mlPolicy: undefined }),
    nodes(3, { resourcesPerNode: { requests: { cpu: "2" } } }),
  ),
  "a gang of two jobs of the trainer": renders(
    gang({
      mlPolicy: { numNodes: 2 },
      jobs: [SMALL, { ...SMALL, name: "more" }],
    }),
    nodes(4, { resourcesPerNode: { requests: { cpu: "1" } } }),
  ),
  "a gang of jobs that wait for none": renders(
    gang({ jobs: [initializer(), job("extra", { job: { parallelism: 2 } }), SMALL] }),
    nodes(100),
  ),
  "a gang with replicas": renders(
    gang({
      jobs: [
        SMALL,
        job("extra", {
          containers: [container("extra", asks({ cpu: "1" }))],
          more: { replicas: 3 },
        }),
      ],
    }),
  ),
  "a gang of pods with labels and annotations of their own": renders(
    gang({
      jobs: [nodeOf(asks({ cpu: "1" }), {
        podMetadata: { labels: { a: "1" }, annotations: { b: "2" } },
      })],
    }),
  ),
};

const TURNS: CaseTable = {
  "a gang behind an initializer": [
    ...renders(gang({ jobs: STAGED }), nodes(4)),
    { actions: [pods("tj-dataset-initializer-0", "Running")] },
    {
      actions: [pods("tj-dataset-initializer-0", "Succeeded")],
      until: (view) => view.get("jobs", "tj-node-0") !== undefined,
    },
  ],
  "a gang of Volcano behind an initializer": renders(volcano({ jobs: STAGED }), nodes(4)),
  "a gang with a launcher that waits for its nodes": renders(
    gang({ jobs: [SMALL, job("launcher", after("node", "Ready"))] }),
    nodes(2),
  ),
};

const LIFE: CaseTable = {
  "a gang of a suspended TrainJob": renders(gang(), trainJob({ suspend: true })),
  "a gang that is suspended and resumed": [
    ...renders(gang(), trainJob({ suspend: true, trainer: { numNodes: 2 } })),
    { actions: [patch(TJ, { spec: { suspend: false } })], until: rendered },
  ],
  "a gang of which a suspended TrainJob's queue changes": [
    ...renders(volcano(), trainJob({ suspend: true })),
    {
      actions: [patch(TJ, {
        spec: {
          runtimePatches: [runtimePatch("acme.io/queues", [], { annotations: { [QUEUE]: "b" } })],
        },
      })],
      until: (view) => view.get("volcanoGroups", "tj")?.spec?.queue === "b",
    },
  ],
  "a gang whose group is changed by hand while it runs": [
    ...renders(gang(), nodes(2)),
    { actions: [patch(GROUP, { spec: { minMember: 1 } })] },
  ],
  "a gang whose group is deleted while it runs": [
    ...renders(gang(), nodes(2)),
    {
      actions: [remove(GROUP)],
      until: (view) => view.get("coschedulingGroups", "tj") !== undefined,
    },
  ],
  "a gang of no nodes": renders(gang(), nodes(0)),
  "a pod group of that name that is nobody's": [
    { actions: [create(FOREIGN)] },
    ...renders(gang()),
  ],
  "both gang schedulers at once": renders(
    gang({ podGroupPolicy: { ...COSCHEDULING, ...VOLCANO } }),
    nodes(2),
  ),
};

const OF_VOLCANO: CaseTable = {
  "a gang of Volcano": renders(volcano(), nodes(3)),
  "a gang of Volcano with the runtime's queue": renders(
    volcano({ jobSetMetadata: { annotations: { [QUEUE]: "research" } } }),
  ),
  "a gang of Volcano with the queue of a patch": renders(
    volcano({ jobSetMetadata: { annotations: { [QUEUE]: "research" } } }),
    trainJob({
      runtimePatches: [runtimePatch("acme.io/queues", [], { annotations: { [QUEUE]: "mine" } })],
    }),
  ),
  "a gang of Volcano with an empty queue": renders(
    volcano({ jobSetMetadata: { annotations: { [QUEUE]: "" } } }),
  ),
  "a gang of Volcano with an empty queue of a patch": renders(
    volcano(),
    trainJob({
      runtimePatches: [runtimePatch("acme.io/queues", [], { annotations: { [QUEUE]: "" } })],
    }),
  ),
  "a gang of Volcano with a topology": renders(
    volcano({
      podGroupPolicy: { volcano: { networkTopology: { mode: "soft", highestTierAllowed: 2 } } },
    }),
  ),
  "a gang of Volcano with a topology and its defaults": renders(
    volcano({ podGroupPolicy: { volcano: { networkTopology: {} } } }),
  ),
  "a gang of Volcano with a topology, a queue, GPUs and a class": renders(
    volcano({
      podGroupPolicy: { volcano: { networkTopology: { highestTierAllowed: 0 } } },
      jobSetMetadata: { labels: { a: "1" }, annotations: { [QUEUE]: "q", "other.io/b": "2" } },
      jobs: [withClass("parity-low")],
    }),
    nodes(2, { resourcesPerNode: { requests: { cpu: "1", "nvidia.com/gpu": "4" } } }),
  ),
  "a gang of Volcano with a priority class": renders(
    volcano({ jobs: [withClass("parity-high")] }),
  ),
  "a gang of Volcano with the last of two priority classes": renders(
    volcano({
      jobs: [
        initializer({ pod: { priorityClassName: "parity-high" } }),
        withClass("parity-low"),
      ],
    }),
  ),
  "a gang of Volcano with a priority class that does not exist": renders(
    volcano({ jobs: [withClass("nothing")] }),
  ),
  "a gang of Volcano with a priority class of the system before one that does not exist": renders(
    volcano({
      jobs: [
        initializer({ pod: { priorityClassName: "system-node-critical" } }),
        withClass("nothing"),
      ],
    }),
  ),
  "a gang of Volcano with a topology of an unknown mode": renders(
    volcano({ podGroupPolicy: { volcano: { networkTopology: { mode: "loose" } } } }),
  ),
};

export const GANGS: CaseTable = { ...RESOURCES, ...TURNS, ...LIFE, ...OF_VOLCANO };

/** Objects that the cases need and that belong to no namespace. */
export const PRIORITY_CLASSES: readonly Manifest[] = ["parity-high", "parity-low"]
  .map(priorityClass);
