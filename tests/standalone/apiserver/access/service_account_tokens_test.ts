/** Tests of service-account tokens: claims, verification, forgeries. */
import assert from "node:assert/strict";
import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import {
  jwksDocument,
  openIdConfiguration,
} from "../../../../standalone/apiserver/access/openid_discovery.ts";
import { loadSigningKeys } from "../../../../standalone/apiserver/access/signing_keys.ts";
import { AUDIENCES, ISSUER, memorySettings, START, tokenFixture } from "./token_fixture.ts";
import { SIGNING_KEY } from "../../../support/signing_key.ts";

type Fixture = Awaited<ReturnType<typeof tokenFixture>>;

const POD = { name: "p", uid: "uid-p" };
const SECONDS = START / 1000;

async function podToken({ tokens, subject }: Fixture, audiences = AUDIENCES) {
  const issued = await tokens.issue({ ...subject, pod: POD, node: { name: "n", uid: "uid-n" } }, {
    audiences,
    expirationSeconds: 600,
  });
  return issued.token;
}

Deno.test("`issue()` writes the claims that Kubernetes writes", async () => {
  const fixture = await tokenFixture();
  const token = await podToken(fixture, ["trainer.kubeflow.org"]);
  const { jti, ...claims } = decodeJwt(token);
  assert.match(String(jti), /^[0-9a-f-]{36}$/);
  assert.deepEqual(claims, {
    aud: ["trainer.kubeflow.org"],
    exp: SECONDS + 600,
    iat: SECONDS,
    nbf: SECONDS,
    iss: ISSUER,
    sub: "system:serviceaccount:ns:default",
    "kubernetes.io": {
      namespace: "ns",
      node: { name: "n", uid: "uid-n" },
      pod: POD,
      serviceaccount: { name: "default", uid: "uid-default" },
    },
  });
  assert.deepEqual(decodeProtectedHeader(token), { alg: "RS256", kid: fixture.keys.keyId });
});

Deno.test("`issue()` lets the default token of pods live a year, with a warning after 3607 s", async () => {
  const { tokens, subject } = await tokenFixture();
  const issued = await tokens.issue({ ...subject, pod: POD }, {
    audiences: AUDIENCES,
    expirationSeconds: 3607,
  });
  const claims = decodeJwt<{ "kubernetes.io": { warnafter: number } }>(issued.token);
  assert.equal(claims.exp, SECONDS + 365 * 24 * 3600);
  assert.equal(claims["kubernetes.io"].warnafter, SECONDS + 3607);
  assert.equal(issued.expiresAtMs, START + 3607 * 1000);
});

Deno.test("`verify()` returns the user of a token, with its pod and its id", async () => {
  const fixture = await tokenFixture();
  const token = await podToken(fixture);
  assert.deepEqual(await fixture.tokens.verify(token, [...AUDIENCES, "other"]), {
    ok: true,
    audiences: AUDIENCES,
    user: {
      name: "system:serviceaccount:ns:default",
      uid: "uid-default",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      extra: {
        "authentication.kubernetes.io/credential-id": [`JTI=${decodeJwt(token).jti}`],
        "authentication.kubernetes.io/node-name": ["n"],
        "authentication.kubernetes.io/node-uid": ["uid-n"],
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": ["uid-p"],
      },
    },
  });
});

