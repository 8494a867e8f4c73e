/** Tests of the local check of tokens: what is forged, stale or not bound never gets through. */
import assert from "node:assert/strict";
import {
  createTokenVerifier,
  verifyToken,
} from "../../../../platform/http/callers/token_verification.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import {
  bound,
  claims,
  forge,
  hmacForged,
  issuerKeys,
  NOW_MS,
  sign,
  signingKey,
} from "./tokens.ts";

const key = await signingKey("k1");
const ecKey = await signingKey("k2", "ES256");
const stranger = await signingKey("k1");
const trusted = await issuerKeys(key, ecKey);
const SECOND = 1000;
const inSeconds = (seconds: number) => NOW_MS / 1000 + seconds;

function without(name: string) {
  const { [name]: _, ...rest } = claims();
  return rest;
}

const REFUSED: Record<string, { token: string; why: string }> = {
  "an unsigned token": { token: forge({ alg: "none", kid: "k1" }), why: "wrong_algorithm" },
  "one whose signature was cut off": {
    token: (await sign(key)).split(".").slice(0, 2).join(".") + ".",
    why: "bad_signature",
  },
  "HS256 with the public key's JSON": {
    token: hmacForged(key, JSON.stringify(key.jwk)),
    why: "wrong_algorithm",
  },
  "HS256 with the public key's modulus": {
    token: hmacForged(key, key.jwk.n ?? ""),
    why: "wrong_algorithm",
  },
  "a stranger's signature under a known key id": {
    token: await sign(stranger),
    why: "bad_signature",
  },
  "an unknown key id": { token: await sign(key, claims(), { kid: "other" }), why: "unknown_key" },
  "no key id": { token: await sign(key, claims(), { kid: undefined }), why: "malformed_token" },
  "another key's id": { token: await sign(key, claims(), { kid: "k2" }), why: "wrong_algorithm" },
  "an empty key id": { token: await sign(key, claims(), { kid: "" }), why: "malformed_token" },
  "a key in the header": {
    token: await sign(stranger, claims(), { jwk: stranger.jwk }),
    why: "bad_signature",
  },
  "a critical header that is not known": {
    token: forge({ alg: "RS256", kid: "k1", crit: ["x"], x: 1 }, claims(), "AAAA"),
    why: "malformed_token",
  },
  "changed claims": {
    token: (await sign(key)).replace(/\..*\./, `.${forge({}, claims({ x: 1 })).split(".")[1]}.`),
    why: "bad_signature",
  },
  "one that expired 31 s ago": {
    token: await sign(key, claims({ exp: inSeconds(-31) })),
    why: "expired",
  },
  "one without expiry": { token: await sign(key, without("exp")), why: "malformed_token" },
  "one that is valid in 31 s": {
    token: await sign(key, claims({ nbf: inSeconds(31) })),
    why: "not_yet_valid",
  },
  "another issuer's": {
    token: await sign(key, claims({ iss: "https://other" })),
    why: "wrong_issuer",
  },
  "no issuer": { token: await sign(key, without("iss")), why: "wrong_issuer" },
  "no subject": { token: await sign(key, without("sub")), why: "malformed_token" },
  "no kubernetes.io claim": {
    token: await sign(key, without("kubernetes.io")),
    why: "malformed_token",
  },
  "a subject that is not its service account": {
    token: await sign(key, claims({ sub: "system:serviceaccount:team:other" })),
    why: "malformed_token",
  },
  "a pod without UID": {
    token: await sign(key, claims({ "kubernetes.io": bound({ pod: { name: "p" } }) })),
    why: "malformed_token",
  },
  "a pod that is a text": {
    token: await sign(key, claims({ "kubernetes.io": bound({ pod: "p" }) })),
    why: "malformed_token",
  },
  "claims that are a list": {
    token: forge({ alg: "RS256", kid: "k1" }, [], "AAAA"),
    why: "bad_signature",
  },
  "what is no JWT": { token: "a.b.c", why: "malformed_token" },
  "nothing": { token: "", why: "malformed_token" },
};

for (const [sentence, { token, why }] of Object.entries(REFUSED)) {
  Deno.test(`\`verifyToken()\` refuses ${sentence}`, async () => {
    assert.deepEqual(await verifyToken(token, trusted, NOW_MS), { ok: false, why });
  });
}

