/** TrainJobs on runtimes of MPI with patches, gangs, resources and jobs of other shapes. */
import type { Target } from "../answers.ts";
import type { CaseTable } from "../case.ts";
import type { Manifest } from "../manifest.ts";
import {
  container,
  env,
  type Fields,
  gpusPerNode,
  initializerJob,
  job,
  jobPatch,
  type JobSketch,
  patch,
  remove,
  rendered,
  renders,
  runtime,
  runtimePatch,
  type RuntimeSketch,
  TJ,
  trainJob,
} from "../sketches.ts";

const launcher = (more: Fields = {}, sketch: JobSketch = {}) =>
  job("launcher", { step: "trainer", containers: [container("node", more)], ...sketch });
const nodes = (more: Fields = {}, sketch: JobSketch = {}) =>
  job("node", { containers: [container("node", { command: ["sshd"], ...more })], ...sketch });
const mpi = (sketch: RuntimeSketch = {}, policy: Fields = {}): Manifest =>
  runtime({
    mlPolicy: { numNodes: 1, mpi: { runLauncherAsNode: true, ...policy } },
    jobs: [nodes(), launcher()],
    ...sketch,
  });
const on = (trainer: Fields, sketch: RuntimeSketch = {}, policy: Fields = {}) =>
  renders(mpi(sketch, policy), trainJob({ trainer }));
const gpus = (count: string) => ({ resources: { limits: { "nvidia.com/gpu": count } } });
const apart = { runLauncherAsNode: false };
const patched = (jobs: readonly Fields[], sketch: RuntimeSketch = {}) =>
  renders(
    mpi(sketch),
    trainJob({
      trainer: { numNodes: 2 },
      runtimePatches: [runtimePatch("example.com/me", jobs)],
    }),
  );
const withGpus = (ofNodes: string, ofLauncher: string): RuntimeSketch => ({
  jobs: [nodes(gpus(ofNodes)), launcher(gpus(ofLauncher))],
});

const PROCESSES: CaseTable = {
  "mpi with GPUs of the runtime, CPUs of the TrainJob": on(
    { resourcesPerNode: { requests: { cpu: "4" } } },
    withGpus("2", "2"),
  ),
  "mpi with GPUs of the runtime, none by the TrainJob": on(
    { numNodes: 2, ...gpusPerNode("0") },
    withGpus("2", "2"),
  ),
  "mpi with GPUs of the nodes alone": on({}, { jobs: [nodes(gpus("2")), launcher()] }),
  "mpi with GPUs of the launcher alone": on({}, { jobs: [nodes(), launcher(gpus("2"))] }),
  "mpi with the launcher's GPUs before the nodes'": on(
    {},
    { jobs: [launcher(gpus("4")), nodes(gpus("2"))] },
  ),
  "mpi with numProcPerNode 1 of the TrainJob beside GPUs": on({
    numProcPerNode: 1,
    ...gpusPerNode("4"),
  }),
  "mpi with a launcher apart, GPUs of both": on({ numNodes: 2 }, withGpus("2", "4"), apart),
};

const SHAPES: CaseTable = {
  "mpi with numNodes beside the parallelism of the node job": on(
    { numNodes: 5 },
    { jobs: [nodes({}, { job: { parallelism: 3 } }), launcher()] },
  ),
  "mpi with nodes that are the trainer, and their parallelism": on(
    {},
    { jobs: [nodes({}, { step: "trainer", job: { parallelism: 3 } }), launcher()] },
  ),
  "mpi with replicas of the nodes": on(
    { numNodes: 3 },
    { jobs: [nodes({}, { more: { replicas: 2 } }), launcher()] },
  ),
  "mpi with a launcher without the label of the step": on(
    {},
    { jobs: [nodes({}, { step: "trainer" }), launcher({}, { step: "other" })] },
  ),
  "mpi with a launcher's container of another name": on(
    { numNodes: 2 },
    {
      jobs: [
        nodes({}, { step: "trainer" }),
        job("launcher", { containers: [container("launcher")] }),
      ],
    },
  ),
  "mpi with a launcher apart and an initializer": renders(
    mpi({
      jobs: [
        initializerJob("dataset-initializer"),
        nodes({}, { more: { dependsOn: [{ name: "dataset-initializer", status: "Complete" }] } }),
        launcher({}, { more: { dependsOn: [{ name: "node", status: "Ready" }] } }),
      ],
    }, apart),
    trainJob({
      initializer: { dataset: { storageUri: "hf://a/b", secretRef: { name: "token" } } },
      trainer: { numNodes: 2, command: ["mpirun"], args: ["python", "train.py"] },
    }),
  ),
  "mpi with init containers and unnamed ports": on(
    { numNodes: 2 },
    {
      jobs: [
        nodes({ ports: [{ containerPort: 2222 }] }, {
          pod: { initContainers: [container("prepare")] },
        }),
        launcher({}, { pod: { initContainers: [container("wait")] } }),
      ],
    },
  ),
};

