/** Tokens for tests: an issuer as the API server is one, and every way to forge what it signs. */
import { exportJWK, type JWK, SignJWT } from "jose";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { IssuerKeys } from "../../../../platform/http/callers/jwks.ts";
import { readKeySet } from "../../../../platform/http/callers/jwks.ts";

/** Wall-clock time of the tests: the start of a fake clock. */
export const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
/** Issuer of the tests' tokens. */
export const ISSUER = "https://kubernetes.default.svc.cluster.local";

/** A key pair with its id and public JWK. */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** A fresh key: RSA, or P-256 for ES256. */
export async function signingKey(kid: string, algorithm = "RS256"): Promise<SigningKey> {
  const parameters = algorithm === "ES256" ? { name: "ECDSA", namedCurve: "P-256" } : {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  };
  const pair = await crypto.subtle.generateKey(parameters, true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new Error("not a key pair");
  const jwk = { ...await exportJWK(pair.publicKey), kid, alg: algorithm, use: "sig" };
  return { kid, algorithm, privateKey: pair.privateKey, jwk };
}

/** What the API server says of these keys. */
export async function issuerKeys(...keys: SigningKey[]): Promise<IssuerKeys> {
  return { issuer: ISSUER, keys: await readKeySet({ keys: keys.map(({ jwk }) => jwk) }) };
}

/** Claims of a good push token of `pod-1` of namespace `team`, and what to change in them. */
export function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const nowSeconds = NOW_MS / 1000;
  return {
    iss: ISSUER,
    sub: "system:serviceaccount:team:default",
    aud: ["trainer.kubeflow.org"],
    iat: nowSeconds - 60,
    nbf: nowSeconds - 60,
    exp: nowSeconds + 3540,
    jti: "0d3b2a1c",
    "kubernetes.io": bound(),
    ...changes,
  };
}

/** The `kubernetes.io` claim of the good token, and what to change in it. */
export function bound(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    namespace: "team",
    pod: { name: "job-1-node-0-0-abcde", uid: "uid-pod-1" },
    serviceaccount: { name: "default", uid: "uid-sa" },
    node: { name: "n", uid: "uid-node" },
    ...changes,
  };
}

/** Signs claims as the API server does. */
export function sign(
  key: SigningKey,
  payload: Record<string, unknown> = claims(),
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(payload)
    .setProtectedHeader({ alg: key.algorithm, kid: key.kid, ...header })
    .sign(key.privateKey);
}

/** The base64url text of a value's JSON. */
export function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token of any header, with any third part. */
export function forge(header: unknown, payload: unknown = claims(), signature = ""): string {
  return `${part(header)}.${part(payload)}.${signature}`;
}

/** A token signed by HMAC, with the public key's text as the secret: the classic confusion. */
export function hmacForged(key: SigningKey, secret: string): string {
  const signed = `${part({ alg: "HS256", kid: key.kid })}.${part(claims())}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}
