/** Tests of trial resources: their names, and what is known of a kind that others run. */
import assert from "node:assert/strict";
import { podSelector } from "../../crds/job_kind.ts";
import { withTrialResources } from "../../crds/job_kinds.ts";
import { LABELS } from "../../crds/names.ts";
import { parseTrialResource, trialResourceKind } from "../../crds/trial_resource.ts";
import { guessPlural } from "../../platform/kube/resource.ts";
import { v1KindOf } from "../../crds/v1/kinds.ts";

const NAMES: Readonly<Record<string, ReturnType<typeof parseTrialResource>>> = {
  "Job.v1.batch": { kind: "Job", version: "v1", group: "batch" },
  "Workflow.v1alpha1.argoproj.io": {
    kind: "Workflow",
    version: "v1alpha1",
    group: "argoproj.io",
  },
  "JobSet.v1alpha2.jobset.x-k8s.io": {
    kind: "JobSet",
    version: "v1alpha2",
    group: "jobset.x-k8s.io",
  },
  "": undefined,
  "Job": undefined,
  "Job.v1": undefined,
  "Pod.v1.": undefined,
  "job.v1.batch": undefined,
  "Job.batch.v1.": undefined,
  "Job.v1.Batch": undefined,
  "Job.v1.batch/../x": undefined,
  "Job.v1.batch ": undefined,
};
for (const [text, want] of Object.entries(NAMES)) {
  Deno.test(`parseTrialResource() ${want ? "reads" : "refuses"} "${text}"`, () => {
    assert.deepEqual(parseTrialResource(text), want);
  });
}

Deno.test("guessPlural() makes the usual plurals", () => {
  const kinds = ["Job", "Ingress", "Policy", "RayJob"];
  assert.deepEqual(kinds.map(guessPlural), ["jobs", "ingresses", "policies", "rayjobs"]);
});

function kindOf(text: string, plural: string) {
  const resource = parseTrialResource(text);
  assert.ok(resource);
  return trialResourceKind(resource, plural);
}

Deno.test("pods of trial resources are those with Katib's label that no kind of ours has", () => {
  const job = kindOf("Job.v1.batch", "jobs");
  const sweep = kindOf("Sweep.v1.example.org", "sweeps");
  assert.equal(
    podSelector(job),
    "katib.kubeflow.org/trial,!trainer.kubeflow.org/trainjob-name,!trainer.kubeflow.org/job-kind",
  );
  const kinds = withTrialResources([job, sweep]);
  const ofPod = (labels: Record<string, string>) => kinds.ofPod(labels).map(({ id }) => id);
  const trial = { "katib.kubeflow.org/trial": "t" };
  assert.deepEqual(ofPod(trial), [job.id, sweep.id]);
  assert.deepEqual(ofPod({ ...trial, [LABELS.trainJobName]: "t" }), [kinds.implied.id]);
  const ofV1 = { [LABELS.jobKind]: "tfjobs", "training.kubeflow.org/job-name": "t" };
  assert.deepEqual(ofPod({ ...trial, ...ofV1 }), ["tfjobs.kubeflow.org"]);
  assert.deepEqual(ofPod({ "training.kubeflow.org/job-name": "t" }), []);
});

Deno.test("a v1 kind that another operator runs takes the place of ours, with Katib's defaults", () => {
  const theirs = kindOf("PyTorchJob.v1.kubeflow.org", "pytorchjobs");
  const all = withTrialResources([theirs]).all.filter(({ kind }) => kind === "PyTorchJob");
  assert.equal(all.length, 1);
  const [kind] = all;
  assert.ok(kind?.isForeign);
  assert.equal(v1KindOf(kind), undefined);
  assert.equal(kind.katib.success, "Succeeded");
});
