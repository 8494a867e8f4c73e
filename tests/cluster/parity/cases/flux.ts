/** TrainJobs on runtimes of flux: its program, volumes, init container, settings, and refusals. */
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
  patch,
  rendered,
  renders,
  runtime,
  runtimePatch,
  type RuntimeSketch,
  TJ,
  trainJob,
} from "../sketches.ts";

const flux = (sketch: RuntimeSketch = {}, policy: Fields = {}) =>
  runtime({ mlPolicy: { numNodes: 1, flux: policy }, ...sketch });
const on = (trainer: Fields, sketch: RuntimeSketch = {}) =>
  renders(flux(sketch), trainJob({ trainer }));
const withEnv = (values: Readonly<Record<string, string>>) => onNode({ env: env(values) });
const patched = (podSpec: Fields) =>
  renders(
    flux(),
    trainJob({
      trainer: { numNodes: 2 },
      runtimePatches: [runtimePatch("example.com/me", [jobPatch("node", podSpec)])],
    }),
  );

const lammps = { command: ["lmp", "-v", "x", "2"], args: ["-nocite"] };

const PROGRAM: CaseTable = {
  "flux on two nodes": on({ numNodes: 2, ...lammps }),
  "flux with processes and GPUs": renders(
    flux({}, { numProcPerNode: 2 }),
    trainJob({ trainer: { numNodes: 2, ...gpusPerNode("2"), ...lammps } }),
  ),
  "flux with command and args of the runtime": on({ numNodes: 1 }, onNode(lammps)),
  "flux with args of both": on({ numNodes: 1, args: ["-in", "in.reaxc"] }, onNode(lammps)),
  "flux with a command of both": on({ numNodes: 1, command: ["sleep"] }, onNode(lammps)),
  "flux with a whole line in one word": on({ numNodes: 1, command: ["lmp -v x 2"] }),
  "flux with words that a shell would split": on({
    numNodes: 1,
    command: ["bash", "-c", "echo a; echo b"],
  }),
  "flux without a program": on({ numNodes: 1 }),
  "flux with an empty command": on({ numNodes: 1, command: [], args: ["a"] }, onNode(lammps)),
  "flux for people": on({
    numNodes: 4,
    image: "example.com/lammps:1",
    command: ["sleep", "infinity"],
  }),
  "flux with numNodes 0": on({ numNodes: 0 }),
  "a bare TrainJob on a flux runtime": renders(flux()),
  "flux with numNodes of the policy alone": on({ ...lammps }, {
    mlPolicy: { numNodes: 3, flux: {} },
  }),
  "a flux runtime with less than one process": [{
    actions: [create(flux({}, { numProcPerNode: 0 }))],
  }],
};

const SETTINGS: CaseTable = {
  "flux with its settings in the runtime and the TrainJob": on(
    { numNodes: 1, env: env({ FLUX_VIEW_IMAGE: "example.com/view:2", A: "1" }) },
    withEnv({ FLUX_VIEW_IMAGE: "example.com/view:1", FLUX_QUEUE_POLICY: "easy" }),
  ),
  "flux with a setting in the runtime": on(
    { numNodes: 1 },
    withEnv({ FLUX_VIEW_IMAGE: "example.com/view:1", FLUX_NETWORK_DEVICE: "eth1" }),
  ),
  "flux with an empty setting": on({ numNodes: 1, env: env({ FLUX_VIEW_IMAGE: "" }) }),
  "flux with a setting by reference": on({
    numNodes: 1,
    env: [{
      name: "FLUX_VIEW_IMAGE",
      valueFrom: { configMapKeyRef: { name: "c", key: "image" } },
    }],
  }),
};

const PODS: CaseTable = {
  "flux with volumes and init containers of the runtime": on({ numNodes: 2 }, {
    jobs: [node({
      containers: [
        container("node", { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
        container("side"),
      ],
      pod: {
        volumes: [{ name: "data", emptyDir: {} }, { name: "more", hostPath: { path: "/srv" } }],
        initContainers: [container("prepare")],
      },
    })],
  }),
  "flux with volumes of its names": on({ numNodes: 1 }, {
    jobs: [node({
      containers: [container("node", {
        volumeMounts: [{ name: "flux-curve", mountPath: "/curve" }],
      })],
      pod: {
        volumes: [{ name: "flux-curve", emptyDir: {} }, {
          name: "shared-memory",
          emptyDir: { medium: "Memory", sizeLimit: "1Gi" },
        }],
      },
    })],
  }),
  "flux with a patch of volumes and mounts": patched({
    volumes: [{ name: "more", emptyDir: {} }],
    containers: [{ name: "node", volumeMounts: [{ name: "more", mountPath: "/more" }] }],
  }),
  "flux with a patch of placement": patched({
    nodeSelector: { a: "b" },
    tolerations: [{ key: "k", operator: "Exists" }],
    securityContext: { fsGroup: 1000 },
  }),
  "flux with an init container of its name": on({ numNodes: 1 }, {
    jobs: [node({ pod: { initContainers: [container("flux-installer")] } })],
  }),
  "flux with a trainer job of another name": on({ numNodes: 2, ...lammps }, {
    jobs: [job("brokers", { step: "trainer" })],
  }),
  "flux with a custom subdomain": on({ numNodes: 2 }, {
    jobSet: { network: { subdomain: "mine" } },
  }),
  "flux without a trainer job": on({ numNodes: 1 }, { jobs: [job("node")] }),
  "flux with another job beside": on({ numNodes: 2 }, { jobs: [node(), job("watch")] }),
  "flux with an initializer": renders(
    flux({
      jobs: [
        initializerJob("dataset-initializer"),
        { ...node(), dependsOn: [{ name: "dataset-initializer", status: "Complete" }] },
      ],
    }),
    trainJob({
      initializer: { dataset: { storageUri: "hf://a/b" } },
      trainer: { numNodes: 1 },
    }),
  ),
  "flux in a gang": on({ numNodes: 2, resourcesPerNode: { requests: { cpu: "2" } } }, {
    podGroupPolicy: { coscheduling: {} },
  }),
};

const LIFE: CaseTable = {
  "flux with a suspended TrainJob": renders(
    flux(),
    trainJob({ suspend: true, trainer: { numNodes: 2 } }),
  ),
  "flux that resumes": [
    ...renders(flux(), trainJob({ suspend: true, trainer: { numNodes: 2, ...lammps } })),
    { actions: [patch(TJ, { spec: { suspend: false } })], until: rendered },
  ],
  "flux with a name too long for its volume": renders(
    flux(),
    trainJob({ trainer: { numNodes: 1 } }, { name: "a".repeat(48) }),
  ),
};

/** See above. */
export const FLUX: CaseTable = { ...PROGRAM, ...SETTINGS, ...PODS, ...LIFE };
