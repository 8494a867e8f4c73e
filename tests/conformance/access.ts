/** Conformance of RBAC and access reviews. */
import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import type { Answer, Case } from "./api.ts";
import { configMap, object } from "./objects.ts";
import { grant, somebody } from "./users.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const GROUP = "rbac.authorization.k8s.io";
const ACCESS = "authorization.k8s.io/v1";

/** Rules, and for the user they are given to: requests with the codes that answer them. */
const RULES: Record<string, { rules: Answer[]; requests: Record<string, number> }> = {
  "a role gives its verbs on its resources and nothing else": {
    rules: [{ verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] }],
    requests: {
      "GET configmaps/a": 200,
      "GET configmaps": 200,
      "GET configmaps?watch=true": 403,
      "GET secrets": 403,
      "DELETE configmaps/a": 403,
      "GET /api/v1/configmaps": 403,
      "GET /api/v1/namespaces/default/configmaps": 403,
    },
  },
  "a role for names gives those, and lists by that name": {
    rules: [{
      verbs: ["get", "list"],
      apiGroups: [""],
      resources: ["configmaps"],
      resourceNames: ["a"],
    }],
    requests: {
      "GET configmaps/a": 200,
      "GET configmaps/b": 403,
      "GET configmaps": 403,
      "GET configmaps?fieldSelector=metadata.name%3Da": 200,
    },
  },
  "a star stands for every verb": {
    rules: [{ verbs: ["*"], apiGroups: [""], resources: ["configmaps"] }],
    requests: { "GET configmaps/a": 200, "DELETE configmaps/a": 200 },
  },
  "a star stands for every resource of the group": {
    rules: [{ verbs: ["get"], apiGroups: [""], resources: ["*"] }],
    requests: { "GET configmaps/a": 200, "GET secrets/a": 404, "GET batch/v1/jobs/a": 403 },
  },
  "a subresource is a resource of its own": {
    rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods/status"] }],
    requests: { "GET pods/a/status": 404, "GET pods/a": 403 },
  },
  "a resource does not give its subresources": {
    rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
    requests: { "GET pods/a/status": 403, "GET pods/a": 404 },
  },
  "a group is needed": {
    rules: [{ verbs: ["get"], apiGroups: ["batch"], resources: ["*"] }],
    requests: { "GET batch/v1/jobs/a": 404, "GET pods/a": 403 },
  },
};

