/** Tests of discovery, OpenAPI, health and SelfSubjectReview. */
import assert from "node:assert/strict";
import { type Answer, pod, PODS, testServer, widgetDefinition } from "../api_cluster.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function named(list: Answer[], name: string): Answer {
  const found = list.find((one) => one.name === name || one.resource === name);
  assert.ok(found, `${name} is missing`);
  return found;
}

Deno.test("discoveryDocument() lists groups and kinds, custom ones too, plain and aggregated", async () => {
  await using api = await testServer();
  await api.ok("POST", CRDS, { body: widgetDefinition() });
  assert.deepEqual((await api.ok("GET", "/api")).versions, ["v1"]);
  const core = await api.ok("GET", "/api/v1");
  assert.deepEqual(named(core.resources, "pods").shortNames, ["po"]);
  assert.deepEqual(named(core.resources, "pods/log").verbs, ["get"]);
  assert.equal(named(core.resources, "serviceaccounts/token").kind, "TokenRequest");
  const groups = await api.ok("GET", "/apis");
  const example = named(groups.groups, "example.com");
  assert.deepEqual(example.preferredVersion, { groupVersion: "example.com/v1", version: "v1" });
  const widgets = await api.ok("GET", "/apis/example.com/v1");
  assert.deepEqual(
    widgets.resources.map((one: Answer) => one.name),
    ["widgets", "widgets/status", "widgets/scale"],
  );
  assert.equal((await api.ok("GET", "/apis/example.com")).kind, "APIGroup");
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
    "application/json";
  const { body, headers } = await api.call("GET", "/apis", { accept });
  assert.match(headers.get("content-type") ?? "", /as=APIGroupDiscoveryList/);
  const item = body.items.find((one: Answer) => one.metadata.name === "example.com");
  assert.equal(item.versions[0].resources[0].responseKind.kind, "Widget");
  assert.equal((await api.call("GET", "/apis/none.example.com/v1")).status, 404);
});

Deno.test("openApiV3() has what kubectl explain and its validation read", async () => {
  await using api = await testServer();
  await api.ok("POST", CRDS, { body: widgetDefinition() });
  const index = await api.ok("GET", "/openapi/v3");
  const document = await api.ok("GET", index.paths["apis/example.com/v1"].serverRelativeURL);
  const path = document.paths["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"];
  const gvk = { group: "example.com", version: "v1", kind: "Widget" };
  assert.deepEqual(path.patch["x-kubernetes-group-version-kind"], gvk);
  assert.ok(path.patch.parameters.some((one: Answer) => one.name === "fieldValidation"));
  const schema = document.components.schemas["com.example.v1.Widget"];
  assert.equal(schema.properties.spec.properties.size.type, "integer");
  const metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
  assert.ok(document.components.schemas[metadata]);
  assert.equal((await api.ok("GET", "/openapi/v2")).swagger, "2.0");
});

Deno.test("handle() serves only health without a token", async () => {
  await using api = await testServer();
  for (const path of ["/healthz", "/livez", "/readyz"]) {
    assert.equal(await api.ok("GET", path, { token: "" }), "ok");
  }
  for (const path of ["/version", "/api", "/openapi/v3", "/openid/v1/jwks"]) {
    assert.equal((await api.call("GET", path, { token: "" })).status, 401, path);
  }
  assert.equal((await api.ok("GET", "/version")).gitVersion, "v1.36.3");
  assert.equal((await api.ok("GET", "/openid/v1/jwks")).keys.length, 1);
});

Deno.test("a service account's token is its user, bound to its pod, with no rights of its own", async () => {
  await using api = await testServer();
  const { metadata } = await api.ok("POST", PODS, { body: pod("a") });
  const { status } = await api.ok(
    "POST",
    "/api/v1/namespaces/default/serviceaccounts/default/token",
    {
      body: {
        spec: {
          audiences: ["https://kubernetes.default.svc.cluster.local"],
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "a", uid: metadata.uid },
        },
      },
    },
  );
  const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const me = await api.ok("POST", reviews, { token: status.token, body: {} });
  assert.equal(me.status.userInfo.username, "system:serviceaccount:default:default");
  const refused = await api.call("GET", PODS, { token: status.token });
  assert.equal(refused.status, 403);
  assert.match(
    refused.body.message,
    /pods is forbidden: User "system:serviceaccount:default:default" cannot list resource "pods" in API group "" in the namespace "default"/,
  );
  await api.ok("DELETE", `${PODS}/a`);
  assert.equal((await api.call("GET", PODS, { token: status.token })).status, 401);
});

Deno.test("effectiveUser() allows impersonation only to users with that right", async () => {
  await using api = await testServer({
    users: [{ token: "plain-token", user: { name: "plain", groups: [] } }],
  });
  const as = async (token: string) => {
    const response = await fetch(api.server.url + PODS, {
      client: api.client,
      headers: { authorization: `Bearer ${token}`, "impersonate-user": "jane" },
    });
    return { status: response.status, body: await response.json() };
  };
  const jane = await as(api.server.adminToken);
  assert.equal(jane.status, 403);
  assert.match(jane.body.message, /User "jane" cannot list/);
  assert.match((await as("plain-token")).body.message, /"plain" cannot impersonate/);
});