const FILES: CaseTable = {
  "mpi with a patch of the launcher's volumes and mounts": patched([
    jobPatch("launcher", {
      volumes: [{ name: "data", emptyDir: {} }, { name: "mpi-hostfile", emptyDir: {} }],
      containers: [{
        name: "node",
        volumeMounts: [
          { name: "data", mountPath: "/data" },
          { name: "mpi-hostfile", mountPath: "/hosts" },
        ],
        securityContext: { runAsUser: 1000 },
      }],
    }),
  ]),
  "mpi with env of the launcher in a patch": patched([
    jobPatch("launcher", { containers: [{ name: "node", env: env({ A: "1" }) }] }),
  ]),
  "mpi with env of a container beside the launcher's in a patch": patched([
    jobPatch("launcher", { containers: [{ name: "side", env: env({ A: "1" }) }] }),
  ], {
    jobs: [nodes(), launcher({}, { containers: [container("node"), container("side")] })],
  }),
  "mpi with what Kueue writes for launcher and nodes": patched(
    ["node", "launcher"].map((name) =>
      jobPatch(name, {
        nodeSelector: { flavor: "spot" },
        schedulingGates: [{ name: "kueue.x-k8s.io/topology" }],
      }, { labels: { "kueue.x-k8s.io/podset": name } })
    ),
  ),
  "mpi with a mount of the runtime at the place of the keys": on({}, {
    jobs: [
      nodes({ volumeMounts: [{ name: "v", mountPath: "/root/.ssh", readOnly: true }] }, {
        pod: { volumes: [{ name: "v", emptyDir: {} }] },
      }),
      launcher(),
    ],
  }),
  "mpi with keys at another place": on({ numNodes: 2 }, {}, { sshAuthMountPath: "/keys" }),
};

/** The hostfile of the TrainJob. */
const HOSTFILE: Target = { apiVersion: "v1", kind: "ConfigMap", name: "tj-mpi-hostfile" };

const LIFE: CaseTable = {
  "mpi in a gang": on(
    { numNodes: 3, resourcesPerNode: { requests: { cpu: "2", "nvidia.com/gpu": "1" } } },
    { podGroupPolicy: { coscheduling: { scheduleTimeoutSeconds: 0 } } },
  ),
  "mpi in a gang of Volcano, with its launcher apart": on(
    { numNodes: 3, resourcesPerNode: { requests: { cpu: "2" } } },
    {
      podGroupPolicy: { volcano: {} },
      jobSetMetadata: { annotations: { "scheduling.volcano.sh/queue-name": "q" } },
    },
    apart,
  ),
  "mpi that resumes with a patch": [
    ...renders(mpi(), trainJob({ suspend: true, trainer: { numNodes: 3 } })),
    {
      actions: [patch(TJ, {
        spec: {
          suspend: false,
          runtimePatches: [
            runtimePatch("kueue.x-k8s.io/manager", [
              jobPatch("node", { nodeSelector: { a: "b" } }),
            ]),
          ],
        },
      })],
      until: rendered,
    },
  ],
  "mpi whose hostfile is deleted": [
    ...renders(mpi(), trainJob({ trainer: { numNodes: 2 } })),
    {
      actions: [remove(HOSTFILE)],
      until: (view) => view.get("configMaps", "tj-mpi-hostfile") !== undefined,
    },
  ],
  "mpi whose hostfile is changed": [
    ...renders(mpi(), trainJob({ trainer: { numNodes: 2 } })),
    { actions: [patch(HOSTFILE, { data: { hostfile: "localhost", more: "x" } })] },
  ],
  "mpi whose Secret is deleted": [
    ...renders(mpi()),
    {
      actions: [remove({ apiVersion: "v1", kind: "Secret", name: "tj-mpi-ssh-auth" })],
      until: (view) => view.get("secrets", "tj-mpi-ssh-auth") !== undefined,
    },
  ],
};

/** See above. */
export const MPI_COMBINATIONS: CaseTable = { ...PROCESSES, ...SHAPES, ...FILES, ...LIFE };
