/** Tests of the injection into pods of trials, also beside Katib's webhook. */
import fc from "fast-check";
import assert from "node:assert/strict";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import { LABELS } from "../../crds/names.ts";
import { injectIdentity } from "../../webhook/pod_injection.ts";
import { injectTrial, type TrialOfPod } from "../../webhook/trial_injection.ts";

const ISTIO = "sidecar.istio.io/inject";
const TRIAL: TrialOfPod = {
  name: "t",
  labels: { "katib.kubeflow.org/experiment": "e", team: "vision" },
  primaryContainerName: "node",
};
const own = { [LABELS.trainJobName]: "t", [LABELS.trial]: "t" };
const given = {
  "katib.kubeflow.org/experiment": "e",
  team: "vision",
  "katib.kubeflow.org/trial": "t",
};
const off = { [ISTIO]: "false" };
const env = {
  name: "KATIB_TRIAL_NAME",
  valueFrom: {
    fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels['katib.kubeflow.org/trial']" },
  },
};
const V1_POD = {
  "training.kubeflow.org/job-name": "j",
  "training.kubeflow.org/replica-index": "1",
};
const debug = { name: "DEBUG", value: "1" };

function pod(overlay: { metadata?: Pod["metadata"]; spec?: Partial<Pod["spec"]> } = {}): Pod {
  return {
    metadata: { labels: own, ...overlay.metadata },
    spec: { containers: [{ name: "node" }], ...overlay.spec },
  };
}

interface Case {
  readonly pod: Pod;
  readonly trial?: Partial<TrialOfPod>;
  readonly want: Pod;
}

