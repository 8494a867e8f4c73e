/** Tests of the admission of v1 jobs, for whole requests. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { required } from "../../crds/field_problem.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import { V1_KIND_LIST, V1_KINDS, type V1Kind } from "../../crds/v1/kinds.ts";
import { createAdmissionHttp } from "../../webhook/admission_http.ts";
import { createV1JobHandlers, type V1JobRules } from "../../webhook/v1_job_handlers.ts";
import { v1WebhookPaths } from "../../webhook/webhook_paths.ts";
import { admissionRequest, manualClock, review } from "./builders.ts";

const NO_RULES: V1JobRules = { problems: () => [], warnings: () => [] };
const PATHS = v1WebhookPaths(V1_KINDS.PyTorchJob);

const job = (spec?: Record<string, unknown>) => ({
  apiVersion: "kubeflow.org/v1",
  kind: "PyTorchJob",
  metadata: { name: "a", namespace: "ns" },
  ...spec === undefined ? {} : { spec },
});

async function judge(
  path: string,
  object: unknown,
  { rules = NO_RULES, ...overlay }: Record<string, unknown> & { rules?: V1JobRules } = {},
) {
  const http = createAdmissionHttp(createV1JobHandlers(rules), manualClock());
  const answer = await http(
    admissionRequest({ url: path, body: [JSON.stringify(review(object, overlay))] }),
  );
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body).response;
}

const patchOf = ({ patch }: { patch?: string }) =>
  patch === undefined ? undefined : JSON.parse(Buffer.from(patch, "base64").toString());

Deno.test("the defaulter stores a run policy where there is none", async () => {
  const defaulted = { op: "add", path: "/spec/runPolicy", value: { suspend: false } };
  assert.deepEqual(patchOf(await judge(PATHS.mutate, job({ pytorchReplicaSpecs: {} }))), [
    defaulted,
  ]);
  const update = { operation: "UPDATE", oldObject: job({ runPolicy: {} }) };
  assert.deepEqual(patchOf(await judge(PATHS.mutate, job({}), update)), [defaulted]);
});

Deno.test("the defaulter changes nothing else, and nothing of what has another shape", async () => {
  const unchanged = [
    job({ runPolicy: {} }),
    job({ runPolicy: { suspend: true }, pytorchReplicaSpecs: { worker: { replicas: 2 } } }),
    job({ pytorchReplicaSpecs: [] }),
    job({ runPolicy: "none" }),
  ];
  for (const it of unchanged) {
    assert.deepEqual(await judge(PATHS.mutate, it), { uid: "r1", allowed: true });
  }
  const deletion = { operation: "DELETE", oldObject: job({}) };
  assert.deepEqual(await judge(PATHS.mutate, null, deletion), { uid: "r1", allowed: true });
});

Deno.test("the validator refuses by the rules with 403, and passes warnings on", async () => {
  const asked: [V1Kind, V1Job, V1Job | undefined][] = [];
  const rules: V1JobRules = {
    problems(kind, object, old) {
      asked.push([kind, object, old]);
      return old === undefined ? [required("spec.it", "must be there")] : [];
    },
    warnings: () => ["beware"],
  };
  const refused = await judge(PATHS.validate, job({}), { rules });
  assert.equal(refused.allowed, false);
  assert.deepEqual(refused.warnings, ["beware"]);
  assert.equal(refused.status.code, 403);
  assert.equal(refused.status.message, "spec.it: Required value: must be there");
  assert.deepEqual(refused.status.details.causes, [
    { reason: "FieldValueRequired", field: "spec.it", message: "Required value: must be there" },
  ]);
  const update = { operation: "UPDATE", oldObject: job({ nprocPerNode: "1" }), rules };
  assert.deepEqual(await judge(PATHS.validate, job({ nprocPerNode: "2" }), update), {
    uid: "r1",
    allowed: true,
    warnings: ["beware"],
  });
  assert.deepEqual(asked.map(([{ kind }, { spec }, old]) => [kind, spec.nprocPerNode, old?.spec]), [
    ["PyTorchJob", undefined, undefined],
    ["PyTorchJob", "2", { nprocPerNode: "1" }],
  ]);
});

Deno.test("the validator refuses an object of another shape with 422, and asks nothing of deletions", async () => {
  const { status } = await judge(PATHS.validate, job({ pytorchReplicaSpecs: { Master: null } }));
  assert.equal(status.code, 422);
  assert.match(status.message, /spec\.pytorchReplicaSpecs\.Master/);
  const deletion = { operation: "DELETE", oldObject: job({}) };
  assert.deepEqual(await judge(PATHS.validate, null, deletion), { uid: "r1", allowed: true });
});

Deno.test("a job without a spec reaches the rules", async () => {
  const seen: unknown[] = [];
  const rules = { ...NO_RULES, problems: (_: V1Kind, { spec }: V1Job) => (seen.push(spec), []) };
  await judge(PATHS.validate, job(), { rules });
  assert.deepEqual(seen, [{}]);
});

const EARLY = "trainer.kubeflow.org/early-stopping";
const TEMPLATE = "trainer.kubeflow.org/trial-template";
const early = (value: string) =>
  JSON.stringify({
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value, comparison: "greater" }],
  });
const TRIAL = { apiVersion: "kubeflow.org/v1beta1", kind: "Trial", name: "a", uid: "t1" };
const FROZEN =
  `metadata.annotations[${EARLY}]: Forbidden: is immutable once the PyTorchJob has started: make a new PyTorchJob`;

/** A job with annotations, and what else of it matters. */
interface Annotated {
  readonly annotations?: Record<string, string>;
  readonly ownerReferences?: readonly unknown[];
  readonly suspend?: boolean;
  readonly status?: Record<string, unknown>;
}

