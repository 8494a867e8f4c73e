/** Tests of RBAC, the node authorizer, access reviews, and escalation. */
import assert from "node:assert/strict";
import { at } from "../../../../platform/base/json.ts";
import { createAuthorizer } from "../../../../standalone/apiserver/access/authorizer.ts";
import { bootstrapRbac } from "../../../../standalone/apiserver/access/bootstrap_roles.ts";
import { checkEscalation } from "../../../../standalone/apiserver/admission/escalation.ts";
import { createReviews } from "../../../../standalone/apiserver/access/review_resources.ts";
import type { Attributes, User } from "../../../../standalone/apiserver/access/user.ts";
import type { ApiObject } from "../../../../standalone/apiserver/objects/api_object.ts";
import { kubernetesKindSchema } from "../../../../standalone/apiserver/schemas/kubernetes_schemas.ts";
import { memoryStore, stored } from "../memory_store.ts";
import { tokenFixture } from "./token_fixture.ts";

const ANN: User = { name: "ann", groups: ["staff", "system:authenticated"] };
const ROBOT: User = {
  name: "system:serviceaccount:ns:robot",
  groups: ["system:serviceaccounts", "system:authenticated"],
};

function clusterRole(name: string, ...rules: unknown[]): ApiObject {
  return stored("ClusterRole", { name }, { rules });
}

function clusterBinding(role: string, ...subjects: unknown[]): ApiObject {
  return stored("ClusterRoleBinding", { name: `bind-${role}` }, {
    roleRef: { kind: "ClusterRole", name: role },
    subjects,
  });
}

function binding(kind: string, role: string, ...subjects: unknown[]): ApiObject {
  return stored("RoleBinding", { name: `bind-${role}`, namespace: "ns" }, {
    roleRef: { kind, name: role },
    subjects,
  });
}

const STORE = memoryStore({
  clusterroles: [
    clusterRole("reader", { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }),
    clusterRole("logs", { verbs: ["get"], apiGroups: [""], resources: ["pods/log"] }),
    clusterRole("all-scales", { verbs: ["update"], apiGroups: ["*"], resources: ["*/scale"] }),
    clusterRole("one", {
      verbs: ["*"],
      apiGroups: [""],
      resources: ["secrets"],
      resourceNames: ["mine"],
    }),
    clusterRole("health", { verbs: ["get"], nonResourceURLs: ["/healthz", "/logs/*"] }),
  ],
  clusterrolebindings: [
    clusterBinding("reader", { kind: "Group", name: "staff" }),
    clusterBinding("logs", { kind: "User", name: "ann" }),
    clusterBinding("all-scales", { kind: "User", name: "ann" }),
    clusterBinding("health", { kind: "Group", name: "system:authenticated" }),
    clusterBinding("one", { kind: "User", name: "*" }),
    clusterBinding("missing", { kind: "User", name: "ann" }),
  ],
  roles: [
    stored("Role", { name: "jobs", namespace: "ns" }, {
      rules: [{ verbs: ["*"], apiGroups: ["batch"], resources: ["jobs"] }],
    }),
  ],
  rolebindings: [
    binding("Role", "jobs", { kind: "ServiceAccount", name: "robot", namespace: "ns" }),
    binding("ClusterRole", "one", { kind: "User", name: "ann" }),
  ],
  pods: [
    stored("Pod", { name: "here", namespace: "ns" }, {
      spec: { nodeName: "n", serviceAccountName: "robot" },
    }),
    stored("Pod", { name: "there", namespace: "away" }, { spec: { nodeName: "m" } }),
  ],
});

/** `get pods/log x in ns of group`, or `get /path`. */
function attributes(text: string): Attributes {
  const [verb = "", what = "", name, , namespace, , group = ""] = text.split(" ");
  if (what.startsWith("/")) return { verb, path: what };
  const [resource = "", subresource] = what.split("/");
  return {
    verb,
    group,
    version: "v1",
    resource,
    subresource,
    name: name === "*" ? undefined : name,
    namespace: namespace === "*" ? undefined : namespace,
  };
}

const KUBELET: User = { name: "system:node:n", groups: ["system:nodes", "system:authenticated"] };
const ROOT: User = { name: "root", groups: ["system:masters"] };

