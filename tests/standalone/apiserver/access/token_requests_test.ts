/** Tests of TokenRequests and TokenReviews. */
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { at } from "../../../../platform/base/json.ts";
import { createAuthorizer } from "../../../../standalone/apiserver/access/authorizer.ts";
import { createReviews } from "../../../../standalone/apiserver/access/review_resources.ts";
import { StatusError } from "../../../../standalone/apiserver/objects/status_error.ts";
import { stored } from "../memory_store.ts";
import { AUDIENCES, tokenFixture } from "./token_fixture.ts";

const POD_REF = { apiVersion: "v1", kind: "Pod", name: "p", uid: "uid-p" };

Deno.test("`createToken()` answers with a token bound to the pod and its node", async () => {
  const { createToken, account } = await tokenFixture();
  const spec = { audiences: ["a"], expirationSeconds: 600, boundObjectRef: POD_REF };
  const answer = await createToken(account, { spec });
  assert.equal(at(answer, "status", "expirationTimestamp"), "2026-01-01T00:10:00Z");
  assert.deepEqual(at(answer, "spec"), spec);
  const claims = decodeJwt(String(at(answer, "status", "token")));
  assert.deepEqual(at(claims, "kubernetes.io", "pod"), { name: "p", uid: "uid-p" });
  assert.deepEqual(at(claims, "kubernetes.io", "node"), { name: "n", uid: "uid-n" });
  assert.deepEqual(claims.aud, ["a"]);
});

Deno.test("`createToken()` gives an hour and the server's own audience when nothing is asked for", async () => {
  const { createToken, account } = await tokenFixture();
  const answer = await createToken(account, {});
  assert.deepEqual(at(answer, "spec", "audiences"), AUDIENCES);
  assert.equal(at(answer, "spec", "expirationSeconds"), 3600);
});

const REFUSED: Record<string, { spec: unknown; code: number; message: RegExp }> = {
  "a lifetime under ten minutes": {
    spec: { expirationSeconds: 599 },
    code: 422,
    message:
      /spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes/,
  },
  "a lifetime over 2^32 seconds": {
    spec: { expirationSeconds: 2 ** 33 },
    code: 422,
    message: /2\^32/,
  },
  "a lifetime that is no integer": {
    spec: { expirationSeconds: "1h" },
    code: 422,
    message: /integer/,
  },
  "a pod that is not there": {
    spec: { boundObjectRef: { ...POD_REF, name: "q" } },
    code: 404,
    message: /pods "q" not found/,
  },
  "a pod of another UID": {
    spec: { boundObjectRef: { ...POD_REF, uid: "old" } },
    code: 409,
    message: /the UID in the bound object reference \(old\) does not match/,
  },
  "a pod of another service account": {
    spec: { boundObjectRef: { ...POD_REF, name: "other", uid: "uid-other" } },
    code: 400,
    message:
      /cannot bind token for serviceaccount "default" to pod running with different serviceaccount "b"/,
  },
  "an object of another kind": {
    spec: { boundObjectRef: { apiVersion: "v1", kind: "ConfigMap", name: "c" } },
    code: 400,
    message: /v1\/ConfigMap/,
  },
};

for (const [sentence, { spec, code, message }] of Object.entries(REFUSED)) {
  Deno.test(`\`createToken()\` refuses ${sentence}`, async () => {
    const { createToken, account, objects } = await tokenFixture();
    objects.pods?.push(
      stored("Pod", { name: "other", namespace: "ns" }, { spec: { serviceAccountName: "b" } }),
    );
    await assert.rejects(createToken(account, { spec }), (error) => {
      assert.ok(error instanceof StatusError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  });
}

async function reviews() {
  const fixture = await tokenFixture();
  const authorizer = createAuthorizer({ store: fixture.store });
  const { authenticator } = fixture;
  const createReview = createReviews({ authenticator, authorizer });
  const admin = { name: "admin", groups: ["system:masters"] };
  return {
    ...fixture,
    review: (resource: string, body: unknown) => createReview(resource, body, admin),
  };
}

Deno.test("TokenReview returns the user, the pod and the audiences that both sides name", async () => {
  const { review, createToken, account } = await reviews();
  const made = await createToken(account, {
    spec: { audiences: ["a", "b"], boundObjectRef: POD_REF },
  });
  const token = at(made, "status", "token");
  const answer = await review("tokenreviews", { spec: { token, audiences: ["b", "c"] } });
  assert.equal(at(answer, "status", "authenticated"), true);
  assert.deepEqual(at(answer, "status", "audiences"), ["b"]);
  assert.equal(at(answer, "status", "user", "username"), "system:serviceaccount:ns:default");
  const extra = at(answer, "status", "user", "extra");
  assert.deepEqual(at(extra, "authentication.kubernetes.io/pod-name"), ["p"]);
  assert.deepEqual(at(extra, "authentication.kubernetes.io/pod-uid"), ["uid-p"]);
  assert.ok(!JSON.stringify(answer).includes(String(token)));
});

Deno.test("TokenReview refuses a token for another audience, without an error of the call", async () => {
  const { review, createToken, account } = await reviews();
  const made = await createToken(account, { spec: { audiences: ["a"] } });
  const answer = await review("tokenreviews", { spec: { token: at(made, "status", "token") } });
  assert.equal(at(answer, "status", "authenticated"), false);
  assert.match(String(at(answer, "status", "error")), /invalid bearer token/);
});

Deno.test("TokenReview knows static tokens, for the server's own audience only", async () => {
  const { review } = await reviews();
  const own = await review("tokenreviews", { spec: { token: "admin-token" } });
  assert.equal(at(own, "status", "user", "username"), "admin");
  const other = await review("tokenreviews", { spec: { token: "admin-token", audiences: ["x"] } });
  assert.equal(at(other, "status", "authenticated"), false);
});

Deno.test("TokenReview without a token is a bad request", async () => {
  const { review } = await reviews();
  await assert.rejects(review("tokenreviews", { spec: {} }), { code: 400 });
});

const HEADERS: Record<string, { header: string | undefined; user: string | undefined }> = {
  "takes a static token": { header: "Bearer admin-token", user: "admin" },
  "reads the scheme in any case": { header: "bearer admin-token", user: "admin" },
  "knows no user without a header": { header: undefined, user: undefined },
  "knows no user by another scheme": { header: "Basic admin-token", user: undefined },
  "knows no user by an unknown token": { header: "Bearer admin-tokem", user: undefined },
  "knows no user by an empty token": { header: "Bearer ", user: undefined },
  "knows no user by two tokens": { header: "Bearer admin-token, x", user: undefined },
};

for (const [sentence, { header, user }] of Object.entries(HEADERS)) {
  Deno.test(`\`authenticate()\` ${sentence}`, async () => {
    const { authenticator } = await tokenFixture();
    assert.equal((await authenticator.authenticate(header))?.name, user);
  });
}

Deno.test("`authenticate()` takes a service account's token and puts users into system:authenticated", async () => {
  const { authenticator, tokens, subject } = await tokenFixture();
  const { token } = await tokens.issue(subject, { audiences: AUDIENCES, expirationSeconds: 600 });
  const user = await authenticator.authenticate(`Bearer ${token}`);
  assert.equal(user?.name, "system:serviceaccount:ns:default");
  const admin = await authenticator.authenticate("Bearer admin-token");
  assert.deepEqual(admin?.groups, ["system:masters", "system:authenticated"]);
});
