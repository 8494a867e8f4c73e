/** TrainJobs on runtimes of jax and xgboost: their variables, and refusals. */
import type { CaseTable } from "../case.ts";
import {
  container,
  create,
  env,
  type Fields,
  gpusPerNode,
  initializerJob,
  job,
  jobPatch,
  node,
  onNode,
  renders,
  runtime,
  runtimePatch,
  type RuntimeSketch,
  trainJob,
} from "../sketches.ts";

const on = (framework: string, policy: Fields = {}) => (sketch: RuntimeSketch = {}) =>
  runtime({ mlPolicy: { numNodes: 1, [framework]: policy }, ...sketch });
const jax = on("jax");
const xgboost = on("xgboost");
const aRuntime = (sketch: RuntimeSketch) => [{ actions: [create(runtime(sketch))] }];

const withEnv = (values: Readonly<Record<string, string>>) => onNode({ env: env(values) });
const withResources = (resources: Fields) => onNode({ resources });
const patched = (podSpec: Fields, podMetadata?: Fields) =>
  runtimePatch("example.com/me", [jobPatch("node", podSpec, podMetadata)]);
const initialized = {
  jobs: [
    initializerJob("dataset-initializer"),
    { ...node(), dependsOn: [{ name: "dataset-initializer", status: "Complete" }] },
  ],
};

const JAX: CaseTable = {
  "jax on three nodes": renders(jax(), trainJob({ trainer: { numNodes: 3 } })),
  "a bare TrainJob on a jax runtime": renders(jax()),
  "jax with two jobs of the trainer": renders(
    jax({ jobs: [node(), job("more", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2, env: env({ A: "1" }) } }),
  ),
  "jax with two unnamed ports of the runtime": renders(
    jax(onNode({ ports: [{ containerPort: 8080 }, { containerPort: 8081 }] })),
    trainJob({ trainer: {} }),
  ),
  "jax in a gang, suspended": renders(
    jax({ podGroupPolicy: { volcano: {} }, ...withResources({ requests: { cpu: "1" } }) }),
    trainJob({ suspend: true, trainer: { numNodes: 4, ...gpusPerNode("8") } }),
  ),
  "jax with numNodes of the policy": renders(
    jax({ mlPolicy: { numNodes: 4, jax: {} } }),
    trainJob({ trainer: {} }),
  ),
  "jax with numNodes 0": renders(jax(), trainJob({ trainer: { numNodes: 0 } })),
  "jax with its variables in trainer.env": renders(
    jax(),
    trainJob({ trainer: { env: env({ A: "1", JAX_PROCESS_ID: "7", B: "2" }) } }),
  ),
  "jax with its variables in the runtime": renders(
    jax(withEnv({ A: "1", JAX_NUM_PROCESSES: "9", B: "2" })),
    trainJob({ trainer: { env: env({ C: "3", A: "4" }) } }),
  ),
  "jax with a custom subdomain": renders(
    jax({ jobSet: { network: { subdomain: "mine" } } }),
    trainJob({ trainer: { numNodes: 2 } }),
  ),
  "jax with a trainer job of another name": renders(
    jax({ jobs: [job("workers", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2 } }),
  ),
  "jax with GPUs, image, command and args": renders(
    jax(),
    trainJob({
      trainer: {
        image: "example.com/jax:2",
        command: ["python"],
        args: ["train.py"],
        numProcPerNode: 2,
        ...gpusPerNode("8"),
      },
    }),
  ),
  "jax with an initializer": renders(
    jax(initialized),
    trainJob({
      initializer: { dataset: { storageUri: "hf://a/b" } },
      trainer: { numNodes: 2 },
    }),
  ),
  "jax with patches of pods and a container beside": renders(
    jax({ jobs: [node({ containers: [container("node"), container("side")] })] }),
    trainJob({
      trainer: { numNodes: 2 },
      runtimePatches: [
        patched(
          {
            nodeSelector: { pool: "a" },
            containers: [{ name: "side", env: env({ JAX_PROCESS_ID: "1" }) }],
          },
          { labels: { team: "a" } },
        ),
      ],
    }),
  ),
  "jax with env of the trainer in a patch": renders(
    jax(),
    trainJob({
      runtimePatches: [patched({ containers: [{ name: "node", env: env({ A: "1" }) }] })],
    }),
  ),
};

const XGBOOST: CaseTable = {
  "xgboost on two nodes": renders(xgboost(), trainJob({ trainer: { numNodes: 2 } })),
  "a bare TrainJob on an xgboost runtime": renders(xgboost()),
  "xgboost with two jobs of the trainer": renders(
    xgboost({ jobs: [node(), job("more", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2 } }),
  ),
  "xgboost with GPUs, a patch and a deadline": renders(
    xgboost(),
    trainJob({
      trainer: { numNodes: 2, numProcPerNode: 4, ...gpusPerNode("2") },
      activeDeadlineSeconds: 3600,
      runtimePatches: [patched({ nodeSelector: { pool: "a" } })],
    }),
  ),
  "xgboost with GPUs of the TrainJob": renders(
    xgboost(),
    trainJob({ trainer: { numNodes: 2, ...gpusPerNode("4") } }),
  ),
  "xgboost with GPUs of the runtime": renders(
    xgboost(withResources({ limits: { "nvidia.com/gpu": "2" } })),
    trainJob({ trainer: { numNodes: 3 } }),
  ),
  "xgboost with GPUs of the runtime, CPUs of the TrainJob": renders(
    xgboost(withResources({ limits: { "nvidia.com/gpu": "2" } })),
    trainJob({ trainer: { resourcesPerNode: { requests: { cpu: "4" } } } }),
  ),
  "xgboost with no GPU by number 0": renders(xgboost(), trainJob({ trainer: gpusPerNode("0") })),
  "xgboost with numNodes 0": renders(xgboost(), trainJob({ trainer: { numNodes: 0 } })),
  "xgboost with env of the TrainJob": renders(
    xgboost(withEnv({ A: "1", DMLC_NUM_WORKER: "9" })),
    trainJob({ trainer: { env: env({ A: "2", B: "3" }) } }),
  ),
  "xgboost with its variables in trainer.env": renders(
    xgboost(),
    trainJob({ trainer: { env: env({ A: "1", DMLC_TASK_ID: "1", DMLC_TRACKER_URI: "x" }) } }),
  ),
  "xgboost with other DMLC variables": renders(
    xgboost(),
    trainJob({ trainer: { env: env({ DMLC_ROLE: "worker" }) } }),
  ),
  "xgboost with a custom subdomain": renders(
    xgboost({ jobSet: { network: { subdomain: "mine" } } }),
    trainJob({ trainer: {} }),
  ),
  "xgboost with a trainer job of another name": renders(
    xgboost({ jobs: [job("boost", { step: "trainer" })] }),
    trainJob({ trainer: { numNodes: 2 } }),
  ),
  "xgboost with an unnamed port of another number": renders(
    xgboost({
      jobs: [node({ containers: [container("node", { ports: [{ containerPort: 8080 }] })] })],
    }),
    trainJob({ trainer: {} }),
  ),
};

const RUNTIMES: CaseTable = {
  "a runtime with jax and xgboost": aRuntime({ mlPolicy: { jax: {}, xgboost: {} } }),
  "a runtime with flux and torch": aRuntime({ mlPolicy: { flux: {}, torch: {} } }),
  "a jax runtime with a field that jax has not": aRuntime({ mlPolicy: { jax: { a: 1 } } }),
};

/** See above. */
export const FRAMEWORKS: CaseTable = { ...JAX, ...XGBOOST, ...RUNTIMES };