const DECISIONS: [User, string, boolean][] = [
  [ROOT, "delete anything x in ns of any.group", true],
  [ROOT, "delete /anything", true],
  [ANN, "get pods x in ns", true],
  [ANN, "list pods * in *", true],
  [ANN, "watch pods * in ns", false],
  [ANN, "get pods x in ns of other", false],
  [ANN, "get pods/log x in ns", true],
  [ANN, "get pods/status x in ns", false],
  [ANN, "update deployments/scale x in ns of apps", true],
  [ANN, "update deployments x in ns of apps", false],
  [ANN, "get secrets mine in ns", true],
  [ANN, "get secrets other in ns", false],
  [ANN, "list secrets * in ns", false],
  [ANN, "get secrets mine in away", false],
  [ANN, "get /healthz", true],
  [ANN, "get /logs/a/b", true],
  [ANN, "get /metrics", false],
  [ANN, "post /healthz", false],
  [ROBOT, "create jobs * in ns of batch", true],
  [ROBOT, "create jobs * in away of batch", false],
  [ROBOT, "update jobs/status x in ns of batch", false],
  [{ name: "nobody", groups: [] }, "get pods x in ns", false],
  [{ name: "nobody", groups: [] }, "get secrets mine in ns", false],
  [KUBELET, "list pods * in *", true],
  [KUBELET, "patch pods/status here in ns", true],
  [KUBELET, "patch pods/status there in away", false],
  [KUBELET, "delete pods here in ns", true],
  [KUBELET, "delete pods there in away", false],
  [KUBELET, "get secrets s in ns", true],
  [KUBELET, "get secrets s in away", false],
  [KUBELET, "list secrets * in *", false],
  [KUBELET, "create secrets s in ns", false],
  [KUBELET, "create serviceaccounts/token robot in ns", true],
  [KUBELET, "create serviceaccounts/token admin in ns", false],
  [KUBELET, "patch nodes/status n in *", true],
  [KUBELET, "patch nodes/status m in *", false],
  [KUBELET, "update leases n in kube-node-lease of coordination.k8s.io", true],
  [KUBELET, "update leases m in kube-node-lease of coordination.k8s.io", false],
  [KUBELET, "create events * in ns", true],
  [{ name: "system:node:n", groups: [] }, "list pods * in *", false],
];

for (const [user, request, allowed] of DECISIONS) {
  Deno.test(`\`authorize()\` ${allowed ? "lets" : "does not let"} ${user.name} ${request}`, () => {
    const decision = createAuthorizer({ store: STORE }).authorize(user, attributes(request));
    assert.equal(decision.allowed, allowed, decision.reason);
  });
}

Deno.test("`authorize()` names the binding and the role", () => {
  const { reason } = createAuthorizer({ store: STORE }).authorize(
    ANN,
    attributes("get pods x in ns"),
  );
  const role = 'ClusterRoleBinding "bind-reader" of ClusterRole "reader"';
  assert.equal(reason.replace(/ to .*$/, ""), `RBAC: allowed by ${role}`);
  assert.match(reason, / to (User "ann"|Group ".*")$/);
});

async function reviewer() {
  const { authenticator } = await tokenFixture();
  const authorizer = createAuthorizer({ store: STORE });
  return createReviews({ authenticator, authorizer });
}

Deno.test("SubjectAccessReview answers for the user and groups that it names", async () => {
  const review = await reviewer();
  const spec = {
    user: "eve",
    groups: ["staff"],
    resourceAttributes: { verb: "get", resource: "pods", namespace: "ns" },
  };
  const yes = await review("subjectaccessreviews", { spec }, ROOT);
  assert.equal(at(yes, "status", "allowed"), true);
  const no = await review("subjectaccessreviews", { spec: { ...spec, groups: [] } }, ROOT);
  assert.equal(at(no, "status", "allowed"), false);
});

Deno.test("SelfSubjectAccessReview answers for its caller, about paths too", async () => {
  const review = await reviewer();
  const spec = { nonResourceAttributes: { verb: "get", path: "/healthz" } };
  const answer = await review("selfsubjectaccessreviews", { spec }, ANN);
  assert.equal(at(answer, "status", "allowed"), true);
});

Deno.test("SelfSubjectReview names the caller, and SelfSubjectRulesReview its rights", async () => {
  const review = await reviewer();
  const self = await review("selfsubjectreviews", {}, ANN);
  assert.equal(at(self, "status", "userInfo", "username"), "ann");
  const rules = await review("selfsubjectrulesreviews", { spec: { namespace: "ns" } }, ROBOT);
  assert.deepEqual(at(rules, "status", "resourceRules"), [
    { verbs: ["*"], apiGroups: ["batch"], resources: ["jobs"] },
  ]);
});