const CASES: Record<string, Case> = {
  "gives labels, the variable and Istio's annotation and label": {
    pod: pod(),
    want: pod({
      metadata: { labels: { ...own, ...given, ...off }, annotations: off },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "gives the variable to the primary container alone, after its others": {
    pod: pod({
      spec: { containers: [{ name: "a", env: [debug] }, { name: "node", env: [debug] }] },
    }),
    want: pod({
      metadata: { labels: { ...own, ...given, ...off }, annotations: off },
      spec: { containers: [{ name: "a", env: [debug] }, { name: "node", env: [debug, env] }] },
    }),
  },
  "lets a pod without the primary container be, but for its labels": {
    pod: pod({ spec: { containers: [{ name: "dataset-initializer" }] } }),
    want: pod({
      metadata: { labels: { ...own, ...given, ...off }, annotations: off },
      spec: { containers: [{ name: "dataset-initializer" }] },
    }),
  },
  "knows no primary container if the Trial names none": {
    pod: pod(),
    trial: { primaryContainerName: undefined },
    want: pod({ metadata: { labels: { ...own, ...given, ...off }, annotations: off } }),
  },
  "does not take an init container for the primary one": {
    pod: pod({ spec: { initContainers: [{ name: "node" }], containers: [{ name: "a" }] } }),
    want: pod({
      metadata: { labels: { ...own, ...given, ...off }, annotations: off },
      spec: { initContainers: [{ name: "node" }], containers: [{ name: "a" }] },
    }),
  },
  "overrides the pod's labels by the Trial's, as Katib does": {
    pod: pod({ metadata: { labels: { ...own, team: "speech", "katib.kubeflow.org/trial": "x" } } }),
    want: pod({
      metadata: { labels: { ...own, ...given, ...off }, annotations: off },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "never changes labels by which a v1 job knows its pods": {
    pod: pod({ metadata: { labels: { ...own, ...V1_POD } } }),
    trial: {
      labels: {
        "training.kubeflow.org/job-role": "master",
        "training.kubeflow.org/replica-index": "0",
        "job-role": "master",
        team: "vision",
      },
    },
    want: pod({
      metadata: {
        labels: { ...own, ...V1_POD, team: "vision", "katib.kubeflow.org/trial": "t", ...off },
        annotations: off,
      },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "never changes labels by which controllers know their pods": {
    pod: pod({ metadata: { labels: { ...own, "job-name": "j" } } }),
    trial: {
      labels: {
        "job-name": "other",
        "controller-uid": "other",
        "batch.kubernetes.io/job-name": "other",
        "batch.kubernetes.io/controller-uid": "other",
        "jobset.sigs.k8s.io/jobset-name": "other",
        [LABELS.trainJobName]: "other",
        [LABELS.trial]: "other",
      },
    },
    want: pod({
      metadata: {
        labels: { ...own, "job-name": "j", "katib.kubeflow.org/trial": "t", ...off },
        annotations: off,
      },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "replaces a variable of that name, and one that Katib's webhook appended": {
    pod: pod({
      spec: {
        containers: [{
          name: "node",
          env: [{ name: env.name, value: "mine" }, debug, env],
        }],
      },
    }),
    want: pod({
      metadata: { labels: { ...own, ...given, ...off }, annotations: off },
      spec: { containers: [{ name: "node", env: [debug, env] }] },
    }),
  },
  "leaves Istio's label and annotation if the pod has both": {
    pod: pod({ metadata: { labels: { ...own, [ISTIO]: "true" }, annotations: off } }),
    want: pod({
      metadata: { labels: { ...own, ...given, [ISTIO]: "true" }, annotations: off },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "follows Istio's annotation if the pod has only that": {
    pod: pod({ metadata: { labels: own, annotations: { [ISTIO]: "true" } } }),
    want: pod({
      metadata: { labels: { ...own, ...given, [ISTIO]: "true" }, annotations: { [ISTIO]: "true" } },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "follows Istio's label if the pod has only that": {
    pod: pod({ metadata: { labels: { ...own, [ISTIO]: "true" } } }),
    want: pod({
      metadata: { labels: { ...own, ...given, [ISTIO]: "true" }, annotations: { [ISTIO]: "true" } },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
  "gives only the name if the Trial has no labels": {
    pod: pod(),
    trial: { labels: undefined },
    want: pod({
      metadata: { labels: { ...own, "katib.kubeflow.org/trial": "t", ...off }, annotations: off },
      spec: { containers: [{ name: "node", env: [env] }] },
    }),
  },
};

for (const [sentence, { pod, trial, want }] of Object.entries(CASES)) {
  Deno.test(`\`injectTrial()\` ${sentence}`, () => {
    const before = structuredClone(pod);
    const once = injectTrial(pod, { ...TRIAL, ...trial }, JOB_KINDS);
    assert.deepEqual(once, want);
    assert.deepEqual(pod, before, "the input is not changed");
    assert.deepEqual(injectTrial(once, { ...TRIAL, ...trial }, JOB_KINDS), once, "idempotent");
  });
}

Deno.test("`injectTrial()` leaves a pod without a spec alone", () => {
  assert.deepEqual(injectTrial({ metadata: {} }, TRIAL, JOB_KINDS), { metadata: {} });
});

/** What Katib's webhook does to a pod whose collector is Push, as the API server then defaults it. */
function katib(pod: Pod): Pod {
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata?.labels, ...TRIAL.labels, "katib.kubeflow.org/trial": TRIAL.name },
    },
    spec: pod.spec && {
      ...pod.spec,
      containers: pod.spec.containers.map((it) =>
        it.name === TRIAL.primaryContainerName ? { ...it, env: [...it.env ?? [], env] } : it
      ),
    },
  };
}

/** Ours, as the webhook calls it. */
function milepost(pod: Pod): Pod {
  const identity = { kind: TRAINJOB, namespace: "ns", name: "t" };
  return injectTrial(
    injectIdentity(pod, identity, { url: "https://milepost:8082", caBundle: "CA" }),
    TRIAL,
    JOB_KINDS,
  );
}

Deno.test("`injectTrial()` gives the same pod whether Katib's webhook was called before or after", () => {
  const labels = fc.dictionary(
    fc.constantFrom("team", "app", ISTIO, "katib.kubeflow.org/trial"),
    fc.constantFrom("a", "b"),
  );
  const pods = fc.record({
    metadata: fc.record({
      labels: labels.map((it) => ({ ...own, ...it })),
      annotations: fc.option(fc.constant({ [ISTIO]: "true" }), { nil: undefined }),
    }),
    spec: fc.record({
      containers: fc.array(
        fc.record({
          name: fc.constantFrom("node", "other"),
          env: fc.option(
            fc.array(fc.record({ name: fc.constantFrom("A", env.name), value: fc.constant("1") })),
            { nil: undefined },
          ),
        }),
        { minLength: 1 },
      ),
    }),
  });
  fc.assert(fc.property(pods, (pod) => {
    const alone = milepost(pod);
    assert.deepEqual(milepost(katib(pod)), alone, "Katib before us");
    assert.deepEqual(
      milepost(katib(milepost(pod))),
      alone,
      "Katib after us, then we are asked again",
    );
  }));
});
