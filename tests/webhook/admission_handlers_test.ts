/** Tests of the decisions of admission, for whole requests. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { z } from "zod";
import { forbidden } from "../../crds/field_problem.ts";
import { withTrialResources } from "../../crds/job_kinds.ts";
import { trialResourceKind } from "../../crds/trial_resource.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import { createAdmissionHttp } from "../../webhook/admission_http.ts";
import type { TrialOfPod } from "../../webhook/trial_injection.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { optimizationJob } from "../trials/search/builders.ts";
import {
  admissionOptions,
  admissionRequest,
  manualClock,
  review,
  runtime,
  trainJob,
} from "./builders.ts";

const PATH = WEBHOOK_PATHS.validateTrainJobs;

const answerSchema = z.object({
  response: z.object({
    uid: z.literal("r1"),
    allowed: z.boolean(),
    warnings: z.array(z.string()).optional(),
    patchType: z.string().optional(),
    patch: z.string().optional(),
    status: z.object({
      code: z.number(),
      reason: z.string(),
      message: z.string(),
      details: z.object({ causes: z.array(z.object({ field: z.string() })) }).optional(),
    }).optional(),
  }),
});

/** The answer about one object. */
async function judge(
  path: string,
  object: unknown,
  overlay: Record<string, unknown> = {},
  options = admissionOptions(),
) {
  const http = createAdmissionHttp(createAdmissionHandlers(options), manualClock());
  const answer = await http(
    admissionRequest({ url: path, body: [JSON.stringify(review(object, overlay))] }),
  );
  assert.equal(answer.status, 200, answer.body);
  return answerSchema.parse(JSON.parse(answer.body)).response;
}

