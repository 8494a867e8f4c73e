/** TrainJobs on torch runtimes: the variables of torchrun, and where they go. */
import type { CaseTable } from "../case.ts";
import {
  container,
  type Fields,
  job,
  node,
  onNode,
  renders,
  torch,
  trainJob,
} from "../sketches.ts";

const on = (trainer: Fields) => renders(torch(), trainJob({ trainer }));
const withResources = (resources: Fields, trainer: Fields = {}) =>
  renders(
    torch({ jobs: [node({ containers: [container("node", { resources })] })] }),
    trainJob({ trainer }),
  );
const limits = (of: Fields) => ({ resourcesPerNode: { limits: of } });
const gpuContainer = { resources: { limits: { "nvidia.com/gpu": "2" } } };
const requests = (of: Fields) => ({ resourcesPerNode: { requests: of } });

const VARIABLES: CaseTable = {
  "a bare TrainJob on a torch runtime": renders(torch()),
  "an empty trainer on a torch runtime": on({}),
  "the example of the documentation": on({
    image: "example.com/train:1",
    numNodes: 2,
    env: [{ name: "LOG", value: "debug" }],
    resourcesPerNode: { requests: { cpu: "2500m" } },
  }),
  "torch with numNodes of the policy": renders(
    torch({ mlPolicy: { numNodes: 4, torch: {} } }),
    trainJob({ trainer: {} }),
  ),
  "torch with numNodes 0": on({ numNodes: 0 }),
  "torch with env of the runtime of the same name": renders(
    torch({
      jobs: [node({
        containers: [container("node", {
          env: [{ name: "PET_NNODES", value: "99" }, { name: "A", value: "1" }],
        })],
      })],
    }),
    trainJob({ trainer: { env: [{ name: "B", value: "2" }] } }),
  ),
  "torch with a port of that number": renders(
    torch({
      jobs: [node({ containers: [container("node", { ports: [{ containerPort: 29500 }] })] })],
    }),
    trainJob({ trainer: {} }),
  ),
  "torch with an unnamed port of another number": renders(
    torch({
      jobs: [node({ containers: [container("node", { ports: [{ containerPort: 8080 }] })] })],
    }),
    trainJob({ trainer: {} }),
  ),
  "torch with a named port": renders(
    torch({
      jobs: [node({
        containers: [container("node", { ports: [{ name: "http", containerPort: 8080 }] })],
      })],
    }),
    trainJob({ trainer: {} }),
  ),
  "torch with a custom subdomain": renders(
    torch({ jobSet: { network: { subdomain: "mine" } } }),
    trainJob({ trainer: { numNodes: 2 } }),
  ),
  "torch with a trainer job of another name": renders(
    torch({ jobs: [job("workers", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2 } }),
  ),
  "torch with two unnamed ports of the runtime": renders(
    torch(onNode({ ports: [{ containerPort: 8080 }, { containerPort: 8081, protocol: "UDP" }] })),
    trainJob({ trainer: {} }),
  ),
  "torch with one port of both protocols": renders(
    torch(onNode({
      ports: [{ name: "t", containerPort: 29500 }, {
        name: "u",
        containerPort: 29500,
        protocol: "UDP",
      }],
    })),
    trainJob({ trainer: {} }),
  ),
  "torch with two jobs of the trainer": renders(
    torch({ jobs: [node(), job("more", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2, env: [{ name: "A", value: "1" }] } }),
  ),
  "torch with containers beside the trainer's": renders(
    torch({ jobs: [node({ containers: [container("node"), container("side")] })] }),
    trainJob({ trainer: {} }),
  ),
};

const PROCESSES: CaseTable = {
  "numProcPerNode as a number": on({ numProcPerNode: 8 }),
  "numProcPerNode wins over GPUs": on({ numProcPerNode: 2, ...limits({ "nvidia.com/gpu": "4" }) }),
  "GPUs by limits": on(limits({ "nvidia.com/gpu": "4" })),
  "GPUs by requests": on(requests({ "nvidia.com/gpu": "2" })),
  "GPUs of another vendor": on(limits({ "amd.com/gpu": "2" })),
  "no GPU by number 0": on(limits({ "nvidia.com/gpu": "0", cpu: "3" })),
  "MIG devices are no GPUs": on(limits({ "nvidia.com/mig-1g.5gb": "2" })),
  "MIG devices beside CPUs": on(limits({ "nvidia.com/mig-1g.5gb": "2", cpu: "6" })),
  "TPUs are no GPUs": on(limits({ "google.com/tpu": "4" })),
  "CPUs by limits": on(limits({ cpu: "4" })),
  "CPUs by requests win over limits": on({
    resourcesPerNode: { requests: { cpu: "2" }, limits: { cpu: "8" } },
  }),
  "CPUs are rounded up": on(requests({ cpu: "2500m" })),
  "less than a CPU is one process": on(requests({ cpu: "100m" })),
  "memory alone is one process": on(limits({ memory: "4Gi" })),
  "GPUs of the runtime": withResources({ limits: { "nvidia.com/gpu": "2" } }),
  "CPUs of the runtime": withResources({ requests: { cpu: "3" } }),
  "no CPUs by requests, some by limits": withResources({
    requests: { cpu: "0" },
    limits: { cpu: "4" },
  }),
  "no GPUs by requests, some by limits": withResources({
    requests: { "nvidia.com/gpu": "0" },
    limits: { "nvidia.com/gpu": "2" },
  }),
  "CPUs of the runtime as limits, of the TrainJob as requests": withResources(
    { limits: { cpu: "8" } },
    requests({ cpu: "3" }),
  ),
  "GPUs of a job that is not the trainer, before it": renders(
    torch({
      jobs: [
        job("node", { containers: [container("node", gpuContainer)] }),
        job("workers", { step: "trainer" }),
      ],
    }),
    trainJob({ trainer: {} }),
  ),
  "GPUs of the runtime, memory of the TrainJob": withResources(
    { limits: { "nvidia.com/gpu": "2" } },
    limits({ memory: "8Gi" }),
  ),
  "GPUs of the runtime, CPUs of the TrainJob": withResources(
    { limits: { "nvidia.com/gpu": "2" } },
    limits({ cpu: "4" }),
  ),
};

const target = (jobName: string, ...containerNames: string[]) => ({
  envInjection: { targets: [{ jobName, containerNames }] },
});
const sides = [
  node({
    containers: [container("node"), container("side", { env: [{ name: "X", value: "1" }] })],
    pod: { initContainers: [container("prepare")] },
  }),
  job("watch", { containers: [container("a"), container("b")] }),
];
const injecting = (torchPolicy: Fields, trainer: Fields | undefined = {}) =>
  renders(
    torch({ mlPolicy: { numNodes: 2, torch: torchPolicy }, jobs: sides }),
    trainJob(trainer === undefined ? {} : { trainer }),
  );

const INJECTION: CaseTable = {
  "env injected into a container beside": injecting(target("node", "side")),
  "env injected into an init container": injecting(target("node", "prepare")),
  "env injected into another job": injecting(target("watch", "a", "b")),
  "env injected into several": injecting({
    envInjection: {
      targets: [
        { jobName: "watch", containerNames: ["b"] },
        { jobName: "node", containerNames: ["side", "prepare"] },
      ],
    },
  }),
  "env injected if the TrainJob has a trainer of its own": injecting(
    target("node", "side"),
    { numNodes: 3, numProcPerNode: 2 },
  ),
  "env injected if the TrainJob has no trainer": renders(
    torch({ mlPolicy: { numNodes: 2, torch: target("node", "side") }, jobs: sides }),
  ),
  "env injected into a job that is not there": injecting(target("nowhere", "side")),
  "env injected into a container that is not there": injecting(target("node", "nothing")),
};

const RESERVED: CaseTable = {
  "reserved variables in trainer.env": on({
    env: [{ name: "PET_NNODES", value: "1" }, { name: "PET_MASTER_ADDR", value: "x" }],
  }),
  "one reserved variable among others": on({
    env: [{ name: "A", value: "1" }, { name: "PET_NODE_RANK", value: "0" }],
  }),
  "reserved names are no matter on a torch runtime's other variables": on({
    env: [{ name: "PET_OTHER", value: "1" }],
  }),
};

/** See above. */
export const TORCH: CaseTable = { ...VARIABLES, ...PROCESSES, ...INJECTION, ...RESERVED };
