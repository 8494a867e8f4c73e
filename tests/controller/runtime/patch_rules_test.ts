/** Tests of the rules of runtime patches, by the problems of a TrainJob. */
import assert from "node:assert/strict";
import { trainJobProblems } from "../../../controller/runtime/validation.ts";
import type { RuntimePatch } from "../../../crds/runtime_patch.ts";
import { patchOf, replicatedJob, runtime, runtimeSpec, trainJob } from "../../webhook/builders.ts";

const job = replicatedJob("node", "trainer");
const RUNTIME = runtime(runtimeSpec([
  {
    ...job,
    template: {
      ...job.template,
      spec: {
        template: {
          spec: {
            containers: [{ name: "node", image: "i" }, { name: "side", image: "i" }],
            initContainers: [{ name: "init", image: "i" }],
          },
        },
      },
    },
  },
]));
const DOMAIN = 'must be a domain-prefixed path (such as "acme.io/foo")';
const AT = "spec.runtimePatches[0].trainingRuntimeSpec.template";
const POD = `${AT}.spec.replicatedJobs[0].template.spec.template`;
const variable = { name: "A", value: "1" };

function ofMetadata(metadata: Record<string, unknown>): RuntimePatch {
  return { manager: "acme.io/m", trainingRuntimeSpec: { template: { metadata } } };
}

const cases: Record<string, { patch: RuntimePatch; want: string[] }> = {
  "admits Kueue's patch": {
    patch: {
      ...patchOf({ nodeSelector: {}, tolerations: [], schedulingGates: [{ name: "g" }] }),
      manager: "kueue.x-k8s.io/manager",
    },
    want: [],
  },
  "admits variables of a side container": {
    patch: patchOf({ containers: [{ name: "side", env: [variable] }] }),
    want: [],
  },
  "refuses a manager without a domain": {
    patch: patchOf({}, { manager: "me" }),
    want: [`spec.runtimePatches.manager: ${DOMAIN}`],
  },
  "refuses a manager without a path": {
    patch: patchOf({}, { manager: "acme.io/" }),
    want: [`spec.runtimePatches.manager: ${DOMAIN}`],
  },
  "refuses a manager of a malformed domain": {
    patch: patchOf({}, { manager: "Acme_io/x" }),
    want: [
      "spec.runtimePatches.manager: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  },
  "refuses an unknown job": {
    patch: patchOf({}, { job: "gone" }),
    want: [
      "spec.runtimePatches: must not have replicated job that doesn't exist in the runtime job template",
    ],
  },
  "refuses unknown containers": {
    patch: patchOf({ containers: [{ name: "x" }], initContainers: [{ name: "y" }] }),
    want: [
      "spec.runtimePatches: must not have initContainer that doesn't exist in the runtime job node",
      "spec.runtimePatches: must not have container that doesn't exist in the runtime job node",
    ],
  },
  "refuses variables of the trainer's container": {
    patch: patchOf({ containers: [{ name: "node", env: [variable] }] }),
    want: [
      "spec.runtimePatches: must not have envs for the dataset-initializer, model-initializer, node containers",
    ],
  },
  "refuses the identity's volume, mount path and variables": {
    patch: patchOf({
      volumes: [{ name: "kubeflow-trainer-token" }],
      containers: [{
        name: "side",
        env: [{ name: "KUBEFLOW_TRAINER_SERVER_URL", value: "x" }],
        volumeMounts: [{ name: "v", mountPath: "/var/run/secrets/kubeflow/trainer" }],
      }],
    }),
    want: [
      `${POD}.spec.volumes: volume kubeflow-trainer-token is reserved for the identity`,
      `${POD}.spec.containers[0].env: KUBEFLOW_TRAINER_SERVER_URL is reserved for the pod's identity`,
      `${POD}.spec.containers[0].volumeMounts: mount path /var/run/secrets/kubeflow/trainer is reserved for the identity`,
    ],
  },
  "refuses metadata that would be ignored": {
    patch: ofMetadata({
      name: "n",
      finalizers: ["f"],
      creationTimestamp: null,
      labels: { a: "b" },
    }),
    want: [
      `${AT}.metadata.name: only labels and annotations can be patched`,
      `${AT}.metadata.finalizers: only labels and annotations can be patched`,
    ],
  },
  "refuses labels that tie jobs and pods together": {
    patch: ofMetadata({
      labels: { "trainer.kubeflow.org/trainjob-name": "x" },
      annotations: { "jobset.sigs.k8s.io/jobset-name": "y" },
    }),
    want: [
      `${AT}.metadata: trainer.kubeflow.org/trainjob-name is reserved: it ties jobs and pods together`,
      `${AT}.metadata: jobset.sigs.k8s.io/jobset-name is reserved: it ties jobs and pods together`,
    ],
  },
};

for (const [sentence, { patch, want }] of Object.entries(cases)) {
  Deno.test(`\`trainJobProblems()\` ${sentence}`, () => {
    const trainJobWithPatch = trainJob({ runtimePatches: [patch] });
    const problems = trainJobProblems({
      trainJob: trainJobWithPatch,
      runtime: RUNTIME,
      executor: "builtin",
    });
    assert.deepEqual(problems.map((problem) => `${problem.field}: ${problem.message}`), want);
  });
}