Deno.test("admission refuses with 403, the field path and a cause for each problem", async () => {
  const job = trainJob({ runtimeRef: { name: "gone" } }, {
    annotations: { "trainer.kubeflow.org/early-stopping": "{}" },
  });
  const { allowed, status } = await judge(PATH, job);
  assert.equal(allowed, false);
  assert.equal(status?.code, 403);
  assert.equal(status?.reason, "Forbidden");
  assert.match(
    status?.message ?? "",
    /^\[spec\.RuntimeRef: Invalid value: \{"name":"gone".*specified clusterTrainingRuntime must be created/,
  );
  assert.deepEqual(status?.details?.causes.map((cause) => cause.field), [
    "spec.RuntimeRef",
    "metadata.annotations[trainer.kubeflow.org/early-stopping].objective",
    "metadata.annotations[trainer.kubeflow.org/early-stopping].rules",
  ]);
});

Deno.test("admission refuses an unsupported kind of runtime by name", async () => {
  for (const ref of [{ name: "rt", kind: "Job" }, { name: "rt", apiGroup: "other.io" }]) {
    const { status } = await judge(PATH, trainJob({ runtimeRef: ref }));
    const kind = `${ref.kind ?? "ClusterTrainingRuntime"}.${
      ref.apiGroup ?? "trainer.kubeflow.org"
    }`;
    assert.ok(status?.message.includes(`unsupported runtime: ${kind}`));
  }
});

Deno.test("admission refuses an object of the wrong shape with 422 and its field", async () => {
  const job = { ...trainJob(), spec: { runtimeRef: { name: "rt" }, trainer: { numNodes: "two" } } };
  const { allowed, status } = await judge(PATH, job);
  assert.equal(allowed, false);
  assert.equal(status?.code, 422);
  assert.match(status?.message ?? "", /spec\.trainer\.numNodes/);
  const defaulted = await judge(WEBHOOK_PATHS.defaultTrainJobs, job);
  assert.deepEqual(defaulted, { uid: "r1", allowed: true }, "left to the schema's own check");
});

Deno.test("admission judges a changed job by its snapshot, whatever the runtime is now (G11)", async () => {
  const runtimePatches = [{
    manager: "acme.io/m",
    trainingRuntimeSpec: { template: { spec: { replicatedJobs: [{ name: "node" }] } } },
  }];
  const overlay = { operation: "UPDATE", oldObject: trainJob({ suspend: true }) };
  const job = trainJob({ suspend: true, runtimePatches });
  const gone = { runtime: () => undefined };
  const asked: unknown[] = [];
  const kept = await judge(
    PATH,
    job,
    overlay,
    admissionOptions({
      ...gone,
      snapshot: (key) => {
        asked.push(key);
        return runtime();
      },
    }),
  );
  assert.equal(kept.allowed, true);
  assert.deepEqual(asked, [{ namespace: "ns", name: "tj", uid: "u1" }]);
  assert.equal((await judge(PATH, job, overlay, admissionOptions(gone))).allowed, false);
});

Deno.test("admission lets a job that is being deleted lose its finalizers", async () => {
  const job = trainJob({ trainer: {} }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const { allowed } = await judge(PATH, job, { operation: "UPDATE", oldObject: trainJob() });
  assert.equal(allowed, true);
});

Deno.test("admission never judges a deletion", async () => {
  for (const path of Object.values(WEBHOOK_PATHS)) {
    assert.equal((await judge(path, null, { operation: "DELETE" })).allowed, true);
  }
});

function operations(patch: string | undefined): unknown {
  return JSON.parse(Buffer.from(patch ?? "", "base64").toString());
}

Deno.test("admission sets the time of patches by a JSON patch", async () => {
  const job = trainJob({ runtimePatches: [{ manager: "acme.io/m" }] });
  const { patchType, patch } = await judge(WEBHOOK_PATHS.defaultTrainJobs, job);
  assert.equal(patchType, "JSONPatch");
  assert.deepEqual(operations(patch), [
    { op: "add", path: "/spec/runtimePatches/0/time", value: "2026-01-02T03:04:05Z" },
  ]);
});

const podOf = (labels: Record<string, string>) => ({
  metadata: { name: "p", creationTimestamp: null, labels },
  spec: { containers: [{ name: "c" }] },
});
const labelled = podOf({ "trainer.kubeflow.org/trainjob-name": "tj" });
const ofPod = { kind: { group: "", version: "v1", kind: "Pod" } };

Deno.test("admission injects a pod of a TrainJob with the namespace of the request", async () => {
  const { patch } = await judge(WEBHOOK_PATHS.mutatePods, labelled, ofPod);
  const text = JSON.stringify(operations(patch));
  assert.match(text, /namespaces\/ns\/trainjobs\/tj\/status/);
  assert.match(text, /"path":"\/spec\/volumes"/);
});

const untouched: Record<string, { pod: unknown; overlay?: object; endpoint?: undefined }> = {
  "without the label": { pod: podOf({}) },
  "that is updated": { pod: labelled, overlay: { operation: "UPDATE", oldObject: labelled } },
};
for (const [sentence, { pod, overlay }] of Object.entries(untouched)) {
  Deno.test(`admission leaves a pod ${sentence} as it is`, async () => {
    const answer = await judge(WEBHOOK_PATHS.mutatePods, pod, { ...ofPod, ...overlay });
    assert.deepEqual(answer, { uid: "r1", allowed: true });
  });
}

const trialsPod = podOf({
  "trainer.kubeflow.org/trainjob-name": "tj",
  "trainer.kubeflow.org/trial": "t",
});

Deno.test("admission gives a trial's pod what its Trial says, looked up by the label", async () => {
  const asked: unknown[] = [];
  const options = admissionOptions({
    trial: (key) => {
      asked.push(key);
      return Promise.resolve({ name: "t", labels: { team: "x" }, primaryContainerName: "c" });
    },
  });
  const { patch, warnings } = await judge(WEBHOOK_PATHS.mutatePods, trialsPod, ofPod, options);
  assert.deepEqual(asked, [{ namespace: "ns", name: "t" }]);
  assert.equal(warnings, undefined);
  const text = JSON.stringify(operations(patch));
  assert.match(text, /KATIB_TRIAL_NAME/);
  assert.match(text, /\/metadata\/labels\/team/);
  assert.match(text, /KUBEFLOW_TRAINER_STATUS_URL/);
});

Deno.test("admission gives a pod whose Trial is gone its identity, and says so", async () => {
  const { allowed, patch, warnings } = await judge(WEBHOOK_PATHS.mutatePods, trialsPod, ofPod);
  assert.equal(allowed, true);
  assert.deepEqual(warnings, ["there is no Trial t that the pod could be of"]);
  const text = JSON.stringify(operations(patch));
  assert.match(text, /KUBEFLOW_TRAINER_STATUS_URL/);
  assert.doesNotMatch(text, /KATIB/);
});

Deno.test("admission does not answer about a trial's pod while its Trial cannot be read", async () => {
  const options = admissionOptions({ trial: () => Promise.reject(new Error("the API is away")) });
  const http = createAdmissionHttp(createAdmissionHandlers(options), manualClock());
  const asked = admissionRequest({
    url: WEBHOOK_PATHS.mutatePods,
    body: [JSON.stringify(review(trialsPod, ofPod))],
  });
  // The server's response to that is 500.
  await assert.rejects(async () => await http(asked), /the API is away/);
});

const RESOURCES = withTrialResources(
  [["Job", "batch"], ["Sweep", "example.org"]].map(([kind = "", group = ""]) =>
    trialResourceKind({ kind, version: "v1", group }, `${kind.toLowerCase()}s`)
  ),
);
const SWEEP = { apiVersion: "example.org/v1", kind: "Sweep" };

const resourcePods: Record<
  string,
  { labels: Record<string, string>; trial: Partial<TrialOfPod>; path?: RegExp }
> = {
  "of a Trial whose metrics are pushed": {
    labels: { "katib.kubeflow.org/trial": "t" },
    trial: { run: SWEEP, pushes: true },
    path: /example\.org\/v1\/namespaces\/ns\/sweeps\/t\/status/,
  },
  "of a Trial whose collector is adopted, by our label": {
    labels: { "trainer.kubeflow.org/trial": "t" },
    trial: { run: SWEEP, pushes: false },
    path: /example\.org\/v1\/namespaces\/ns\/sweeps\/t\/status/,
  },
  "of a Trial with another collector": {
    labels: { "katib.kubeflow.org/trial": "t" },
    trial: { run: SWEEP, pushes: false },
  },
  "of a Trial over a kind that is no trial resource": {
    labels: { "katib.kubeflow.org/trial": "t" },
    trial: { run: { apiVersion: "ray.io/v1", kind: "RayJob" }, pushes: true },
  },
  "of a Trial over another version of the kind": {
    labels: { "katib.kubeflow.org/trial": "t" },
    trial: { run: { ...SWEEP, apiVersion: "example.org/v2" }, pushes: true },
  },
};
for (const [sentence, { labels, trial, path }] of Object.entries(resourcePods)) {
  Deno.test(`admission ${path ? "identifies" : "leaves"} a pod ${sentence}`, async () => {
    const options = admissionOptions({ kinds: RESOURCES, trial: () => ({ name: "t", ...trial }) });
    const answer = await judge(WEBHOOK_PATHS.mutatePods, podOf(labels), ofPod, options);
    if (path === undefined) return assert.deepEqual(answer, { uid: "r1", allowed: true });
    const text = JSON.stringify(operations(answer.patch));
    assert.match(text, path);
    assert.match(text, /ca-bundle/);
    assert.match(text, /"downwardAPI"/);
  });
}

for (const tells of [true, false]) {
  Deno.test(`admission ${tells ? "lets" : "does not let"} a job have the last words of its pods`, async () => {
    const asked: string[] = [];
    const options = admissionOptions({
      tellsLastWords: ({ kind, namespace, name }) => {
        asked.push(`${kind.kind} ${namespace}/${name}`);
        return tells;
      },
    });
    const answer = await judge(WEBHOOK_PATHS.mutatePods, labelled, ofPod, options);
    const patch = JSON.stringify(operations(answer.patch));
    assert.equal(patch.includes("FallbackToLogsOnError"), tells);
    assert.deepEqual(asked, ["TrainJob ns/tj"]);
  });
}

Deno.test("admission leaves pods as they are while the feature gate is off", async () => {
  const options = admissionOptions({ endpoint: () => undefined });
  const answer = await judge(WEBHOOK_PATHS.mutatePods, labelled, ofPod, options);
  assert.deepEqual(answer, { uid: "r1", allowed: true });
});

Deno.test("admission judges both kinds of runtime", async () => {
  const options = admissionOptions({ runtimeRules: () => [forbidden("spec", "no mpi")] });
  const paths = {
    ClusterTrainingRuntime: WEBHOOK_PATHS.validateClusterTrainingRuntimes,
    TrainingRuntime: WEBHOOK_PATHS.validateTrainingRuntimes,
  };
  for (const [kind, path] of Object.entries(paths)) {
    const { status } = await judge(path, { ...runtime(), kind }, {}, options);
    assert.equal(status?.message, "spec: Forbidden: no mpi");
  }
});

const SEARCHES = WEBHOOK_PATHS.validateOptimizationJobs;
const searchOf = (runtime: string, annotations: Record<string, string> = {}) =>
  optimizationJob({
    template: { metadata: { annotations }, spec: { runtimeRef: { name: runtime } } },
  });

Deno.test("admission judges the template of an OptimizationJob as a TrainJob of it", async () => {
  const asked: string[] = [];
  const options = admissionOptions({
    trainJobRules: () => (job) => {
      asked.push(job.metadata.name ?? "");
      return [forbidden("spec.trainer", "may not be")];
    },
  });
  const annotations = { "trainer.kubeflow.org/stop-when": "loss >" };
  const { allowed, status } = await judge(SEARCHES, searchOf("rt", annotations), {}, options);
  assert.equal(allowed, false);
  assert.deepEqual(asked, ["digits-01234567-3"]);
  assert.deepEqual(status?.details?.causes.map(({ field }) => field), [
    "spec.trainJobTemplate.metadata.annotations[trainer.kubeflow.org/stop-when]",
    "spec.trainJobTemplate.spec.trainer",
  ]);
});

Deno.test("admission refuses an OptimizationJob without its runtime, and admits what is right", async () => {
  const gone = await judge(SEARCHES, searchOf("gone"));
  assert.match(
    gone.status?.message ?? "",
    /^spec\.trainJobTemplate\.spec\.RuntimeRef: .* not found/,
  );
  assert.equal((await judge(SEARCHES, searchOf("rt"))).allowed, true);
});

Deno.test("admission of a change of an OptimizationJob does not ask for its runtime", async () => {
  const old = searchOf("gone");
  const object = { ...old, metadata: { ...old.metadata, labels: { a: "b" } } };
  const { allowed } = await judge(SEARCHES, object, { operation: "UPDATE", oldObject: old });
  assert.equal(allowed, true);
});
