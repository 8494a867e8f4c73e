/** Conformance of privilege escalation checks and impersonation. */
import assert from "node:assert/strict";
import type { Answer, Case, Sandbox } from "./api.ts";
import { object } from "./objects.ts";
import { grant, somebody } from "./users.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const GROUP = "rbac.authorization.k8s.io";
const READ = { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] };
const WRITE_ROLES = {
  verbs: ["create", "update", "patch", "get"],
  apiGroups: [GROUP],
  resources: ["roles", "rolebindings"],
};

function role(name: string, ...rules: Answer[]): Answer {
  return object(RBAC, "Role", name, { rules });
}

function binding(name: string, to: string, kind = "Role"): Answer {
  const subjects = [{ kind: "User", apiGroup: GROUP, name: "friend" }];
  return object(RBAC, "RoleBinding", name, {
    roleRef: { apiGroup: GROUP, kind, name: to },
    subjects,
  });
}

function asUser(api: Sandbox, body: Answer): Answer {
  return { ...somebody(api), body };
}

async function whoAmI(api: Sandbox, headers: Answer): Promise<Answer> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  return (await api.create(path, body, headers)).status.userInfo;
}

export const escalation: Case[] = [
  {
    name: "a writer of roles grants what they have",
    async run(api) {
      await grant(api, [WRITE_ROLES, READ]);
      await api.ok("POST", `${RBAC}/roles`, asUser(api, role("a", READ)));
    },
  },
  {
    name: "a writer of roles does not grant what they lack, and is told what that is",
    async run(api) {
      await grant(api, [WRITE_ROLES, READ]);
      const body = role("a", { ...READ, verbs: ["get", "delete"] });
      const { reason, message } = await api.refused(
        403,
        "POST",
        `${RBAC}/roles`,
        asUser(api, body),
      );
      assert.equal(reason, "Forbidden");
      assert.match(message, /is attempting to grant RBAC permissions not currently held:/);
      assert.match(message, /\{APIGroups:\[""\], Resources:\["configmaps"\], Verbs:\["delete"\]\}/);
    },
  },
  {
    name: "a writer of roles does not widen a role that is there",
    async run(api) {
      await grant(api, [WRITE_ROLES, READ]);
      await api.create(`${RBAC}/roles`, role("a", READ));
      await api.refused(
        403,
        "PUT",
        `${RBAC}/roles/a`,
        asUser(api, role("a", { ...READ, verbs: ["*"] })),
      );
    },
  },
  {
    name: "of a strong role only owners and finalizers may change",
    async run(api) {
      await grant(api, [WRITE_ROLES]);
      await api.create(`${RBAC}/roles`, role("a", { ...READ, verbs: ["*"] }));
      const patch = (metadata: Answer) => ({
        ...asUser(api, { metadata }),
        type: "application/merge-patch+json",
      });
      await api.refused(403, "PATCH", `${RBAC}/roles/a`, patch({ labels: { x: "y" } }));
      await api.ok("PATCH", `${RBAC}/roles/a`, patch({ finalizers: ["example.com/a"] }));
      await api.ok("PATCH", `${RBAC}/roles/a`, patch({ finalizers: null }));
    },
  },
  {
    name: "the verb escalate lets one grant what one lacks",
    async run(api) {
      const escalate = { verbs: ["escalate"], apiGroups: [GROUP], resources: ["roles"] };
      await grant(api, [WRITE_ROLES, escalate]);
      await api.ok("POST", `${RBAC}/roles`, asUser(api, role("a", READ)));
    },
  },
  {
    name: "a writer of bindings does not bind a role with more rights",
    async run(api) {
      await grant(api, [WRITE_ROLES]);
      await api.create(`${RBAC}/roles`, role("strong", READ));
      await api.refused(403, "POST", `${RBAC}/rolebindings`, asUser(api, binding("a", "strong")));
    },
  },
  {
    name: "a writer of bindings binds a role whose rights they have",
    async run(api) {
      await grant(api, [WRITE_ROLES, READ]);
      await api.create(`${RBAC}/roles`, role("weak", READ));
      await api.ok("POST", `${RBAC}/rolebindings`, asUser(api, binding("a", "weak")));
    },
  },
  {
    name: "the verb bind on a role lets one bind it",
    async run(api) {
      const bind = {
        verbs: ["bind"],
        apiGroups: [GROUP],
        resources: ["clusterroles"],
        resourceNames: ["view"],
      };
      await grant(api, [WRITE_ROLES, bind]);
      const path = `${RBAC}/rolebindings`;
      await api.ok("POST", path, asUser(api, binding("a", "view", "ClusterRole")));
      await api.refused(403, "POST", path, asUser(api, binding("b", "edit", "ClusterRole")));
    },
  },
  {
    name: "a role that is not there cannot be bound by who lacks the right to",
    async run(api) {
      await grant(api, [WRITE_ROLES]);
      await api.refused(404, "POST", `${RBAC}/rolebindings`, asUser(api, binding("a", "none")));
    },
  },
  {
    name: "the administrator may act as another user",
    async run(api) {
      const info = await whoAmI(api, { as: { user: "jane", groups: ["x"] } });
      assert.equal(info.username, "jane");
      assert.deepEqual(info.groups.toSorted(), ["system:authenticated", "x"]);
    },
  },
  {
    name: "acting as a service account brings its groups",
    async run(api) {
      const user = `system:serviceaccount:${api.ns}:default`;
      const info = await whoAmI(api, { as: { user } });
      assert.deepEqual(info.groups.toSorted(), [
        "system:authenticated",
        "system:serviceaccounts",
        `system:serviceaccounts:${api.ns}`,
      ]);
    },
  },
  {
    name: "who may not impersonate is forbidden to",
    async run(api) {
      const { status: { token } } = await api.create("serviceaccounts/default/token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      });
      const { message } = await api.refused(403, "GET", "pods", { token, as: { user: "jane" } });
      assert.match(message, /cannot impersonate/);
    },
  },
];