function annotated({ suspend = false, status, ...metadata }: Annotated) {
  const { metadata: names, ...rest } = job({ runPolicy: { suspend } });
  return { ...rest, metadata: { ...names, ...metadata }, ...status && { status } };
}

const ANNOTATED: Readonly<Record<string, { old?: Annotated; now: Annotated; want?: string }>> = {
  "admits good rules": { now: { annotations: { [EARLY]: early("0.5"), [TEMPLATE]: "{}" } } },
  "names the place of a bad value": {
    now: { annotations: { [EARLY]: early("much") } },
    want: `metadata.annotations[${EARLY}].rules[0].value: Invalid value: "much": ` +
      'must be a decimal number in a string, such as "0.5", and not NaN',
  },
  "refuses a template that is no object": {
    now: { annotations: { [TEMPLATE]: "[]" } },
    want: `metadata.annotations[${TEMPLATE}]: Invalid value: "[]": ` +
      "must be an object, as a trialTemplate of Katib",
  },
  "refuses a grace above the bound": {
    now: { annotations: { "trainer.kubeflow.org/early-stopping-grace": "61m" } },
    want:
      'metadata.annotations[trainer.kubeflow.org/early-stopping-grace]: Invalid value: "61m": ' +
      "must be a duration from 0s to 1h, such as 30s or 1m30s",
  },
  "refuses rules on a job of a Trial": {
    now: {
      annotations: { [EARLY]: early("0.5") },
      ownerReferences: [{ ...TRIAL, controller: true }],
    },
    want: `metadata.annotations[${EARLY}]: Forbidden: this PyTorchJob is controlled by a Trial, ` +
      "whose spec.earlyStoppingRules hold: remove the annotation",
  },
  "refuses other rules of a running job": {
    old: { annotations: { [EARLY]: early("0.5") } },
    now: { annotations: { [EARLY]: early("0.6") } },
    want: FROZEN,
  },
  "admits other rules of a suspended job": {
    old: { annotations: { [EARLY]: early("0.5") }, suspend: true },
    now: { annotations: { [EARLY]: early("0.6") }, suspend: false },
  },
  "refuses other rules of a suspended job that has pods": {
    old: {
      annotations: { [EARLY]: early("0.5") },
      suspend: true,
      status: { replicaStatuses: { Worker: { active: 1 } } },
    },
    now: { annotations: { [EARLY]: early("0.6") }, suspend: true },
    want: FROZEN,
  },
  "refuses other rules of a suspended job that has reported": {
    old: {
      annotations: { [EARLY]: early("0.5"), "trainer.kubeflow.org/trainer-status": "{}" },
      suspend: true,
    },
    now: { annotations: { [EARLY]: early("0.6") }, suspend: true },
    want: FROZEN,
  },
  "does not judge again what did not change": {
    old: { annotations: { [EARLY]: "{}" } },
    now: { annotations: { [EARLY]: "{}" }, suspend: true },
  },
};

for (const [sentence, { old, now, want }] of Object.entries(ANNOTATED)) {
  Deno.test(`the validator ${sentence}`, async () => {
    const update = old && { operation: "UPDATE", oldObject: annotated(old) };
    const { allowed, status } = await judge(PATHS.validate, annotated(now), update);
    assert.deepEqual([allowed, status?.message], [want === undefined, want]);
  });
}

Deno.test("the validator warns of a template that a Trial's own replaces", async () => {
  const now = annotated({
    annotations: { [TEMPLATE]: "{}" },
    ownerReferences: [{ ...TRIAL, controller: true }],
  });
  const { allowed, warnings } = await judge(PATHS.validate, now);
  assert.equal(allowed, true);
  assert.deepEqual(warnings, [
    `metadata.annotations[${TEMPLATE}] is not read: a Trial controls this PyTorchJob`,
  ]);
});

Deno.test("createV1JobHandlers() has both paths of every kind", () => {
  assert.deepEqual(
    Object.keys(createV1JobHandlers(NO_RULES)),
    V1_KIND_LIST.flatMap((kind) => Object.values(v1WebhookPaths(kind))),
  );
  assert.equal(v1WebhookPaths(V1_KINDS.TFJob).validate, "/validate-kubeflow-org-v1-tfjob");
});
