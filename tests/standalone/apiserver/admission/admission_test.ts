/** Tests of admission: matching, order, failures and responses of webhooks, and built-in admission. */
import assert from "node:assert/strict";
import { at } from "../../../../platform/base/json.ts";
import { createAuthorizer } from "../../../../standalone/apiserver/access/authorizer.ts";
import { createAdmission } from "../../../../standalone/apiserver/admission/admission.ts";
import type { AdmissionRequest } from "../../../../standalone/apiserver/admission/admission_request.ts";
import type { HttpsCall } from "../../../../standalone/apiserver/admission/https_calls.ts";
import type { ApiObject } from "../../../../standalone/apiserver/objects/api_object.ts";
import { StatusError } from "../../../../standalone/apiserver/objects/status_error.ts";
import { memoryStore, stored } from "../memory_store.ts";
import { reviewAnswer } from "./webhook_server.ts";

const ALL = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };

function webhook(name: string, more: Record<string, unknown> = {}) {
  return {
    name,
    clientConfig: { url: `https://${name}/` },
    rules: [ALL],
    sideEffects: "None",
    ...more,
  };
}

type Answer = (review: unknown) => unknown;
const ALLOW: Answer = () => ({ allowed: true });

interface World {
  readonly mutating?: unknown[];
  readonly validating?: unknown[];
  /** Answers of the webhooks, by host. */
  readonly answers?: Record<string, Answer>;
  readonly objects?: Record<string, ApiObject[]>;
}

/** Admission with webhooks that answer in memory; `calls` has their names in order. */
function world({ mutating = [], validating = [], answers = {}, objects = {} }: World) {
  const store = memoryStore({
    namespaces: [stored("Namespace", { name: "ns", labels: { team: "a" } })],
    serviceaccounts: [stored("ServiceAccount", { name: "default", namespace: "ns" })],
    mutatingwebhookconfigurations: [
      stored("MutatingWebhookConfiguration", { name: "m" }, { webhooks: mutating }),
    ],
    validatingwebhookconfigurations: [
      stored("ValidatingWebhookConfiguration", { name: "v" }, { webhooks: validating }),
    ],
    ...objects,
  });
  const calls: string[] = [];
  const sent: HttpsCall[] = [];
  const admit = createAdmission({
    store,
    authorizer: createAuthorizer({ store }),
    call: (call) => {
      const { hostname } = new URL(call.url);
      calls.push(hostname);
      sent.push(call);
      const review: unknown = JSON.parse(call.body);
      const answer = (answers[hostname] ?? ALLOW)(review);
      const body = typeof answer === "string"
        ? answer
        : JSON.stringify(reviewAnswer(review, answer));
      return Promise.resolve({ status: 200, body });
    },
  });
  const admitAsIs = (request: AdmissionRequest) => admit(request, (object) => object);
  return { admit: admitAsIs, finishing: admit, calls, sent };
}

function request(more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    operation: "CREATE",
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    namespace: "ns",
    name: "c",
    object: { metadata: { name: "c", labels: { app: "x" } }, data: { a: "1" } },
    user: { name: "ann", groups: ["staff"] },
    dryRun: false,
    ...more,
  };
}

const rule = (more: Record<string, unknown>) => ({ rules: [{ ...ALL, ...more }] });
const pods = { resource: { group: "", version: "v1", resource: "pods" } };
const node = { resource: { group: "", version: "v1", resource: "nodes" }, namespace: undefined };