export const access: Case[] = [
  {
    name: "who has no rights is forbidden, with verb, resource and namespace in the message",
    async run(api) {
      const { reason, message, details } = await api.refused(403, "GET", "pods/a", somebody(api));
      assert.equal(reason, "Forbidden");
      assert.equal(
        message.replace(/: .*RBAC.*$/, ""),
        `pods "a" is forbidden: User "${api.id}-user" cannot get resource "pods" in API group "" ` +
          `in the namespace "${api.ns}"`,
      );
      assert.deepEqual(details, { name: "a", kind: "pods" });
    },
  },
  {
    name: "a forbidden list over all namespaces says so",
    async run(api) {
      const { message } = await api.refused(403, "GET", "/apis/batch/v1/jobs", somebody(api));
      assert.equal(
        message,
        `jobs.batch is forbidden: User "${api.id}-user" cannot list resource "jobs" in API group ` +
          '"batch" at the cluster scope',
      );
    },
  },
  {
    name: "a forbidden path says so",
    async run(api) {
      const { message } = await api.refused(403, "GET", "/metrics", somebody(api));
      assert.equal(message, `forbidden: User "${api.id}-user" cannot get path "/metrics"`);
    },
  },
  ...Object.entries(RULES).map(([name, { rules, requests }]): Case => ({
    name,
    async run(api) {
      await api.create("configmaps", configMap("a"));
      await grant(api, rules);
      for (const [request, code] of Object.entries(requests)) {
        const [method = "", path = ""] = request.split(" ");
        const { status } = await api.call(method, path, somebody(api));
        assert.equal(status, code, request);
      }
    },
  })),
  {
    name: "a cluster role bound in a namespace holds there only",
    async run(api) {
      const subjects = [{ kind: "User", apiGroup: GROUP, name: `${api.id}-user` }];
      const roleRef = { apiGroup: GROUP, kind: "ClusterRole", name: "view" };
      const binding = object(RBAC, "RoleBinding", "a", { roleRef, subjects });
      await api.create(`${RBAC}/rolebindings`, binding);
      await until("the binding to hold", async () => {
        const { status } = await api.call("GET", "pods", somebody(api));
        return status === 200 || undefined;
      });
      assert.equal((await api.call("GET", "/api/v1/pods", somebody(api))).status, 403);
      assert.equal((await api.call("GET", "secrets", somebody(api))).status, 403);
    },
  },
  {
    name: "a binding to a group holds for its members",
    async run(api) {
      const group = `${api.id}-group`;
      const subjects = [{ kind: "Group", apiGroup: GROUP, name: group }];
      const roleRef = { apiGroup: GROUP, kind: "ClusterRole", name: "view" };
      await api.create(
        `${RBAC}/rolebindings`,
        object(RBAC, "RoleBinding", "a", { roleRef, subjects }),
      );
      const member = somebody(api, [group]);
      await until("the binding to hold", async () => {
        return (await api.call("GET", "pods", member)).status === 200 || undefined;
      });
      assert.equal((await api.call("GET", "pods", somebody(api))).status, 403);
    },
  },
  {
    name: "a cluster role for paths gives them",
    async run(api) {
      const rules = [{ verbs: ["get"], nonResourceURLs: ["/metrics", "/example/*"] }];
      const name = api.id;
      await api.createCluster(
        `/apis/${RBAC}/clusterroles`,
        object(RBAC, "ClusterRole", name, { rules }),
      );
      const subjects = [{ kind: "User", apiGroup: GROUP, name: `${api.id}-user` }];
      const roleRef = { apiGroup: GROUP, kind: "ClusterRole", name };
      const binding = object(RBAC, "ClusterRoleBinding", name, { roleRef, subjects });
      await api.createCluster(`/apis/${RBAC}/clusterrolebindings`, binding);
      await until("the binding to hold", async () => {
        const { status } = await api.call("GET", "/example/a", somebody(api));
        return status === 404 || undefined;
      });
      assert.equal((await api.call("GET", "/other", somebody(api))).status, 403);
    },
  },
  {
    name: "everybody who is known may read discovery and version",
    async run(api) {
      for (const path of ["/api", "/apis", "/apis/batch/v1", "/version", "/openapi/v3"]) {
        assert.equal((await api.call("GET", path, somebody(api))).status, 200, path);
      }
    },
  },
  {
    name: "one may ask about oneself",
    async run(api) {
      await grant(api, [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }]);
      const ask = async (verb: string) => {
        const spec = { resourceAttributes: { verb, resource: "secrets", namespace: api.ns } };
        const review = { apiVersion: ACCESS, kind: "SelfSubjectAccessReview", spec };
        const path = `/apis/${ACCESS}/selfsubjectaccessreviews`;
        return (await api.create(path, review, somebody(api))).status;
      };
      const yes = await ask("get");
      assert.equal(yes.allowed, true);
      assert.match(yes.reason, /RBAC: allowed by RoleBinding "r\/.*" of Role "r" to User/);
      assert.equal((await ask("delete")).allowed, false);
    },
  },
  {
    name: "a review with both kinds of attributes, or none, is refused",
    async run(api) {
      const both = {
        resourceAttributes: { verb: "get", resource: "pods" },
        nonResourceAttributes: { verb: "get", path: "/x" },
      };
      for (const spec of [{ user: "a", ...both }, { user: "a" }]) {
        const body = { apiVersion: ACCESS, kind: "SubjectAccessReview", spec };
        const path = `/apis/${ACCESS}/subjectaccessreviews`;
        await api.refused(422, "POST", path, { body });
      }
    },
  },
  {
    name: "a local review is about its own namespace",
    async run(api) {
      const spec = (namespace: string) => ({
        user: "a",
        resourceAttributes: { verb: "get", resource: "pods", namespace },
      });
      const review = (namespace: string) => ({
        apiVersion: ACCESS,
        kind: "LocalSubjectAccessReview",
        metadata: { namespace: api.ns },
        spec: spec(namespace),
      });
      const path = `${ACCESS}/localsubjectaccessreviews`;
      assert.equal((await api.create(path, review(api.ns))).status.allowed, false);
      const { status } = await api.call("POST", path, { body: review("default") });
      assert.ok(status === 400 || status === 422, `${status}`);
    },
  },
  {
    name: "one may list one's own rules",
    async run(api) {
      await grant(api, [{ verbs: ["get"], apiGroups: ["batch"], resources: ["jobs"] }]);
      const body = {
        apiVersion: ACCESS,
        kind: "SelfSubjectRulesReview",
        spec: { namespace: api.ns },
      };
      const path = `/apis/${ACCESS}/selfsubjectrulesreviews`;
      const { status } = await api.create(path, body, somebody(api));
      const own = status.resourceRules.find(({ apiGroups }: Answer) => apiGroups[0] === "batch");
      assert.deepEqual(own, { verbs: ["get"], apiGroups: ["batch"], resources: ["jobs"] });
    },
  },
];
