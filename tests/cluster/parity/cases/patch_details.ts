/** Runtime patches in detail: values that replace each other, empty values, and patches that change. */
import type { CaseTable } from "../case.ts";
import {
  container,
  counts,
  create,
  env,
  type Fields,
  job,
  jobPatch,
  node,
  patch,
  plain,
  rendered,
  renders,
  runtimePatch,
  TJ,
  trainJob,
} from "../sketches.ts";

const ME = "example.com/me";
const reference = { configMapKeyRef: { name: "c", key: "k" } };

const RICH = plain({
  jobs: [
    node({
      containers: [
        container("node", {
          volumeMounts: [{ name: "a", mountPath: "/a", readOnly: true, subPath: "x" }],
          securityContext: {
            runAsNonRoot: true,
            allowPrivilegeEscalation: true,
            capabilities: { add: ["SYS_PTRACE"], drop: ["ALL"] },
          },
        }),
        container("log", {
          env: [...env({ A: "1" }), { name: "R", valueFrom: reference }],
        }),
      ],
      pod: {
        nodeSelector: { zone: "a" },
        tolerations: [{ key: "own", operator: "Exists" }],
        volumes: [
          { name: "a", persistentVolumeClaim: { claimName: "a", readOnly: true } },
          { name: "b", configMap: { name: "b", items: [{ key: "k", path: "p" }], optional: true } },
        ],
        securityContext: { runAsUser: 1, supplementalGroups: [1, 2] },
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{
                matchExpressions: [{ key: "k", operator: "In", values: ["v"] }],
              }],
            },
          },
        },
        initContainers: [container("prepare", { env: env({ A: "1" }) })],
      },
    }),
    job("side", { pod: { initContainers: [container("dataset-initializer")] } }),
  ],
});

const patched = (...patches: readonly Fields[]) =>
  renders(RICH, trainJob({ runtimePatches: patches }));
const onPod = (podSpec: Fields, name = "node") =>
  patched(runtimePatch(ME, [jobPatch(name, podSpec)]));
const onContainer = (name: string, more: Fields) => onPod({ containers: [{ name, ...more }] });

const VALUES: CaseTable = {
  "a value in a patch where the runtime has a reference": onContainer("log", {
    env: env({ R: "2" }),
  }),
  "a reference in a patch where the runtime has a value": onContainer("log", {
    env: [{ name: "A", valueFrom: reference }],
  }),
  "a reference in a patch where the runtime has another": onContainer("log", {
    env: [{ name: "R", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
  }),
  "an empty value in a patch": onContainer("log", { env: env({ A: "" }) }),
  "a variable without a value in a patch": onContainer("log", { env: [{ name: "A" }] }),
  "a mount in a patch that may be written": onContainer("node", {
    volumeMounts: [{ name: "a", mountPath: "/a", readOnly: false }],
  }),
  "a mount in a patch of another volume": onContainer("node", {
    volumeMounts: [{ name: "b", mountPath: "/a" }],
  }),
  "an empty list in a security context of a patch": onContainer("node", {
    securityContext: { capabilities: { add: [] } },
  }),
  "a security context in a patch that turns off": onContainer("node", {
    securityContext: { runAsNonRoot: false, allowPrivilegeEscalation: false },
  }),
  "a security context in a patch that gives lists": onPod({
    securityContext: { supplementalGroups: [3], runAsUser: 0 },
  }),
  "an empty value of a selector in a patch": onPod({ nodeSelector: { zone: "", disk: "" } }),
  "a claim in a patch of another name": onPod({
    volumes: [{ name: "a", persistentVolumeClaim: { claimName: "c" } }],
  }),
  "items of a ConfigMap in a patch": onPod({
    volumes: [{ name: "b", configMap: { items: [{ key: "l", path: "q" }], optional: false } }],
  }),
  "an affinity in a patch beside the runtime's": onPod({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "l", operator: "Exists" }] }],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: 1,
          preference: { matchExpressions: [{ key: "m", operator: "Exists" }] },
        }],
      },
    },
  }),
  "a patch of nothing but names": onPod({
    containers: [{ name: "log" }, { name: "node" }],
    initContainers: [{ name: "prepare" }],
  }),
  "a service account that is empty in a patch": onPod({ serviceAccountName: "" }),
  "two patches of one container": patched(
    runtimePatch(ME, [jobPatch("node", { containers: [{ name: "log", env: env({ B: "1" }) }] })]),
    runtimePatch("example.com/other", [
      jobPatch("node", { containers: [{ name: "log", env: env({ B: "2", C: "3" }) }] }),
    ]),
  ),
  "env in a patch of an init container with a step's name": onPod({
    initContainers: [{ name: "dataset-initializer", env: env({ B: "1" }) }],
  }, "side"),
  "a container in a patch among the init containers": onPod({
    initContainers: [{ name: "log", env: env({ B: "1" }) }],
  }),
  "labels and annotations of a patch without any of the runtime": renders(
    plain(),
    trainJob({
      runtimePatches: [
        runtimePatch(ME, [], { labels: { a: "1" } }),
        runtimePatch("example.com/other", [], {
          labels: { a: "2" },
          annotations: { "b.io/c": "" },
        }),
      ],
    }),
  ),
};

const first = runtimePatch(ME, [jobPatch("node", {
  serviceAccountName: "one",
  nodeSelector: { a: "1" },
  volumes: [{ name: "v", emptyDir: {} }],
  terminationGracePeriodSeconds: 5,
})]);
const changes = (next: Fields | undefined, suspend = true) => [
  ...renders(plain(), trainJob({ suspend: true, runtimePatches: [first] })),
  {
    actions: [patch(TJ, { spec: { suspend, runtimePatches: next === undefined ? [] : [next] } })],
    ...suspend ? {} : { until: rendered },
  },
];
const again = (podSpec: Fields) =>
  changes(runtimePatch(ME, [jobPatch("node", {
    serviceAccountName: "one",
    nodeSelector: { a: "1" },
    volumes: [{ name: "v", emptyDir: {} }],
    terminationGracePeriodSeconds: 5,
    ...podSpec,
  })]));

const CHANGES: CaseTable = {
  "a patch of a suspended TrainJob selects another node": again({ nodeSelector: { a: "2" } }),
  "a patch of a suspended TrainJob has another service account": again({
    serviceAccountName: "two",
  }),
  "a patch of a suspended TrainJob has other volumes": again({
    volumes: [{ name: "w", emptyDir: {} }],
  }),
  "a patch of a suspended TrainJob has another grace period": again({
    terminationGracePeriodSeconds: 6,
  }),
  "a patch of a suspended TrainJob goes": changes(undefined),
  "a patch of a TrainJob goes as it resumes": changes(undefined, false),
  "a patch of a suspended TrainJob becomes invalid": changes(runtimePatch(ME, [
    jobPatch("node", { containers: [{ name: "node", env: env({ A: "1" }) }] }),
  ])),
  "a TrainJob is suspended with a patch at once": [
    { actions: [create(plain()), create(trainJob())], until: counts },
    { actions: [patch(TJ, { spec: { suspend: true, runtimePatches: [runtimePatch(ME, [])] } })] },
  ],
};

/** See above. */
export const PATCH_DETAILS: CaseTable = { ...VALUES, ...CHANGES };
