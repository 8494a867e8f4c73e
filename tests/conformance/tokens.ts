/** Conformance of service-account tokens: requests, claims, reviews, keys. */
import assert from "node:assert/strict";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { until } from "../support/until.ts";
import type { Answer, Case, RequestOptions, Sandbox } from "./api.ts";
import { object, pod } from "./objects.ts";

const REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";

function tokenRequest(spec: Record<string, unknown> = {}): Answer {
  return { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
}

async function requestToken(api: Sandbox, spec?: Record<string, unknown>): Promise<Answer> {
  return await api.create("serviceaccounts/default/token", tokenRequest(spec));
}

async function tokenOf(api: Sandbox, spec?: Record<string, unknown>): Promise<string> {
  return (await requestToken(api, spec)).status.token;
}

async function review(api: Sandbox, token: string, audiences?: string[]): Promise<Answer> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" };
  const spec = { token, ...(audiences && { audiences }) };
  return (await api.create(REVIEWS, { ...kind, spec })).status;
}

function whoAmI(api: Sandbox, options: RequestOptions): Promise<Answer> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  return api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", kind, options);
}

/** The boundObjectRef of an object. */
function boundTo({ apiVersion, kind, metadata: { name, uid } }: Answer): Answer {
  return { boundObjectRef: { apiVersion, kind, name, uid } };
}

/** Token requests that are refused. */
const REFUSED: Record<string, { spec: Record<string, unknown>; code: number }> = {
  "for less than ten minutes": { spec: { expirationSeconds: 599 }, code: 422 },
  "for ages": { spec: { expirationSeconds: 2 ** 33 }, code: 422 },
  "bound to a kind that tokens are not bound to": {
    spec: { boundObjectRef: { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "b" } },
    code: 400,
  },
  "bound to a pod that is not there": {
    spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "none", uid: "b" } },
    code: 404,
  },
};

const USER = "system:serviceaccount:";

