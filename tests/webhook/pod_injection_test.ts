/** Tests of the identity that pods of TrainJobs get. */
import fc from "fast-check";
import assert from "node:assert/strict";
import type { EnvVar, Pod } from "../../platform/kube/kubernetes.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { IDENTITY_VOLUME, LABELS } from "../../crds/names.ts";
import { jsonPatch } from "../../webhook/json_diff.ts";
import {
  injectIdentity,
  injectionWarnings,
  withLastWords,
  withResumption,
} from "../../webhook/pod_injection.ts";
import { pod } from "./builders.ts";

const identity = { kind: TRAINJOB, namespace: "ns", name: "tj" };
const BASE = "https://milepost:8082";
const ENDPOINT = { url: BASE, caBundle: "CA" };
const URL_OF_JOB = `${BASE}/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status`;
const mount = {
  name: "kubeflow-trainer-token",
  mountPath: "/var/run/secrets/kubeflow/trainer",
  readOnly: true,
};
const env = ["STATUS", "SERVER"].flatMap((family) => [
  { name: `KUBEFLOW_TRAINER_${family}_URL`, value: URL_OF_JOB },
  { name: `KUBEFLOW_TRAINER_${family}_CA_CERT`, value: `${mount.mountPath}/ca.crt` },
  { name: `KUBEFLOW_TRAINER_${family}_TOKEN`, value: `${mount.mountPath}/token` },
]);
const envOf = (container: string) => [
  ...env,
  { name: "KUBEFLOW_TRAINER_STATUS_CONTAINER", value: container },
];
const volume = (optional: boolean) => ({
  name: "kubeflow-trainer-token",
  projected: {
    defaultMode: 420,
    sources: [
      {
        serviceAccountToken: {
          audience: "trainer.kubeflow.org",
          expirationSeconds: 3600,
          path: "token",
        },
      },
      {
        configMap: {
          name: "tj-tls-config",
          items: [{ key: "ca.crt", path: "ca.crt" }],
          ...(optional ? { optional: true } : {}),
        },
      },
    ],
  },
});

const trialLabels = { [LABELS.trainJobName]: "tj", [LABELS.trial]: "t" };
const other = { name: "DEBUG", value: "1" };
const cases: Record<string, { pod: Pod; want: Pod["spec"] }> = {
  "gives a plain pod volume, mount and both families of variables": {
    pod: pod(),
    want: {
      volumes: [volume(true)],
      containers: [{ name: "node", env: envOf("node"), volumeMounts: [mount] }],
    },
  },
  "makes a trial's pod wait for its CA": {
    pod: pod({ labels: trialLabels }),
    want: {
      volumes: [volume(false)],
      containers: [{ name: "node", env: envOf("node"), volumeMounts: [mount] }],
    },
  },
  "reaches init containers too, and keeps what else is there": {
    pod: pod({
      spec: {
        initContainers: [{ name: "init", env: [other] }],
        containers: [{ name: "a", volumeMounts: [{ name: "v", mountPath: "/v" }] }, { name: "b" }],
        volumes: [{ name: "v", emptyDir: {} }],
      },
    }),
    want: {
      initContainers: [{ name: "init", env: [other, ...envOf("init")], volumeMounts: [mount] }],
      containers: [
        { name: "a", env: envOf("a"), volumeMounts: [{ name: "v", mountPath: "/v" }, mount] },
        { name: "b", env: envOf("b"), volumeMounts: [mount] },
      ],
      volumes: [{ name: "v", emptyDir: {} }, volume(true)],
    },
  },
  "replaces a volume, a mount and a variable of the reserved names, in place": {
    pod: pod({
      spec: {
        containers: [{
          name: "node",
          env: [{ name: "KUBEFLOW_TRAINER_STATUS_URL", value: "http://evil" }, other],
          volumeMounts: [{ name: "mine", mountPath: `${mount.mountPath}/` }],
        }],
        volumes: [{ name: IDENTITY_VOLUME.name, emptyDir: {} }, { name: "mine", emptyDir: {} }],
      },
    }),
    want: {
      containers: [{
        name: "node",
        env: [
          { name: "KUBEFLOW_TRAINER_STATUS_URL", value: URL_OF_JOB },
          other,
          ...envOf("node").slice(1),
        ],
        volumeMounts: [mount],
      }],
      volumes: [volume(true), { name: "mine", emptyDir: {} }],
    },
  },
};

for (const [sentence, { pod, want }] of Object.entries(cases)) {
  Deno.test(`\`injectIdentity()\` ${sentence}`, () => {
    const before = structuredClone(pod);
    const once = injectIdentity(pod, identity, { ...ENDPOINT, url: `${BASE}/` });
    assert.deepEqual(once.spec, want);
    assert.deepEqual(pod, before, "the input is not changed");
    assert.deepEqual(jsonPatch(once, injectIdentity(once, identity, ENDPOINT)), [], "idempotent");
  });
}

Deno.test("`injectIdentity()` leaves a pod without a spec alone", () => {
  assert.deepEqual(injectIdentity({ metadata: {} }, identity, ENDPOINT), { metadata: {} });
});

Deno.test("`injectionWarnings()` says that a volume was taken over, and nothing about its own", () => {
  const taken = pod({ spec: { volumes: [{ name: IDENTITY_VOLUME.name, emptyDir: {} }] } });
  assert.match(injectionWarnings(taken).join(), /kubeflow-trainer-token.*replaced/);
  assert.deepEqual(injectionWarnings(injectIdentity(taken, identity, ENDPOINT)), []);
  assert.deepEqual(injectionWarnings(pod()), []);
});

