/** Runtime patches: every field that they may touch, and how several merge. */
import type { CaseTable } from "../case.ts";
import {
  container,
  type Fields,
  job,
  jobPatch,
  node,
  plain,
  renders,
  runtime,
  runtimePatch,
  torch,
  trainJob,
} from "../sketches.ts";

const ME = "example.com/me";

const RICH = plain({
  jobSetMetadata: { labels: { own: "1" }, annotations: { "own.io/a": "1" } },
  jobs: [
    job("side", { containers: [container("side")] }),
    node({
      metadata: { labels: { own: "1" } },
      podMetadata: { labels: { own: "1" }, annotations: { "own.io/a": "1" } },
      containers: [
        container("node", {
          volumeMounts: [{ name: "a", mountPath: "/a" }, { name: "b", mountPath: "/b" }],
          securityContext: { runAsUser: 1, capabilities: { add: ["SYS_PTRACE"] } },
        }),
        container("log", { env: [{ name: "A", value: "1" }, { name: "B", value: "2" }] }),
      ],
      pod: {
        nodeSelector: { zone: "a", kind: "gpu" },
        tolerations: [{ key: "own", operator: "Exists" }],
        volumes: [{ name: "a", emptyDir: {} }, { name: "b", emptyDir: {} }],
        imagePullSecrets: [{ name: "own" }],
        securityContext: { runAsUser: 1, fsGroup: 1 },
        initContainers: [container("prepare", { env: [{ name: "A", value: "1" }] })],
        schedulingGates: [{ name: "own.io/gate" }],
        terminationGracePeriodSeconds: 10,
      },
    }),
  ],
});

const patched = (...patches: readonly Fields[]) =>
  renders(RICH, trainJob({ runtimePatches: patches }));
const onPod = (podSpec: Fields, name = "node") =>
  patched(runtimePatch(ME, [jobPatch(name, podSpec)]));
const onContainer = (name: string, more: Fields) => onPod({ containers: [{ name, ...more }] });
const onMetadata = (metadata: Fields) =>
  patched(runtimePatch(ME, [jobPatch("node", undefined, metadata)]));

const FIELDS: CaseTable = {
  "a patch that says nothing": patched({ manager: ME }),
  "a patch with a job that says nothing": patched(runtimePatch(ME, [{ name: "node" }])),
  "labels and annotations of the JobSet patched": patched(
    runtimePatch(ME, [], { labels: { own: "2", more: "3" }, annotations: { "me.io/a": "1" } }),
  ),
  "labels and annotations of a Job patched": patched(
    runtimePatch(ME, [jobPatch("node", undefined, undefined, {
      labels: { own: "2", more: "3" },
      annotations: { "me.io/a": "1" },
    })]),
  ),
  "labels and annotations of a pod patched": onMetadata({
    labels: { own: "2", more: "3" },
    annotations: { "own.io/a": "2", "me.io/a": "1" },
  }),
  "a service account": onPod({ serviceAccountName: "default" }),
  "a grace period": onPod({ terminationGracePeriodSeconds: 0 }),
  "a selector merges key by key": onPod({ nodeSelector: { zone: "b", disk: "ssd" } }),
  "tolerations are replaced as a whole": onPod({
    tolerations: [{ key: "a", operator: "Exists" }, { key: "b", value: "1", effect: "NoSchedule" }],
  }),
  "no tolerations": onPod({ tolerations: [] }),
  "an affinity": onPod({
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: 1,
          podAffinityTerm: { topologyKey: "zone", labelSelector: { matchLabels: { a: "b" } } },
        }],
      },
    },
  }),
  "volumes merge by name": onPod({
    volumes: [{ name: "c", emptyDir: {} }, { name: "a", emptyDir: { medium: "Memory" } }],
  }),
  "pull secrets merge by name": onPod({ imagePullSecrets: [{ name: "mine" }, { name: "own" }] }),
  "a security context merges": onPod({ securityContext: { runAsUser: 2, runAsGroup: 3 } }),
  "scheduling gates merge": onPod({ schedulingGates: [{ name: "me.io/gate" }] }),
  "env of a container beside merges by name": onContainer("log", {
    env: [{ name: "C", value: "3" }, { name: "B", value: "two" }],
  }),
  "mounts of the trainer merge by path": onContainer("node", {
    volumeMounts: [{ name: "a", mountPath: "/c" }, { name: "b", mountPath: "/b", readOnly: true }],
  }),
  "a security context of the trainer merges": onContainer("node", {
    securityContext: { runAsUser: 2, privileged: false, capabilities: { drop: ["ALL"] } },
  }),
  "an init container": onPod({
    initContainers: [{ name: "prepare", env: [{ name: "B", value: "2" }] }],
  }),
  "a job that is no step": onPod({ nodeSelector: { zone: "b" } }, "side"),
};