export const tokens: Case[] = [
  {
    name: "a token request answers with a token and when it expires",
    async run(api) {
      const { kind, spec, status } = await requestToken(api, { expirationSeconds: 600 });
      assert.equal(kind, "TokenRequest");
      assert.equal(spec.expirationSeconds, 600);
      const { exp = 0, iat = 0 } = decodeJwt(status.token);
      assert.equal(exp - iat, 600);
      assert.equal(Date.parse(status.expirationTimestamp) / 1000, exp);
    },
  },
  {
    name: "without wishes a token lives an hour, for the server itself",
    async run(api) {
      const { spec, status } = await requestToken(api);
      assert.equal(spec.expirationSeconds, 3600);
      const { aud, iss } = decodeJwt(status.token);
      assert.deepEqual(spec.audiences, aud);
      assert.ok([aud].flat().includes(iss));
    },
  },
  {
    name: "a token's claims name subject, namespace and service account",
    async run(api) {
      const { metadata } = await api.get("serviceaccounts/default");
      const claims: Answer = decodeJwt(await tokenOf(api, { audiences: ["me"] }));
      assert.equal(claims.sub, `${USER}${api.ns}:default`);
      assert.deepEqual(claims.aud, ["me"]);
      assert.equal(typeof claims.jti, "string");
      assert.deepEqual(claims["kubernetes.io"], {
        namespace: api.ns,
        serviceaccount: { name: "default", uid: metadata.uid },
      });
    },
  },
  {
    name: "a token that is bound to a pod names it",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const claims: Answer = decodeJwt(await tokenOf(api, boundTo(made)));
      assert.deepEqual(claims["kubernetes.io"].pod, { name: "a", uid: made.metadata.uid });
    },
  },
  ...Object.entries(REFUSED).map(([what, { spec, code }]): Case => ({
    name: `a token ${what} is refused`,
    async run(api) {
      const body = tokenRequest(spec);
      await api.refused(code, "POST", "serviceaccounts/default/token", { body });
    },
  })),
  {
    name: "a token bound to a pod by another UID is 409",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const { boundObjectRef } = boundTo(made);
      const spec = { boundObjectRef: { ...boundObjectRef, uid: crypto.randomUUID() } };
      const { reason } = await api.refused(409, "POST", "serviceaccounts/default/token", {
        body: tokenRequest(spec),
      });
      assert.equal(reason, "Conflict");
    },
  },
  {
    name: "a token for a pod of another service account is a bad request",
    async run(api) {
      await api.create("serviceaccounts", object("v1", "ServiceAccount", "other"));
      const made = await api.create("pods", pod("a", { serviceAccountName: "other" }));
      await api.refused(400, "POST", "serviceaccounts/default/token", {
        body: tokenRequest(boundTo(made)),
      });
    },
  },
  {
    name: "a token of a service account that is not there is 404",
    async run(api) {
      const body = tokenRequest();
      await api.refused(404, "POST", "serviceaccounts/none/token", { body });
    },
  },
  {
    name: "the holder of a token is its service account",
    async run(api) {
      const token = await tokenOf(api);
      const { status: { userInfo } } = await whoAmI(api, { token });
      assert.equal(userInfo.username, `${USER}${api.ns}:default`);
      assert.deepEqual(userInfo.groups.toSorted(), [
        "system:authenticated",
        "system:serviceaccounts",
        `system:serviceaccounts:${api.ns}`,
      ]);
    },
  },
  {
    name: "no token, a token that is none, and a token for somebody else are 401",
    async run(api) {
      const other = await tokenOf(api, { audiences: ["somebody-else"] });
      for (const token of ["nonsense", other, `${await tokenOf(api)}x`]) {
        const { reason } = await api.refused(401, "GET", "pods", { token });
        assert.equal(reason, "Unauthorized");
      }
    },
  },
  {
    name: "a review tells user, groups and pod of a token",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const token = await tokenOf(api, { audiences: ["me"], ...boundTo(made) });
      const { authenticated, user, audiences } = await review(api, token, ["me"]);
      assert.equal(authenticated, true);
      assert.equal(user.username, `${USER}${api.ns}:default`);
      assert.deepEqual(audiences, ["me"]);
      assert.deepEqual(user.extra["authentication.kubernetes.io/pod-name"], ["a"]);
      assert.deepEqual(user.extra["authentication.kubernetes.io/pod-uid"], [made.metadata.uid]);
      assert.ok(user.extra["authentication.kubernetes.io/credential-id"][0].startsWith("JTI="));
    },
  },
  {
    name: "a review for another audience does not authenticate, and says so",
    async run(api) {
      const status = await review(api, await tokenOf(api, { audiences: ["me"] }), ["you"]);
      assert.ok(!status.authenticated);
      assert.equal(typeof status.error, "string");
    },
  },
  {
    name: "a review of nonsense does not authenticate",
    async run(api) {
      const status = await review(api, "nonsense");
      assert.ok(!status.authenticated);
      assert.deepEqual(status.user ?? {}, {});
    },
  },
  {
    name: "a review names the audiences that both sides name",
    async run(api) {
      const token = await tokenOf(api, { audiences: ["a", "b"] });
      const { audiences } = await review(api, token, ["b", "c"]);
      assert.deepEqual(audiences, ["b"]);
    },
  },
  {
    name: "a bound token ends with its pod",
    async run(api) {
      const made = await api.create("pods", pod("a"));
      const token = await tokenOf(api, { audiences: ["me"], ...boundTo(made) });
      await api.remove("pods/a", { gracePeriodSeconds: 0 });
      await until(
        "the token to end",
        async () => !(await review(api, token, ["me"])).authenticated,
      );
    },
  },
  {
    name: "a token ends with its service account, also when one of the name comes back",
    async run(api) {
      await api.create("serviceaccounts", object("v1", "ServiceAccount", "other"));
      const path = "serviceaccounts/other";
      const { status: { token } } = await api.create(
        `${path}/token`,
        tokenRequest({ audiences: ["me"] }),
      );
      await api.remove(path);
      await api.create("serviceaccounts", object("v1", "ServiceAccount", "other"));
      await until(
        "the token to end",
        async () => !(await review(api, token, ["me"])).authenticated,
      );
    },
  },
  {
    name: "the key set verifies a token",
    async run(api) {
      const { body } = await api.call("GET", "/openid/v1/jwks");
      const keys = createLocalJWKSet(typeof body === "string" ? JSON.parse(body) : body);
      const token = await tokenOf(api, { audiences: ["me"] });
      const { protectedHeader, payload } = await jwtVerify(token, keys, { audience: "me" });
      assert.equal(protectedHeader.alg, "RS256");
      assert.ok(protectedHeader.kid);
      assert.equal(payload.sub, `${USER}${api.ns}:default`);
    },
  },
  {
    name: "the OpenID configuration names issuer and key set",
    async run(api) {
      const { body } = await api.call("GET", "/.well-known/openid-configuration");
      const { iss } = decodeJwt(await tokenOf(api));
      assert.equal(body.issuer, iss);
      assert.match(body.jwks_uri, /^https:\/\/.*\/openid\/v1\/jwks$/);
      assert.deepEqual(body.id_token_signing_alg_values_supported, ["RS256"]);
    },
  },
];
