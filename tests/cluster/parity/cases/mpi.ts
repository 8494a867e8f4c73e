/** TrainJobs on runtimes of MPI: launcher and nodes, their hostfile, their keys, and refusals. */
import type { CaseTable } from "../case.ts";
import {
  container,
  create,
  type Fields,
  job,
  jobPatch,
  renders,
  runtime,
  runtimePatch,
  type RuntimeSketch,
  trainJob,
} from "../sketches.ts";

const launcher = (more: Fields = {}, spec: Fields = {}) =>
  job("launcher", { step: "trainer", containers: [container("node", more)], job: spec });
const nodes = (more: Fields = {}, spec: Fields = {}) =>
  job("node", { containers: [container("node", { command: ["sshd"], ...more })], job: spec });
const mpi = (policy: Fields = {}, sketch: RuntimeSketch = {}, numNodes = 1) =>
  runtime({
    mlPolicy: { numNodes, mpi: { runLauncherAsNode: true, ...policy } },
    jobs: [nodes(), launcher()],
    ...sketch,
  });
const on = (trainer: Fields, policy: Fields = {}, sketch: RuntimeSketch = {}) =>
  renders(mpi(policy, sketch), trainJob({ trainer }));
const gpus = (count: string) => ({ resources: { limits: { "nvidia.com/gpu": count } } });
const apart = { runLauncherAsNode: false };

/** A runtime as upstream ships it. */
const shipped = mpi({
  numProcPerNode: 1,
  mpiImplementation: "OpenMPI",
  sshAuthMountPath: "/home/mpiuser/.ssh",
}, {
  jobSet: {
    network: { publishNotReadyAddresses: true },
    successPolicy: { operator: "All", targetReplicatedJobs: ["launcher"] },
  },
  jobs: [
    job("node", {
      containers: [container("node", {
        securityContext: { runAsUser: 1000 },
        command: ["/usr/sbin/sshd"],
        args: ["-De", "-f", "/home/mpiuser/.sshd_config"],
        readinessProbe: { tcpSocket: { port: 2222 }, initialDelaySeconds: 5 },
      })],
      pod: { securityContext: { fsGroup: 1000 } },
    }),
    job("launcher", {
      step: "trainer",
      containers: [container("node", { securityContext: { runAsUser: 1000 } })],
      pod: { securityContext: { fsGroup: 1000 } },
      more: { dependsOn: [{ name: "node", status: "Ready" }] },
    }),
  ],
});

const NODES: CaseTable = {
  "mpi as upstream ships it": renders(shipped),
  "mpi as upstream ships it, on three nodes": renders(
    shipped,
    trainJob({
      trainer: {
        command: ["mpirun", "python", "train.py"],
        numNodes: 3,
        env: [{ name: "LOG", value: "debug" }],
        resourcesPerNode: { limits: { "nvidia.com/gpu": "2" } },
      },
    }),
  ),
  "mpi with the defaults of the schema": renders(
    runtime({ mlPolicy: { mpi: {} }, jobs: [nodes(), launcher()] }),
  ),
  "mpi with numNodes 1": on({ numNodes: 1 }),
  "mpi with numNodes 2": on({ numNodes: 2 }),
  "mpi with a launcher apart": on({ numNodes: 3 }, apart),
  "mpi with a launcher apart on one node": on({ numNodes: 1 }, apart),
  "mpi with a launcher before the nodes": on({ numNodes: 3 }, {}, { jobs: [launcher(), nodes()] }),
  "mpi with the parallelism of the node job": renders(
    mpi({}, { jobs: [nodes({}, { parallelism: 3 }), launcher()] }),
  ),
  "mpi with numNodes of the policy": renders(mpi({}, {}, 3)),
  "mpi with numNodes 0": on({ numNodes: 0 }),
  "mpi with a custom subdomain": on(
    { numNodes: 2 },
    {},
    { jobSet: { network: { subdomain: "mine" } } },
  ),
  "mpi with one node that launches itself": on(
    { numNodes: 1 },
    {},
    { jobs: [job("node", { step: "trainer" })] },
  ),
  "mpi with an image of the trainer": on({ image: "example.com/mine:1", numNodes: 2 }),
  "mpi with an image of the trainer, and another of the nodes": on(
    { image: "example.com/mine:1", numNodes: 2 },
    {},
    { jobs: [nodes({ image: "example.com/sshd:1" }), launcher()] },
  ),
};