const TAMPERED: Record<string, (token: string, fixture: Fixture) => string | Promise<string>> = {
  "of another audience": (_, fixture) => podToken(fixture, ["trainer.kubeflow.org"]),
  "that expired": (token, { time }) => {
    time.now += 601_000;
    return token;
  },
  "from before its time": (token, { time }) => {
    time.now -= 60_000;
    return token;
  },
  "of a deleted pod": (token, { objects }) => {
    objects.pods = [];
    return token;
  },
  "of a pod that was created again under its name": (token, { objects, pod }) => {
    objects.pods = [{ ...pod, metadata: { ...pod.metadata, uid: "new" } }];
    return token;
  },
  "of a pod whose time to terminate is long over": (token, { objects, pod, time }) => {
    const deletionTimestamp = new Date(time.now - 61_000).toISOString();
    objects.pods = [{ ...pod, metadata: { ...pod.metadata, deletionTimestamp } }];
    return token;
  },
  "of a deleted service account": (token, { objects }) => {
    objects.serviceaccounts = [];
    return token;
  },
  "of a service account that was created again": (token, { objects, account }) => {
    objects.serviceaccounts = [{ ...account, metadata: { ...account.metadata, uid: "new" } }];
    return token;
  },
  "without signature": (token) => new UnsecuredJWT(decodeJwt(token)).encode(),
  "signed with HS256 and the public key": async (token, { keys }) =>
    await new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: "HS256", kid: keys.keyId })
      .sign(new TextEncoder().encode(JSON.stringify(keys.publicJwk))),
  "signed with another key": async (token, { keys }) => {
    const { privateKey } = await generateKeyPair("RS256");
    return await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: "RS256", kid: keys.keyId }).sign(privateKey);
  },
  "of another issuer": async (token, { keys }) =>
    await new SignJWT({ ...decodeJwt(token), iss: "https://elsewhere" })
      .setProtectedHeader({ alg: "RS256", kid: keys.keyId }).sign(keys.privateKey),
  "whose subject is not its service account": async (token, { keys }) =>
    await new SignJWT({ ...decodeJwt(token), sub: "system:serviceaccount:ns:admin" })
      .setProtectedHeader({ alg: "RS256", kid: keys.keyId }).sign(keys.privateKey),
  "without Kubernetes' claims": async (token, { keys }) =>
    await new SignJWT({ ...decodeJwt(token), "kubernetes.io": undefined })
      .setProtectedHeader({ alg: "RS256", kid: keys.keyId }).sign(keys.privateKey),
  "with a changed payload": (token) => {
    const [head, , signature] = token.split(".");
    return [head, btoa('{"sub":"system:serviceaccount:ns:default"}'), signature].join(".");
  },
  "that is none": () => "nonsense",
  "of absurd length": () => "x".repeat(20_000),
};

for (const [sentence, tamper] of Object.entries(TAMPERED)) {
  Deno.test(`\`verify()\` refuses a token ${sentence}`, async () => {
    const fixture = await tokenFixture();
    const token = await tamper(await podToken(fixture), fixture);
    const verdict = await fixture.tokens.verify(token, AUDIENCES);
    assert.equal(verdict.ok, false, JSON.stringify(verdict));
  });
}

Deno.test("`verify()` accepts the token of a terminating pod", async () => {
  const fixture = await tokenFixture();
  const { objects, pod, time } = fixture;
  const deletionTimestamp = new Date(time.now + 30_000).toISOString();
  objects.pods = [{ ...pod, metadata: { ...pod.metadata, deletionTimestamp } }];
  const verdict = await fixture.tokens.verify(await podToken(fixture), AUDIENCES);
  assert.equal(verdict.ok, true);
});

Deno.test("`loadSigningKeys()` finds the key of the last run again", async () => {
  const settings = memorySettings();
  const first = await loadSigningKeys(settings);
  assert.equal((await loadSigningKeys(settings)).keyId, first.keyId);
  assert.notEqual((await loadSigningKeys(memorySettings())).keyId, first.keyId);
});

Deno.test("`loadSigningKeys()` stores the key that it is given, and keeps the stored one", async () => {
  const settings = memorySettings();
  const given = await loadSigningKeys(settings, SIGNING_KEY);
  assert.equal((await loadSigningKeys(settings)).keyId, given.keyId);
  const before = memorySettings();
  const generated = await loadSigningKeys(before);
  assert.notEqual(generated.keyId, given.keyId);
  assert.equal((await loadSigningKeys(before, SIGNING_KEY)).keyId, generated.keyId);
});

Deno.test("`jwksDocument()` has the public half of the key only", async () => {
  const { keys } = await tokenFixture();
  const [jwk] = jwksDocument(keys).keys;
  assert.deepEqual(Object.keys(Object(jwk)).sort(), ["alg", "e", "kid", "kty", "n", "use"]);
});

Deno.test("`openIdConfiguration()` leads to the key set", () => {
  const document = openIdConfiguration("https://127.0.0.1:1");
  assert.equal(document.issuer, ISSUER);
  assert.equal(document.jwks_uri, "https://127.0.0.1:1/openid/v1/jwks");
});