const BAD_REVIEWS: Record<string, [string, unknown, number?]> = {
  "both kinds of attributes": ["selfsubjectaccessreviews", {
    spec: { resourceAttributes: {}, nonResourceAttributes: {} },
  }, 422],
  "neither": ["selfsubjectaccessreviews", { spec: {} }, 422],
  "no user": ["subjectaccessreviews", { spec: { resourceAttributes: { verb: "get" } } }],
  "another namespace than its own": ["localsubjectaccessreviews", {
    metadata: { namespace: "a" },
    spec: { user: "x", resourceAttributes: { namespace: "b" } },
  }],
  "no namespace for rules": ["selfsubjectrulesreviews", { spec: {} }],
};

for (const [sentence, [resource, body, code = 400]] of Object.entries(BAD_REVIEWS)) {
  Deno.test(`\`createReview()\` refuses ${resource} with ${sentence}`, async () => {
    const review = await reviewer();
    await assert.rejects(review(resource, body, ROOT), { code });
  });
}

function write(kind: string, object: unknown, user = ANN, oldObject?: unknown) {
  const authorizer = createAuthorizer({ store: STORE });
  const of = { group: "rbac.authorization.k8s.io", version: "v1" };
  checkEscalation({
    operation: oldObject === undefined ? "CREATE" : "UPDATE",
    kind: { ...of, kind },
    resource: { ...of, resource: `${kind.toLowerCase()}s` },
    namespace: "ns",
    object,
    oldObject,
    user,
    dryRun: false,
  }, authorizer);
}

const MORE = { verbs: ["delete"], apiGroups: [""], resources: ["pods"] };
const LESS = { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["x"] };

Deno.test("`checkEscalation()` lets a writer grant what they have", () => {
  write("Role", { metadata: { name: "r" }, rules: [LESS] });
  write("Role", { metadata: { name: "r" }, rules: [MORE] }, ROOT);
  write("RoleBinding", {
    metadata: { name: "b" },
    roleRef: { kind: "ClusterRole", name: "reader" },
  });
});

Deno.test("`checkEscalation()` refuses to grant more, and names it", () => {
  const object = { metadata: { name: "r" }, rules: [LESS, MORE] };
  assert.throws(() => write("Role", object), {
    code: 403,
    message: 'roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" ' +
      '(groups=["staff","system:authenticated"]) is attempting to grant RBAC permissions not ' +
      'currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
  });
});

Deno.test("`checkEscalation()` refuses wildcards over a named right", () => {
  const rules = [{ verbs: ["*"], apiGroups: [""], resources: ["pods"] }];
  assert.throws(() => write("Role", { metadata: { name: "r" }, rules }), { code: 403 });
});

Deno.test("`checkEscalation()` refuses to bind a role that holds more, and one that is missing", () => {
  const bind = (kind: string, name: string, user = ANN) =>
    write("RoleBinding", { metadata: { name: "b" }, roleRef: { kind, name } }, user);
  assert.throws(() => bind("Role", "jobs"), { code: 403 });
  assert.throws(() => bind("ClusterRole", "missing"), { code: 404 });
  bind("Role", "jobs", ROBOT);
});

Deno.test("`checkEscalation()` allows changes only to owners and finalizers of a stronger role", () => {
  const object = { metadata: { name: "r" }, rules: [MORE] };
  write("Role", { ...object, metadata: { name: "r", finalizers: ["a.b/c"] } }, ANN, object);
  const labelled = { ...object, metadata: { name: "r", labels: { a: "b" } } };
  assert.throws(() => write("Role", labelled, ANN, object), { code: 403 });
});

Deno.test("`bootstrapRbac()` makes valid objects, with a role behind each binding", () => {
  const objects = bootstrapRbac();
  const names = objects.filter((it) => it.kind === "ClusterRole").map((it) => it.metadata.name);
  assert.equal(new Set(names).size, names.length);
  for (const object of objects) {
    const schema = kubernetesKindSchema("rbac.authorization.k8s.io", "v1", object.kind);
    assert.deepEqual(schema?.validate(object), [], object.metadata.name);
    const role = at(object, "roleRef", "name");
    if (role !== undefined) assert.ok(names.includes(String(role)), String(role));
  }
});