const MATCHES: Record<string, [Record<string, unknown>, Partial<AdmissionRequest>, boolean]> = {
  "by operation": [rule({ operations: ["CREATE", "UPDATE"] }), {}, true],
  "not by another operation": [rule({ operations: ["DELETE"] }), {}, false],
  "not by another group": [rule({ apiGroups: ["batch"] }), {}, false],
  "not by another version": [rule({ apiVersions: ["v2"] }), {}, false],
  "by resource": [rule({ resources: ["configmaps"] }), {}, true],
  "by every resource": [rule({ resources: ["*"] }), {}, true],
  "not a subresource by its resource": [rule({ resources: ["pods"] }), {
    ...pods,
    subresource: "status",
  }, false],
  "not a subresource by every resource": [rule({ resources: ["*"] }), {
    ...pods,
    subresource: "status",
  }, false],
  "a subresource by its name": [rule({ resources: ["pods/status"] }), {
    ...pods,
    subresource: "status",
    operation: "UPDATE",
  }, true],
  "a subresource by every one": [rule({ resources: ["pods/*"] }), {
    ...pods,
    subresource: "status",
    operation: "UPDATE",
  }, true],
  "not a namespaced object by scope Cluster": [rule({ scope: "Cluster" }), {}, false],
  "a cluster's object by scope Cluster": [rule({ scope: "Cluster" }), node, true],
  "by the labels of the namespace": [
    { namespaceSelector: { matchLabels: { team: "a" } } },
    {},
    true,
  ],
  "not by other labels of the namespace": [
    { namespaceSelector: { matchLabels: { team: "b" } } },
    {},
    false,
  ],
  "a cluster-scoped object with any namespace selector": [
    { namespaceSelector: { matchLabels: { team: "b" } } },
    node,
    true,
  ],
  "by the labels of the object": [
    { objectSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["x", "y"] }] } },
    {},
    true,
  ],
  "not by a label that is there": [
    { objectSelector: { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] } },
    {},
    false,
  ],
  "by the labels of the old object": [
    { objectSelector: { matchLabels: { was: "here" } } },
    { oldObject: { metadata: { labels: { was: "here" } } }, operation: "UPDATE" },
    true,
  ],
  "by a condition": [
    {
      matchConditions: [{
        name: "c",
        expression: "object.data.a == '1' && request.namespace == 'ns'",
      }],
    },
    {},
    true,
  ],
  "not by a condition that is false": [
    { matchConditions: [{ name: "c", expression: "request.userInfo.username != 'ann'" }] },
    {},
    false,
  ],
  "not if a condition fails and failures are ignored": [
    {
      failurePolicy: "Ignore",
      matchConditions: [{ name: "c", expression: "object.no.such == 1" }],
    },
    {},
    false,
  ],
  "never a webhook configuration": [
    {},
    {
      resource: {
        group: "admissionregistration.k8s.io",
        version: "v1",
        resource: "mutatingwebhookconfigurations",
      },
    },
    false,
  ],
};

for (const [sentence, [more, about, called]] of Object.entries(MATCHES)) {
  Deno.test(`\`admit()\` calls a webhook ${sentence}`, async () => {
    const { admit, calls } = world({ validating: [webhook("hook", more)] });
    await admit(request(about));
    assert.deepEqual(calls, called ? ["hook"] : []);
  });
}

Deno.test("`admit()` refuses if a condition cannot be evaluated", async () => {
  const matchConditions = [{ name: "odd", expression: "object.no.such == 1" }];
  const { admit, calls } = world({ validating: [webhook("hook", { matchConditions })] });
  await assert.rejects(admit(request()), { code: 403, message: /match condition "odd"/ });
  assert.deepEqual(calls, []);
});

const DENIALS: Record<string, { status: unknown; code: number; message: string }> = {
  "with code and message": {
    status: { code: 422, reason: "Invalid", message: "too big" },
    code: 422,
    message: 'admission webhook "hook" denied the request: too big',
  },
  "without explanation": {
    status: undefined,
    code: 400,
    message: 'admission webhook "hook" denied the request without explanation',
  },
  "with a code that is no error's": {
    status: { code: 200, message: "no" },
    code: 400,
    message: 'admission webhook "hook" denied the request: no',
  },
};