Deno.test("`verifyToken()` returns the identity of the caller", async () => {
  for (const good of [key, ecKey]) {
    assert.deepEqual(await verifyToken(await sign(good), trusted, NOW_MS), {
      ok: true,
      identity: {
        subject: "system:serviceaccount:team:default",
        namespace: "team",
        serviceAccount: { name: "default", uid: "uid-sa" },
        pod: { name: "job-1-node-0-0-abcde", uid: "uid-pod-1" },
        audiences: ["trainer.kubeflow.org"],
        expiresMs: NOW_MS + 3540 * SECOND,
      },
    });
  }
});

Deno.test("`verifyToken()` gives clocks 30 s", async () => {
  for (const changes of [{ exp: inSeconds(-29) }, { nbf: inSeconds(29) }]) {
    const verification = await verifyToken(await sign(key, claims(changes)), trusted, NOW_MS);
    assert(verification.ok);
  }
});

Deno.test("`verifyToken()` is not ready without keys", async () => {
  const want = { ok: false, why: "not_ready" };
  assert.deepEqual(await verifyToken(await sign(key), undefined, NOW_MS), want);
});

/** A verifier over keys that a test can exchange, with counts. */
function bench() {
  const clock = new FakeClock(NOW_MS);
  const state = { keys: trusted, unknown: 0, cache: Array<string>() };
  const verifier = createTokenVerifier({
    clock,
    keys: { current: () => state.keys, noteUnknownKey: () => void state.unknown++ },
    maxKnown: 2,
    onCache: (result) => state.cache.push(result),
  });
  return { clock, state, verifier };
}

Deno.test("`createTokenVerifier()` checks a good token once, and knows it until it expires", async () => {
  const { clock, state, verifier } = bench();
  const token = await sign(key);
  const both = await Promise.all([verifier.verify("h", token), verifier.verify("h", token)]);
  assert(both[0].ok && both[1].ok);
  assert((await verifier.verify("h", token)).ok);
  assert.deepEqual(state.cache, ["miss", "miss", "hit"]);
  clock.jump(3569 * SECOND);
  assert.notEqual(verifier.known("h"), undefined);
  clock.jump(SECOND);
  assert.equal(verifier.known("h"), undefined);
  assert.deepEqual(await verifier.verify("h", token), { ok: false, why: "expired" });
});

Deno.test("`createTokenVerifier()` remembers bad tokens for a while, and no more good ones than its limit", async () => {
  const { clock, verifier } = bench();
  await verifier.verify("bad", await sign(stranger));
  assert.equal(verifier.refused("bad"), "bad_signature");
  await clock.advance(300_000);
  assert.equal(verifier.refused("bad"), undefined);
  const token = await sign(key);
  for (const hash of ["a", "b", "c"]) await verifier.verify(hash, token);
  assert.equal(verifier.known("a"), undefined);
  assert.notEqual(verifier.known("c"), undefined);
});

Deno.test("`createTokenVerifier()` asks for new keys on an unknown one, and forgets that refusal", async () => {
  const { state, verifier } = bench();
  const next = await signingKey("k3");
  const token = await sign(next);
  assert.deepEqual(await verifier.verify("h", token), { ok: false, why: "unknown_key" });
  assert.equal(state.unknown, 1);
  assert.equal(verifier.refused("h"), undefined);
  state.keys = await issuerKeys(next);
  assert((await verifier.verify("h", token)).ok);
});

Deno.test("`createTokenVerifier()` checks again when the keys have changed", async () => {
  const { state, verifier } = bench();
  const token = await sign(key);
  await verifier.verify("h", token);
  state.keys = await issuerKeys(ecKey);
  assert.equal(verifier.known("h"), undefined);
  assert.deepEqual(await verifier.verify("h", token), { ok: false, why: "unknown_key" });
});

Deno.test("`revoke()` holds for as long as the token would have lived", async () => {
  const { clock, verifier } = bench();
  await verifier.verify("h", await sign(key));
  verifier.revoke("h");
  assert.equal(verifier.known("h"), undefined);
  await clock.advance(3560 * SECOND);
  assert.equal(verifier.refused("h"), "revoked");
});