const PROCESSES: CaseTable = {
  "mpi with numProcPerNode of the runtime": renders(mpi({ numProcPerNode: 4 })),
  "mpi with numProcPerNode of the TrainJob": on({ numProcPerNode: 2 }, { numProcPerNode: 4 }),
  "mpi with GPUs of the runtime": renders(
    mpi({}, { jobs: [nodes(gpus("2")), launcher(gpus("2"))] }),
  ),
  "mpi with one GPU": on({ resourcesPerNode: { limits: { "nvidia.com/gpu": "1" } } }),
  "mpi with GPUs beside numProcPerNode of the runtime": on(
    { resourcesPerNode: { limits: { "nvidia.com/gpu": "8" } } },
    { numProcPerNode: 2 },
  ),
  "mpi with CPUs": on({ resourcesPerNode: { requests: { cpu: "4" } } }),
  "mpi with resources and a launcher apart": on(
    { resourcesPerNode: { limits: { "nvidia.com/gpu": "2" } } },
    apart,
  ),
};

const FILES: CaseTable = {
  "mpi with variables of runtime and TrainJob": on(
    { env: [{ name: "B", value: "2" }, { name: "A", value: "3" }] },
    {},
    {
      jobs: [
        nodes({ env: [{ name: "A", value: "1" }] }),
        launcher({ env: [{ name: "A", value: "1" }, { name: "C", value: "4" }] }),
      ],
    },
  ),
  "mpi with the variables of Open MPI 5": on({
    env: [
      { name: "PRTE_MCA_prte_default_hostfile", value: "/data/hosts" },
      { name: "PRTE_MCA_plm_ssh_args", value: "-p 2222" },
    ],
  }),
  "mpi with volumes of the runtime": renders(mpi({}, {
    jobs: [
      nodes({ volumeMounts: [{ name: "data", mountPath: "/data" }] }),
      job("launcher", {
        step: "trainer",
        containers: [container("node", { volumeMounts: [{ name: "data", mountPath: "/data" }] })],
        pod: { volumes: [{ name: "data", emptyDir: {} }] },
      }),
    ].map((one, index) =>
      index > 0 ? one : job("node", {
        containers: [container("node", { volumeMounts: [{ name: "data", mountPath: "/data" }] })],
        pod: { volumes: [{ name: "data", emptyDir: {} }] },
      })
    ),
  })),
  "mpi with a volume of that name": renders(mpi({}, {
    jobs: [
      job("node", { pod: { volumes: [{ name: "mpi-ssh-auth", emptyDir: {} }] } }),
      launcher(),
    ],
  })),
  "mpi with a container beside the launcher's": renders(mpi({}, {
    jobs: [
      nodes(),
      job("launcher", { step: "trainer", containers: [container("node"), container("side")] }),
    ],
  })),
  "mpi with another job beside": renders(mpi({}, {
    jobs: [nodes(), launcher(), job("watch")],
  })),
  "mpi with a patch of launcher and nodes": renders(
    mpi(),
    trainJob({
      trainer: { numNodes: 3 },
      runtimePatches: [
        runtimePatch("example.com/me", [
          jobPatch("node", { nodeSelector: { a: "b" } }),
          jobPatch("launcher", { tolerations: [{ key: "k", operator: "Exists" }] }),
        ]),
      ],
    }),
  ),
  "mpi while suspended": renders(mpi(), trainJob({ suspend: true, trainer: { numNodes: 2 } })),
};

const REFUSED: CaseTable = {
  "mpi with reserved variables": on({
    env: [
      { name: "OMPI_MCA_plm_rsh_args", value: "x" },
      { name: "A", value: "1" },
      { name: "OMPI_MCA_orte_default_hostfile", value: "y" },
    ],
  }),
  "mpi with two nodes and no job of nodes": on({ numNodes: 2 }, {}, { jobs: [launcher()] }),
  "mpi with two nodes and no launcher": on(
    { numNodes: 2 },
    {},
    { jobs: [job("node", { step: "trainer" })] },
  ),
  "mpi with a launcher apart and no job of nodes": on({ numNodes: 2 }, apart, {
    jobs: [launcher()],
  }),
  "mpi without an implementation": [{ actions: [create(mpi({ mpiImplementation: "" }))] }],
  "mpi of an implementation that upstream does not have": [
    { actions: [create(mpi({ mpiImplementation: "MPICH" }))] },
  ],
  "mpi of an unknown implementation": [
    { actions: [create(mpi({ mpiImplementation: "LAM" }))] },
  ],
  "mpi with no processes": [{ actions: [create(mpi({ numProcPerNode: 0 }))] }],
};

/** See above. */
export const MPI: CaseTable = { ...NODES, ...PROCESSES, ...FILES, ...REFUSED };