const ORDER: CaseTable = {
  "the later patch wins": patched(
    runtimePatch(ME, [jobPatch("node", { nodeSelector: { zone: "b" }, tolerations: [] })]),
    runtimePatch("example.com/other", [
      jobPatch("node", { nodeSelector: { zone: "c" }, tolerations: [{ key: "z" }] }),
    ]),
  ),
  "patches of one list from two managers": patched(
    runtimePatch(ME, [jobPatch("node", { volumes: [{ name: "x", emptyDir: {} }] })]),
    runtimePatch("example.com/other", [
      jobPatch("node", { volumes: [{ name: "y", emptyDir: {} }, { name: "b", emptyDir: {} }] }),
    ]),
  ),
  "jobs of a patch in another order": patched(
    runtimePatch(ME, [
      jobPatch("node", { nodeSelector: { zone: "b" } }),
      jobPatch("side", { nodeSelector: { zone: "c" } }),
    ]),
  ),
  "containers of a patch in another order": onPod({
    containers: [
      { name: "log", env: [{ name: "Z", value: "1" }] },
      { name: "node", securityContext: { runAsUser: 5 } },
    ],
  }),
  "a patch and trainer overrides together": renders(
    RICH,
    trainJob({
      trainer: { image: "a:2", env: [{ name: "A", value: "1" }], numNodes: 2 },
      runtimePatches: [runtimePatch(ME, [jobPatch("node", { nodeSelector: { zone: "b" } })])],
    }),
  ),
  "a patch on a torch runtime": renders(
    torch({ jobs: [node({ pod: { volumes: [{ name: "a", emptyDir: {} }] } })] }),
    trainJob({
      trainer: { numNodes: 2 },
      runtimePatches: [runtimePatch(ME, [jobPatch("node", {
        containers: [{ name: "node", volumeMounts: [{ name: "a", mountPath: "/a" }] }],
      })])],
    }),
  ),
  "what Kueue writes": patched(runtimePatch("kueue.x-k8s.io/manager", [
    jobPatch("node", {
      nodeSelector: { flavor: "spot" },
      tolerations: [{ key: "spot", operator: "Exists" }],
      schedulingGates: [{ name: "kueue.x-k8s.io/topology" }],
    }, { labels: { "kueue.x-k8s.io/podset": "node" }, annotations: { "kueue.x-k8s.io/w": "x" } }),
  ])),
};

const REFUSED: CaseTable = {
  "a volume patched with another source": onPod({
    volumes: [{ name: "a", configMap: { name: "c" } }],
  }),
  "a mount of another volume at the same name": onContainer("node", {
    volumeMounts: [{ name: "a", mountPath: "/one" }, { name: "a", mountPath: "/two" }],
  }),
  "env of the trainer's container": onContainer("node", { env: [{ name: "A", value: "1" }] }),
  "a job that the runtime does not have": onPod({ nodeSelector: { a: "b" } }, "nowhere"),
  "a container that the runtime does not have": onContainer("nothing", {
    env: [{ name: "A", value: "1" }],
  }),
  "an init container that the runtime does not have": onPod({
    initContainers: [{ name: "nothing", env: [{ name: "A", value: "1" }] }],
  }),
  "a manager that is no path": patched(runtimePatch("me", [])),
  "a manager with a malformed domain": patched(runtimePatch("Me_/x", [])),
  "two patches of one manager": patched({ manager: ME }, { manager: ME }),
  "other metadata of a Job": patched(
    runtimePatch(ME, [jobPatch("node", undefined, undefined, { finalizers: ["a.io/b"] })]),
  ),
  "a label that JobSet owns": onMetadata({ labels: { "jobset.sigs.k8s.io/jobset-name": "x" } }),
  "the label of a step": patched(
    runtimePatch(ME, [jobPatch("side", undefined, undefined, {
      labels: { "trainer.kubeflow.org/trainjob-ancestor-step": "trainer" },
    })]),
  ),
  "a patch of a runtime without an mlPolicy": renders(
    runtime(),
    trainJob({
      runtimePatches: [runtimePatch(ME, [jobPatch("node", { nodeSelector: { a: "b" } })])],
    }),
  ),
};

/** See above. */
export const PATCHES: CaseTable = { ...FIELDS, ...ORDER, ...REFUSED };