for (const [sentence, { status, code, message }] of Object.entries(DENIALS)) {
  for (const kind of ["mutating", "validating"] as const) {
    Deno.test(`\`admit()\` relays a denial ${sentence} of a ${kind} webhook`, async () => {
      const { admit } = world({
        [kind]: [webhook("hook", { failurePolicy: "Ignore" })],
        answers: { hook: () => ({ allowed: false, status }) },
      });
      await assert.rejects(admit(request()), { code, message });
    });
  }
}

function patch(...operations: unknown[]): Answer {
  return () => ({ allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(operations)) });
}

const GARBAGE: Record<string, { answer: Answer; message: RegExp }> = {
  "no JSON": { answer: () => "<html>", message: /no JSON/ },
  "another document": { answer: () => '{"kind":"Pod"}', message: /no AdmissionReview/ },
  "the answer to another request": {
    answer: () => ({ uid: "other", allowed: true }),
    message: /expected response\.uid="[^"]+", got response\.uid="other"/,
  },
  "a patch that does not fit": {
    answer: patch({ op: "remove", path: "/spec/x" }),
    message: /the patch cannot be applied/,
  },
  "an invalid patch": {
    answer: () => ({ allowed: true, patchType: "JSONPatch", patch: "***" }),
    message: /the patch cannot be applied/,
  },
  "a patch of another type": {
    answer: () => ({ allowed: true, patchType: "MergePatch", patch: btoa("{}") }),
    message: /must be JSONPatch/,
  },
  "a patch that leaves no object": {
    answer: patch({ op: "replace", path: "", value: 1 }),
    message: /leaves no object/,
  },
};

for (const [sentence, { answer, message }] of Object.entries(GARBAGE)) {
  Deno.test(`\`admit()\` treats ${sentence} as a failure, by the failure policy`, async () => {
    const with_ = (failurePolicy: string) =>
      world({ mutating: [webhook("hook", { failurePolicy })], answers: { hook: answer } }).admit(
        request(),
      );
    await assert.rejects(with_("Fail"), (error) => {
      assert.ok(error instanceof Error);
      assert.match(error.message, /^Internal error occurred: failed calling webhook "hook": /);
      assert.match(error.message, message);
      return true;
    });
    const { object } = await with_("Ignore");
    assert.deepEqual(at(object, "data"), { a: "1" });
  });
}

Deno.test("`admit()` fails for a Service that cannot be reached, and for a URL that is not https", async () => {
  const service = { clientConfig: { service: { name: "s", namespace: "n" } } };
  const bare = world({ validating: [webhook("hook", service)] });
  await assert.rejects(bare.admit(request()), /service "s\.n\.svc" cannot be reached/);
  const plain = world({ validating: [webhook("hook", { clientConfig: { url: "http://hook/" } })] });
  await assert.rejects(plain.admit(request()), /must be an https URL/);
  assert.deepEqual([...bare.calls, ...plain.calls], []);
});

Deno.test("`admit()` passes the result of each mutating webhook to the next, then validates it", async () => {
  const seen: unknown[] = [];
  const { admit, calls } = world({
    mutating: [webhook("one"), webhook("two")],
    validating: [webhook("three")],
    answers: {
      one: patch({ op: "add", path: "/data/b", value: "2" }),
      two: (review) => {
        seen.push(at(review, "request", "object", "data"));
        return patch({ op: "remove", path: "/data/a" })(review);
      },
      three: (review) => {
        seen.push(at(review, "request", "object", "data"));
        return { allowed: true };
      },
    },
  });
  const { object } = await admit(request());
  assert.deepEqual(calls, ["one", "two", "three"]);
  assert.deepEqual(seen, [{ a: "1", b: "2" }, { b: "2" }]);
  assert.deepEqual(at(object, "data"), { b: "2" });
});

