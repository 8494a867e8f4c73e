/** TrainJobs on plain runtimes, with every override of the trainer. */
import type { CaseTable } from "../case.ts";
import {
  container,
  type Fields,
  job,
  node,
  plain,
  renders,
  runtime,
  trainJob,
} from "../sketches.ts";

const on = (trainer: Fields) => renders(plain(), trainJob({ trainer }));
const onContainer = (own: Fields, trainer: Fields) =>
  renders(plain({ jobs: [node({ containers: [container("node", own)] })] }), trainJob({ trainer }));

const secretKey = { secretKeyRef: { name: "s", key: "k", optional: true } };

const PROGRAM: CaseTable = {
  "a bare TrainJob on a plain runtime": renders(plain()),
  "an empty trainer": on({}),
  "an image": on({ image: "example.com/mine:2" }),
  "an empty image": on({ image: "" }),
  "a command": on({ command: ["python", "train.py"] }),
  "args": on({ args: ["--epochs", "3"] }),
  "image, command and args together": on({ image: "a:1", command: ["sh", "-c"], args: ["true"] }),
  "command and args replace the runtime's wholesale": onContainer(
    { command: ["a", "b"], args: ["c", "d"] },
    { command: ["x"], args: ["y"] },
  ),
  "an empty command and empty args replace the runtime's": onContainer(
    { command: ["a"], args: ["b"] },
    { command: [], args: [] },
  ),
  "what the trainer does not name stays the runtime's": onContainer(
    { command: ["a"], workingDir: "/w", imagePullPolicy: "Never", tty: true },
    { image: "a:2" },
  ),
};

const ENV: CaseTable = {
  "env of the TrainJob alone": on({ env: [{ name: "A", value: "1" }, { name: "B", value: "2" }] }),
  "env of the TrainJob replaces in place and appends": onContainer(
    { env: [{ name: "A", value: "1" }, { name: "B", value: "2" }, { name: "C", value: "3" }] },
    { env: [{ name: "D", value: "4" }, { name: "B", value: "two" }] },
  ),
  "a value replaces a reference as a whole": onContainer(
    { env: [{ name: "A", valueFrom: secretKey }] },
    { env: [{ name: "A", value: "1" }] },
  ),
  "a reference replaces a value as a whole": onContainer(
    { env: [{ name: "A", value: "1" }] },
    { env: [{ name: "A", valueFrom: secretKey }] },
  ),
  "env from fields, resources, ConfigMaps and Secrets": on({
    env: [
      { name: "F", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      {
        name: "R",
        valueFrom: { resourceFieldRef: { resource: "limits.cpu", containerName: "node" } },
      },
      { name: "C", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } },
      { name: "S", valueFrom: secretKey },
    ],
  }),
  "a field reference with its API version": on({
    env: [{ name: "F", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "spec.nodeName" } } }],
  }),
  "a resource reference with a divisor": on({
    env: [{
      name: "R",
      valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } },
    }],
  }),
  "a variable from a file": on({
    env: [{
      name: "F",
      valueFrom: { fileKeyRef: { volumeName: "v", path: "p", key: "k", optional: true } },
    }],
  }),
  "a variable without a value": on({ env: [{ name: "EMPTY" }] }),
  "a variable that refers to another": on({
    env: [{ name: "A", value: "1" }, { name: "B", value: "$(A)2" }],
  }),
};

const RESOURCES: CaseTable = {
  "resources if the runtime has none": on({
    resourcesPerNode: { requests: { cpu: "1", memory: "2Gi" }, limits: { cpu: "2" } },
  }),
  "resources merge key by key": onContainer(
    { resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { "nvidia.com/gpu": "2" } } },
    { resourcesPerNode: { requests: { cpu: "4" }, limits: { memory: "8Gi" } } },
  ),
  "quantities as numbers": on({ resourcesPerNode: { limits: { "nvidia.com/gpu": 4, cpu: 2 } } }),
  "quantities written in other ways": on({
    resourcesPerNode: { requests: { cpu: "0.5", memory: "1024Mi" }, limits: { cpu: 1.5 } },
  }),
  "claims merge by name": renders(
    plain({
      jobs: [node({
        containers: [container("node", { resources: { claims: [{ name: "a" }] } })],
        pod: {
          resourceClaims: [{ name: "a", resourceClaimName: "x" }, {
            name: "b",
            resourceClaimName: "y",
          }],
        },
      })],
    }),
    trainJob({ trainer: { resourcesPerNode: { claims: [{ name: "b" }] } } }),
  ),
  "resources without an mlPolicy": renders(
    runtime(),
    trainJob({ trainer: { resourcesPerNode: { requests: { cpu: "1" } } } }),
  ),
  "image, env and nodes without an mlPolicy": renders(
    runtime(),
    trainJob({ trainer: { image: "a:1", env: [{ name: "A", value: "1" }], numNodes: 2 } }),
  ),
};

const NODES: CaseTable = {
  "numNodes of the policy": renders(plain({ mlPolicy: { numNodes: 3 } })),
  "numNodes of the policy is 0": renders(plain({ mlPolicy: { numNodes: 0 } })),
  "a policy without numNodes": renders(plain({ mlPolicy: {} })),
  "numNodes of the TrainJob wins": renders(
    plain({ mlPolicy: { numNodes: 3 } }),
    trainJob({ trainer: { numNodes: 5 } }),
  ),
  "numNodes 1 of the TrainJob": on({ numNodes: 1 }),
  "numNodes 0 of the TrainJob": on({ numNodes: 0 }),
  "numProcPerNode says nothing on a plain runtime": on({ numProcPerNode: 4 }),
  "parallelism and completions of the template": renders(
    plain({ jobs: [node({ job: { parallelism: 3, completions: 7 } })] }),
  ),
  "parallelism of the template without an mlPolicy": renders(
    runtime({ jobs: [node({ job: { parallelism: 3 } })] }),
  ),
  "parallelism of a job that is no step": renders(
    plain({ jobs: [node(), job("side", { job: { parallelism: 2, completions: 4 } })] }),
  ),
  "two jobs of the trainer": renders(
    plain({
      mlPolicy: { numNodes: 2 },
      jobs: [node(), job("more", { step: "trainer" })],
    }),
    trainJob({ trainer: { numNodes: 4, image: "a:2" } }),
  ),
  "the trainer's job has another name": renders(
    plain({ jobs: [job("workers", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2, image: "a:2" } }),
  ),
  "two unnamed ports of a container": onContainer(
    { ports: [{ containerPort: 8080 }, { containerPort: 8081 }] },
    {},
  ),
  "containers beside the trainer's": renders(
    plain({
      jobs: [node({ containers: [container("side"), container("node"), container("log")] })],
    }),
    trainJob({ trainer: { image: "a:2", env: [{ name: "A", value: "1" }] } }),
  ),
  "a runtime without a trainer step": renders(
    plain({ jobs: [job("work")] }),
    trainJob({ trainer: { image: "a:2" } }),
  ),
  "a label of an unknown step": renders(
    plain({ jobs: [node(), job("work", { step: "other", more: { replicas: 2 } })] }),
  ),
};

/** See above. */
export const PLAIN: CaseTable = { ...PROGRAM, ...ENV, ...RESOURCES, ...NODES };
