/** Tests of which pushes are a trial's. */
import assert from "node:assert/strict";
import { isTrialsPush } from "../../../status/ownership/trial_pushes.ts";
import { trialReference } from "../../../trials/plan/claim.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import { trainJob } from "../../support/standalone.ts";

const trial: OwnerRef = {
  apiVersion: "kubeflow.org/v1beta1",
  kind: "Trial",
  name: "t",
  uid: "u",
  controller: true,
};

const JOBS: Record<string, { owners: OwnerRef[]; want: boolean }> = {
  "a Trial controls": { owners: [trial], want: true },
  "a Trial of a later version controls": {
    owners: [{ ...trial, apiVersion: "kubeflow.org/v1" }],
    want: true,
  },
  "a Trial owns without controlling it": {
    owners: [{ ...trial, controller: false }],
    want: false,
  },
  "a Trial of somebody else's group controls": {
    owners: [{ ...trial, apiVersion: "example.com/v1" }],
    want: false,
  },
  "another kind of Katib controls": { owners: [{ ...trial, kind: "Experiment" }], want: false },
  "has no controller": { owners: [], want: false },
};
for (const [sentence, { owners, want }] of Object.entries(JOBS)) {
  Deno.test(`\`trialReference()\` is ${want ? "there" : "undefined"} for a job that ${sentence}`, () => {
    assert.equal(trialReference({ ownerReferences: owners }) !== undefined, want);
  });
}

const ORIGIN = {
  job: { kind: TRAINJOB, namespace: "default", name: "job", uid: "u" },
  pod: { name: "pod", uid: "p" },
};

function caches(owners: OwnerRef[], labels: Record<string, string>) {
  const job = trainJob("job", "any");
  job.metadata.ownerReferences = owners;
  const pod = KINDS.pod.parse({ metadata: { name: "pod", uid: "p", labels } });
  return { jobs: { get: () => job }, pods: { get: () => pod } };
}

Deno.test("`isTrialsPush()` reads the pod's label and the controller of the TrainJob", () => {
  const plain = { [LABELS.trainJobName]: "job" };
  assert.equal(isTrialsPush(new Map([[TRAINJOB, caches([], plain)]]), ORIGIN), false);
  assert.equal(
    isTrialsPush(new Map([[TRAINJOB, caches([], { ...plain, [LABELS.trial]: "t" })]]), ORIGIN),
    true,
  );
  assert.equal(isTrialsPush(new Map([[TRAINJOB, caches([trial], plain)]]), ORIGIN), true);
});

Deno.test("`isTrialsPush()` is true for objects that the caches do not hold yet", () => {
  const nothing = { get: () => undefined };
  const plain = caches([], { [LABELS.trainJobName]: "job" });
  assert.equal(isTrialsPush(new Map([[TRAINJOB, { ...plain, jobs: nothing }]]), ORIGIN), true);
  assert.equal(isTrialsPush(new Map([[TRAINJOB, { ...plain, pods: nothing }]]), ORIGIN), true);
  const earlier = { ...ORIGIN, pod: { name: "pod", uid: "another" } };
  assert.equal(isTrialsPush(new Map([[TRAINJOB, plain]]), earlier), true);
});