Deno.test("`admit()` calls a webhook again when a later one changed the object, if it wants that", async () => {
  const answers = { later: patch({ op: "add", path: "/data/b", value: "2" }) };
  const again = (reinvocationPolicy: string) =>
    world({ mutating: [webhook("early", { reinvocationPolicy }), webhook("later")], answers });
  const [ifNeeded, never] = [again("IfNeeded"), again("Never")];
  await ifNeeded.admit(request());
  await never.admit(request());
  assert.deepEqual(ifNeeded.calls, ["early", "later", "early"]);
  assert.deepEqual(never.calls, ["early", "later"]);
});

Deno.test("`admit()` refuses a patch by a validating webhook", async () => {
  const { admit } = world({
    validating: [webhook("hook")],
    answers: { hook: patch({ op: "add", path: "/data/b", value: "2" }) },
  });
  await assert.rejects(admit(request()), /validating webhook must not send a patch/);
});

Deno.test("`admit()` keeps a dry run from webhooks with side effects", async () => {
  const { admit, calls } = world({ validating: [webhook("hook", { sideEffects: "Some" })] });
  await assert.rejects(admit(request({ dryRun: true })), {
    code: 400,
    message: 'admission webhook "hook" does not support dry run',
  });
  await admit(request());
  assert.deepEqual(calls, ["hook"]);
});

Deno.test("`admit()` gives a webhook the seconds of its configuration", async () => {
  const { admit, sent } = world({ validating: [webhook("hook", { timeoutSeconds: 3 })] });
  await admit(request());
  assert.equal(sent[0]?.timeoutMs, 3000);
  assert.equal(sent[0]?.url, "https://hook/?timeout=3s");
});

Deno.test("`admit()` returns the same object if nothing changes it", async () => {
  const about = request();
  const { object } = await world({ mutating: [webhook("hook")] }).admit(about);
  assert.equal(object, about.object);
});

function podRequest(spec: Record<string, unknown> = {}): AdmissionRequest {
  return request({
    kind: { group: "", version: "v1", kind: "Pod" },
    ...pods,
    name: "p",
    object: { metadata: { name: "p" }, spec: { containers: [{ name: "a" }], ...spec } },
  });
}

Deno.test("`admit()` gives a pod the default service account, and mounts no token unasked", async () => {
  const { object } = await world({}).admit(podRequest());
  assert.equal(at(object, "spec", "serviceAccountName"), "default");
  assert.equal(at(object, "spec", "volumes"), undefined);
});

Deno.test("`admit()` refuses a pod whose service account is missing", async () => {
  await assert.rejects(world({}).admit(podRequest({ serviceAccountName: "robot" })), {
    code: 403,
    message:
      'pods "p" is forbidden: error looking up service account ns/robot: serviceaccount "robot" not found',
  });
});

Deno.test("`admit()` mounts the token if the pod asks for it", async () => {
  const { object } = await world({}).admit(podRequest({ automountServiceAccountToken: true }));
  const text = JSON.stringify(at(object, "spec"));
  assert.ok(text.includes('"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"'), text);
  assert.ok(text.includes('"expirationSeconds":3607'), text);
});

function jobRequest(spec: Record<string, unknown> = {}): AdmissionRequest {
  return request({
    kind: { group: "batch", version: "v1", kind: "Job" },
    resource: { group: "batch", version: "v1", resource: "jobs" },
    name: "j",
    object: {
      metadata: { name: "j", uid: "u" },
      spec: { template: { metadata: { labels: { mine: "1" } }, spec: {} }, ...spec },
    },
  });
}

Deno.test("`admit()` makes a job's selector and labels from its UID", async () => {
  const { object } = await world({}).admit(jobRequest());
  assert.deepEqual(at(object, "spec", "selector"), {
    matchLabels: { "batch.kubernetes.io/controller-uid": "u" },
  });
  assert.deepEqual(at(object, "spec", "template", "metadata", "labels"), {
    mine: "1",
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    "job-name": "j",
  });
});