Deno.test("`injectIdentity()` gives any pod one of each, and is idempotent", () => {
  const name = fc.constantFrom("a", "b", IDENTITY_VOLUME.name);
  const mountPath = fc.constantFrom(
    "/a",
    IDENTITY_VOLUME.mountPath,
    `${IDENTITY_VOLUME.mountPath}/`,
  );
  const container = fc.record({
    name: fc.constantFrom("c", "d"),
    image: fc.constant("i"),
    env: fc.option(
      fc.array(fc.record({ name: fc.constantFrom("A", "KUBEFLOW_TRAINER_SERVER_URL") })),
      { nil: undefined },
    ),
    volumeMounts: fc.option(fc.array(fc.record({ name, mountPath })), { nil: undefined }),
  });
  const spec = fc.record({
    containers: fc.array(container, { minLength: 1 }),
    initContainers: fc.option(fc.array(container), { nil: undefined }),
    volumes: fc.option(fc.array(fc.record({ name })), { nil: undefined }),
  });
  fc.assert(fc.property(spec, (spec) => {
    const once = injectIdentity({ metadata: {}, spec }, identity, ENDPOINT);
    assert.deepEqual(injectIdentity(once, identity, ENDPOINT), once);
    const own = once.spec?.volumes?.filter(({ name }) => name === IDENTITY_VOLUME.name);
    assert.deepEqual(own, [volume(true)]);
    for (
      const { env = [], volumeMounts = [] } of [
        ...once.spec?.containers ?? [],
        ...once.spec?.initContainers ?? [],
      ]
    ) {
      const mounts = volumeMounts.filter((it) => it.mountPath.startsWith(mount.mountPath));
      assert.deepEqual(mounts, [mount]);
      assert.equal(env.filter((it) => it.name.startsWith("KUBEFLOW_TRAINER_")).length, 7);
    }
  }));
});

/** What a container says of its last words, and its policy then. */
const LAST_WORDS: readonly (readonly [given: object, policy: string | undefined])[] = [
  [{}, "FallbackToLogsOnError"],
  [
    { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" },
    "FallbackToLogsOnError",
  ],
  [{ terminationMessagePath: "/tmp/words" }, undefined],
  [{ terminationMessagePath: "/tmp/words", terminationMessagePolicy: "File" }, "File"],
  [{ terminationMessagePolicy: "FallbackToLogsOnError" }, "FallbackToLogsOnError"],
];
for (const [given, want] of LAST_WORDS) {
  Deno.test(`withLastWords() of a container with ${JSON.stringify(given)}`, () => {
    const container = { name: "c", image: "i", ...given };
    const spec = { containers: [container], initContainers: [container] };
    const told = withLastWords({ metadata: {}, spec });
    for (const it of [...told.spec?.containers ?? [], ...told.spec?.initContainers ?? []]) {
      assert.deepEqual(it, { ...container, ...(want && { terminationMessagePolicy: want }) });
    }
    assert.deepEqual(withLastWords(told), told);
  });
}

const restarted = (checkpoint?: unknown, annotations?: Record<string, string>) => ({
  kind: "PyTorchJob",
  metadata: { name: "tj", uid: "u", ...(annotations && { annotations }) },
  status: {
    restart: { count: 2, reason: "Stalled", message: "", time: "2026-01-01T00:00:00Z" },
    ...(checkpoint !== undefined && { checkpoint }),
  },
});
const variablesOf = (job: Parameters<typeof withResumption>[1], env?: EnvVar[]) => {
  const spec = { containers: [{ name: "node", ...(env && { env }) }], initContainers: [] };
  const made = withResumption({ metadata: {}, spec }, job);
  assert.deepEqual(withResumption(made, job), made, "idempotent");
  return made.spec?.containers[0]?.env?.map(({ name, value }) => `${name}=${value}`) ?? [];
};

Deno.test("`withResumption()` says from where to go on, also before any restart", () => {
  const time = "2026-01-01T00:00:00Z";
  const step = "MILEPOST_CHECKPOINT_STEP=1200";
  assert.deepEqual(variablesOf(undefined), []);
  assert.deepEqual(variablesOf({ ...restarted(), status: {} }), []);
  const saved = { ...restarted(), status: { checkpoint: { step: 1200, location: "/a", time } } };
  assert.deepEqual(variablesOf(saved), [step, "MILEPOST_CHECKPOINT=/a"]);
  assert.deepEqual(variablesOf(restarted()), ["MILEPOST_RESTART=2"]);
  assert.deepEqual(variablesOf(restarted({ step: 1200, time })), ["MILEPOST_RESTART=2", step]);
  const location = "/a/$(HOME)/$$x";
  assert.deepEqual(variablesOf(restarted({ step: 1200, location, time })), [
    "MILEPOST_RESTART=2",
    step,
    "MILEPOST_CHECKPOINT=/a/$$(HOME)/$$$$x",
  ]);
});

Deno.test("`withResumption()` keeps what a container has, and takes no control characters from an annotation", () => {
  const time = "2026-01-01T00:00:00Z";
  const own = [{ name: "MILEPOST_CHECKPOINT", value: "mine" }];
  assert.deepEqual(variablesOf(restarted({ step: 7, location: "/a", time }), own), [
    "MILEPOST_CHECKPOINT=mine",
    "MILEPOST_RESTART=2",
    "MILEPOST_CHECKPOINT_STEP=7",
  ]);
  const annotated = (location: string, uid: string) => {
    const text = JSON.stringify({ step: 7, location, time, uid });
    return restarted(undefined, { "trainer.kubeflow.org/checkpoint": text });
  };
  for (const bad of [annotated("/a\n", "u"), annotated("/a", "another")]) {
    assert.deepEqual(variablesOf(bad), ["MILEPOST_RESTART=2"]);
  }
  assert.equal(variablesOf(annotated("/a", "u")).length, 3);
});
