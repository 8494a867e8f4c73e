/** Default roles and bindings, created at the first start under the names that Kubernetes gives them. */
import { TRAINER_GROUP } from "../../../crds/names.ts";
import { JOBSET_GROUP } from "../../../crds/jobset_names.ts";
import { RBAC_GROUP } from "../storage/resource_keys.ts";

/** A role or binding to create. */
export interface RbacObject {
  readonly apiVersion: string;
  readonly kind: "ClusterRole" | "ClusterRoleBinding";
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

const API_VERSION = `${RBAC_GROUP}/v1`;
const LABELS = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const COORDINATION = "coordination.k8s.io";
/** Milepost's groups, which users work with as with Jobs. */
const TRAINING_GROUPS = [TRAINER_GROUP, JOBSET_GROUP];
const READ = ["get", "list", "watch"];
const CHANGE = ["create", "delete", "deletecollection", "patch", "update"];
const WRITE = [...READ, ...CHANGE];

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

function on(group: string, resources: string[], verbs: readonly string[]): Rule {
  return { apiGroups: [group], resources, verbs };
}

function onPaths(...nonResourceURLs: string[]): Rule {
  return { nonResourceURLs, verbs: ["get"] };
}

const EVENTS = on("", ["events"], ["create", "patch", "update"]);

const CORE_USER = [
  "configmaps",
  "endpoints",
  "events",
  "persistentvolumeclaims",
  "pods",
  "secrets",
  "serviceaccounts",
  "services",
];
const CORE_VIEW = [
  ...CORE_USER.filter((it) => it !== "secrets"),
  "namespaces",
  "pods/log",
  "pods/status",
];

const VIEW: Rule[] = [
  on("", CORE_VIEW, READ),
  on("batch", ["jobs", "jobs/status", "cronjobs"], READ),
  on("apps", ["controllerrevisions"], READ),
  on(COORDINATION, ["leases"], READ),
  ...TRAINING_GROUPS.map((group) => on(group, ["*"], READ)),
];
const EDIT: Rule[] = [
  ...VIEW,
  on("", CORE_USER, WRITE),
  on("", ["serviceaccounts"], ["impersonate"]),
  on("", ["serviceaccounts/token"], ["create"]),
  on("batch", ["jobs", "cronjobs"], CHANGE),
  on(COORDINATION, ["leases"], CHANGE),
  ...TRAINING_GROUPS.map((group) => on(group, ["*"], CHANGE)),
];
const ADMIN: Rule[] = [
  ...EDIT,
  on("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
  on(RBAC_GROUP, ["roles", "rolebindings"], WRITE),
];

const DISCOVERY = onPaths(
  "/api",
  "/api/*",
  "/apis",
  "/apis/*",
  "/healthz",
  "/livez",
  "/openapi",
  "/openapi/*",
  "/readyz",
  "/version",
  "/version/",
);

const JOB_CONTROLLER: Rule[] = [
  on("batch", ["jobs"], ["get", "list", "patch", "update", "watch"]),
  on("batch", ["jobs/status"], ["patch", "update"]),
  on("batch", ["jobs/finalizers"], ["update"]),
  on("", ["pods"], ["create", "delete", "get", "list", "patch", "watch"]),
  EVENTS,
];

const ROLES: Readonly<Record<string, readonly Rule[]>> = {
  "cluster-admin": [on("*", ["*"], ["*"]), { nonResourceURLs: ["*"], verbs: ["*"] }],
  "admin": ADMIN,
  "edit": EDIT,
  "view": VIEW,
  "system:discovery": [DISCOVERY],
  "system:public-info-viewer": [onPaths("/healthz", "/livez", "/readyz", "/version", "/version/")],
  "system:basic-user": [
    on("authorization.k8s.io", ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]),
    on("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
  ],
  "system:service-account-issuer-discovery": [
    onPaths(
      "/.well-known/openid-configuration/",
      "/.well-known/openid-configuration",
      "/openid/v1/jwks/",
      "/openid/v1/jwks",
    ),
  ],
  "system:auth-delegator": [
    on("authentication.k8s.io", ["tokenreviews"], ["create"]),
    on("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
  ],
  "system:controller:job-controller": JOB_CONTROLLER,
};

interface Subject {
  readonly kind: "Group" | "ServiceAccount";
  readonly name: string;
}

function group(name: string): Subject {
  return { kind: "Group", name };
}

/** Subjects of each role; service accounts are those of `kube-system`. */
const BINDINGS: Readonly<Record<string, readonly Subject[]>> = {
  "cluster-admin": [group("system:masters")],
  "system:discovery": [group("system:authenticated")],
  "system:basic-user": [group("system:authenticated")],
  "system:public-info-viewer": [group("system:authenticated"), group("system:unauthenticated")],
  "system:service-account-issuer-discovery": [group("system:serviceaccounts")],
  // The API server's other controllers are part of it.
  "system:controller:job-controller": [{ kind: "ServiceAccount", name: "job-controller" }],
};

function subject({ kind, name }: Subject): Record<string, string> {
  return kind === "Group"
    ? { kind, name, apiGroup: RBAC_GROUP }
    : { kind, name, namespace: "kube-system" };
}

/** Returns every default role and binding, roles first. */
export function bootstrapRbac(): RbacObject[] {
  const roles = Object.entries(ROLES).map(([name, rules]): RbacObject => ({
    apiVersion: API_VERSION,
    kind: "ClusterRole",
    metadata: { name, labels: LABELS },
    rules,
  }));
  const bindings = Object.entries(BINDINGS).map(([name, subjects]): RbacObject => ({
    apiVersion: API_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: LABELS },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name },
    subjects: subjects.map(subject),
  }));
  return [...roles, ...bindings];
}