Deno.test("`admit()` leaves a manual selector alone, and refuses one that is not declared", async () => {
  const selector = { matchLabels: { mine: "1" } };
  const { object } = await world({}).admit(jobRequest({ manualSelector: true, selector }));
  assert.deepEqual(at(object, "spec", "selector"), selector);
  await assert.rejects(world({}).admit(jobRequest({ selector })), {
    code: 422,
    message: /`selector` not auto-generated/,
  });
});

function serviceRequest(spec: Record<string, unknown>, more: Partial<AdmissionRequest> = {}) {
  return request({
    resource: { group: "", version: "v1", resource: "services" },
    name: "s",
    object: { metadata: { name: "s" }, spec },
    ...more,
  });
}

Deno.test("`admit()` makes a Service headless and says so; it refuses types without meaning here", async () => {
  const { object, warnings } = await world({}).admit(serviceRequest({ ports: [{ port: 1 }] }));
  assert.equal(at(object, "spec", "clusterIP"), "None");
  assert.match(warnings.join(), /no virtual address/);
  const quiet = await world({}).admit(serviceRequest({ clusterIP: "None" }));
  assert.deepEqual(quiet.warnings, []);
  await assert.rejects(world({}).admit(serviceRequest({ type: "LoadBalancer" })), {
    code: 403,
    message: /has no Services of type LoadBalancer; use ClusterIP/,
  });
});

Deno.test("`admit()` keeps a Service's address when an update leaves it out", async () => {
  const oldObject = { metadata: { name: "s" }, spec: { clusterIP: "10.0.0.1" } };
  const { object } = await world({}).admit(serviceRequest({}, { operation: "UPDATE", oldObject }));
  assert.equal(at(object, "spec", "clusterIP"), "10.0.0.1");
});

Deno.test("`admit()` does not let the first namespaces be deleted", async () => {
  const about = request({
    operation: "DELETE",
    resource: { group: "", version: "v1", resource: "namespaces" },
    name: "kube-system",
    object: undefined,
    oldObject: {},
  });
  await assert.rejects(world({}).admit(about), {
    code: 403,
    message: 'namespaces "kube-system" is forbidden: this namespace may not be deleted',
  });
});

Deno.test("`admit()` refuses a role that grants more than its writer has", async () => {
  const about = request({
    kind: { group: "rbac.authorization.k8s.io", version: "v1", kind: "Role" },
    resource: { group: "rbac.authorization.k8s.io", version: "v1", resource: "roles" },
    object: {
      metadata: { name: "r" },
      rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
    },
  });
  await assert.rejects(world({}).admit(about), { code: 403, message: /attempting to grant RBAC/ });
});

Deno.test("`admit()` sends validating webhooks the object that will be stored, and stops if that is invalid", async () => {
  let seen: unknown;
  const { finishing, calls } = world({
    mutating: [webhook("one")],
    validating: [webhook("two")],
    answers: {
      two: (review) => {
        seen = at(review, "request", "object");
        return { allowed: true };
      },
    },
  });
  const { object } = await finishing(request(), () => ({ finished: true }));
  assert.deepEqual([object, seen], [{ finished: true }, { finished: true }]);
  const refuse = () => {
    throw new StatusError(422, "Invalid", "broken by a patch");
  };
  await assert.rejects(finishing(request(), refuse), { code: 422, message: "broken by a patch" });
  assert.deepEqual(calls, ["one", "two", "one"]);
});

Deno.test("`admit()` warns about a kind without a controller", async () => {
  const about = request({
    kind: { group: "apps", version: "v1", kind: "Deployment" },
    resource: { group: "apps", version: "v1", resource: "deployments" },
    object: { metadata: { name: "d" } },
  });
  const { warnings } = await world({}).admit(about);
  assert.deepEqual(warnings, [
    "this server only stores deployments: no controller creates its pods",
  ]);
  const update = await world({}).admit({ ...about, operation: "UPDATE" });
  assert.deepEqual(update.warnings, []);
});
