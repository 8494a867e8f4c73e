/** Hostile tokens, each with its answer. */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { CompactEncrypt } from "jose";
import { KEY, PATH, type Sent, TOKEN } from "../handler_bench.ts";
import { bound, claims, forge, hmacForged, NOW_MS, part, sign, signingKey } from "../tokens.ts";
import { allWith, type HostileCases } from "./case.ts";

const now = NOW_MS / 1000;
const stranger = await signingKey("k1");
const ecStranger = await signingKey("k1", "ES256");
const [HEAD = "", BODY = "", SIGNATURE = ""] = TOKEN.split(".");
const good = { alg: "RS256", kid: "k1" };
const base64url = (text: string | Uint8Array) => Buffer.from(text).toString("base64url");

/** Signs header and claims that are texts, however odd. */
async function signText(header: string, payload: string): Promise<string> {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  const bytes = new TextEncoder().encode(signed);
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", KEY.privateKey, bytes);
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

async function spki(): Promise<string> {
  const parameters = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("jwk", KEY.jwk, parameters, true, ["verify"]);
  const der = Buffer.from(await crypto.subtle.exportKey("spki", key)).toString("base64");
  const lines = der.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PUBLIC KEY-----\n${lines.join("\n")}\n-----END PUBLIC KEY-----\n`;
}

function hmac(algorithm: "HS384" | "HS512", secret: string): string {
  const signed = `${part({ alg: algorithm, kid: "k1" })}.${part(claims())}`;
  const digest = createHmac(algorithm === "HS384" ? "sha384" : "sha512", secret).update(signed);
  return `${signed}.${digest.digest("base64url")}`;
}

/** The same bytes in a spelling that base64url does not have for them. */
function respelled(segment: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(segment.at(-1) ?? "");
  return segment.slice(0, -1) + alphabet[last + 1];
}

const jwe = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(claims())))
  .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: "k1" })
  .encrypt(new Uint8Array(32));

async function withClaims(changes: Record<string, Record<string, unknown>>) {
  const entries = Object.entries(changes).map(async ([sentence, change]) => {
    return [sentence, { token: await sign(KEY, claims(change)) }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function withBound(changes: Record<string, Record<string, unknown>>) {
  const entries = Object.entries(changes).map(([sentence, change]) =>
    [sentence, { "kubernetes.io": bound(change) }] as const
  );
  return await withClaims(Object.fromEntries(entries));
}

async function withHeader(headers: Record<string, Record<string, unknown>>, key = stranger) {
  const entries = Object.entries(headers).map(async ([sentence, header]) => {
    const protectedHeader = { ...good, ...header };
    const signed = await signAs(key.privateKey, protectedHeader);
    return [sentence, { token: signed }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Not through a library, which would refuse to make such headers. */
async function signAs(key: CryptoKey, header: unknown, payload: unknown = claims()) {
  const signed = `${part(header)}.${part(payload)}`;
  const algorithm = key.algorithm.name === "ECDSA"
    ? { name: "ECDSA", hash: "SHA-256" }
    : "RSASSA-PKCS1-v1_5";
  const signature = await crypto.subtle.sign(algorithm, key, new TextEncoder().encode(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

/** Not signed by the API server, or not in the one shape of a token. */
const FORGED: Record<string, Sent> = {
  "alg none with an empty signature": { token: forge({ ...good, alg: "none" }) },
  "alg None in another case": { token: forge({ ...good, alg: "nOnE" }) },
  "alg none with the signature of a good token": {
    token: forge({ ...good, alg: "none" }, claims(), SIGNATURE),
  },
  "an empty alg": { token: forge({ ...good, alg: "" }, claims(), SIGNATURE) },
  "no alg": { token: forge({ kid: "k1" }, claims(), SIGNATURE) },
  "an alg that is a list": { token: forge({ ...good, alg: ["RS256"] }, claims(), SIGNATURE) },
  "HS256 with the public key's JSON as the secret": {
    token: hmacForged(KEY, JSON.stringify(KEY.jwk)),
  },
  "HS256 with the public key's PEM as the secret": { token: hmacForged(KEY, await spki()) },
  "HS384 with the public key's PEM as the secret": { token: hmac("HS384", await spki()) },
  "HS512 with an empty secret": { token: hmac("HS512", "") },
  "RS512 for a key of RS256": { token: forge({ ...good, alg: "RS512" }, claims(), SIGNATURE) },
  "PS256 for a key of RS256": { token: forge({ ...good, alg: "PS256" }, claims(), SIGNATURE) },
  "ES256 under the id of an RSA key": {
    token: await signAs(ecStranger.privateKey, { ...good, alg: "ES256" }),
  },
  "an EC signature that says RS256": { token: await signAs(ecStranger.privateKey, good) },
  "another's RSA signature": { token: await sign(stranger) },
  "other claims under a good signature": {
    token: `${HEAD}.${part(claims({ sub: "system:serviceaccount:team:admin" }))}.${SIGNATURE}`,
  },
  "another header over a good signature": {
    token: `${part({ ...good, typ: "JWT" })}.${BODY}.${SIGNATURE}`,
  },
  "a signature without its last bytes": { token: `${HEAD}.${BODY}.${SIGNATURE.slice(0, -8)}` },
  "a signature with bytes after it": { token: `${HEAD}.${BODY}.${SIGNATURE.slice(0, -2)}AAAAAA` },
  "a signature of zeros": { token: `${HEAD}.${BODY}.${"A".repeat(342)}` },
  "a signature of one byte": { token: `${HEAD}.${BODY}.AA` },
  "a signature with a flipped bit": {
    token: `${HEAD}.${BODY}.${SIGNATURE.startsWith("A") ? "B" : "A"}${SIGNATURE.slice(1)}`,
  },
  "a signature in another spelling of its bytes": {
    token: `${HEAD}.${BODY}.${respelled(SIGNATURE)}`,
  },
  "padding after the signature": { token: `${TOKEN}==` },
  "padding within the header": { token: `${HEAD}=.${BODY}.${SIGNATURE}` },
  "base64 with plus and slash": { token: `${HEAD}.${BODY}.+/${SIGNATURE.slice(2)}` },
  "a header whose length base64 does not have": { token: `${HEAD}A.${BODY}A.${SIGNATURE}A` },
  "two segments": { token: `${HEAD}.${BODY}` },
  "four segments": { token: `${TOKEN}.AAAA` },
  "an empty header": { token: `.${BODY}.${SIGNATURE}` },
  "empty claims": { token: `${HEAD}..${SIGNATURE}` },
  "nothing but dots": { token: ".." },
  "the header alone": { token: HEAD },
  "an encrypted token": { token: jwe },
  "a token within a token": {
    token: await signAs(stranger.privateKey, { ...good, cty: "JWT" }, TOKEN),
  },
  "a good token as the claims of an unsigned one": { token: `${HEAD}.${base64url(TOKEN)}.` },
  "a header that is no JSON": { token: `${base64url("{")}.${BODY}.${SIGNATURE}` },
  "a header that is null": { token: `${base64url("null")}.${BODY}.${SIGNATURE}` },
  "a header that is a list": { token: `${base64url('["RS256"]')}.${BODY}.${SIGNATURE}` },
  "a header that says alg twice": {
    token: `${base64url('{"alg":"none","kid":"k1","alg":"RS256"}')}.${BODY}.${SIGNATURE}`,
  },
  "a header with a polluted prototype": {
    token: `${base64url('{"__proto__":{"alg":"RS256","kid":"k1"}}')}.${BODY}.${SIGNATURE}`,
  },
  "a header that is not UTF-8": {
    token: `${base64url(Uint8Array.of(0xff, 0xfe, 0x7b))}.${BODY}.${SIGNATURE}`,
  },
  "a header nested 2,000 deep": {
    token: `${base64url("[".repeat(2000) + "]".repeat(2000))}.${BODY}.${SIGNATURE}`,
  },
  "a token of 9,000 characters": { token: `${HEAD}.${BODY}.${"A".repeat(9000)}` },
  "a token of a million characters": { token: "A".repeat(1_000_000) },
  "a null byte within the token": { token: `${HEAD}\0.${BODY}.${SIGNATURE}` },
  "letters of another script within the token": { token: `${HEAD}.${BODY}.${SIGNATURE}é` },
  "a full-width dot": { token: `${HEAD}.${BODY}．${SIGNATURE}` },
  "a line end after the token": { token: `${TOKEN}\n.` },
  "a token in quotes": { token: `"${TOKEN}"` },
  "two tokens with a comma": { token: `${TOKEN},${TOKEN}` },
  "two tokens with a space": { token: `${TOKEN} ${TOKEN}` },
  "a token that is percent-encoded": { token: TOKEN.replaceAll(".", "%2E") },
  "the word null": { token: "null" },
};

/** Key ids and headers that point elsewhere, signed by a stranger. */
const HEADERS: Record<string, Sent> = {
  ...await withHeader({
    "no kid": { kid: undefined },
    "an empty kid": { kid: "" },
    "a kid that is null": { kid: null },
    "a kid that is a number": { kid: 1 },
    "a kid that is a list": { kid: ["k1"] },
    "a kid that climbs directories": { kid: "../../../../dev/null" },
    "a kid that is a path of the host": { kid: "/proc/self/environ" },
    "a kid that is a URL": { kid: "https://attacker.example/key" },
    "a kid with SQL in it": { kid: "k1' UNION SELECT 'AAAA' --" },
    "a kid with a command in it": { kid: "k1|/usr/bin/id" },
    "a kid with a null byte": { kid: "k1\0" },
    "a kid in another case": { kid: "K1" },
    "a kid with a space after it": { kid: "k1 " },
    "a kid of 5,000 characters": { kid: "k".repeat(5000) },
    "a kid that is a name of objects": { kid: "__proto__" },
    "a kid that is constructor": { kid: "constructor" },
    "a key of its own in jwk": { jwk: stranger.jwk },
    "a key of its own in jwk, and no kid": { kid: undefined, jwk: stranger.jwk },
    "a jku that points elsewhere": { jku: "https://attacker.example/jwks.json" },
    "a jku that points to this host": { jku: "https://127.0.0.1:1/openid/v1/jwks" },
    "an x5u that points elsewhere": { x5u: "https://attacker.example/cert.pem" },
    "a certificate of its own in x5c": { x5c: ["MIIB"] },
    "an x5t of its own": { x5t: "AAAA", "x5t#S256": "AAAA" },
    "compressed claims": { zip: "DEF" },
  }),
  ...await withHeader({
    "a critical header that is unknown": { crit: ["exp2"], exp2: 1 },
    "an empty list of critical headers": { crit: [] },
    "a critical header that is absent": { crit: ["x"] },
    "critical headers that are no list": { crit: "b64" },
    "claims that are not base64 by b64": { b64: false, crit: ["b64"] },
  }, KEY),
};

/** The API server's own signature over what does not let anybody push here. */
const SIGNED: Record<string, Sent> = {
  ...await withClaims({
    "an expiry beyond the leeway by a second": { exp: now - 31 },
    "an expiry at the end of the leeway": { exp: now - 30 },
    "an expiry that is a text": { exp: String(now + 3600) },
    "an expiry that is null": { exp: null },
    "no expiry": { exp: undefined },
    "a negative expiry": { exp: -1 },
    "an expiry of zero": { exp: 0 },
    "an expiry that is a list": { exp: [now + 3600] },
    "an expiry that is true": { exp: true },
    "an nbf beyond the leeway by a second": { nbf: now + 31 },
    "an nbf that is a text": { nbf: "0" },
    "an nbf in the year 5000": { nbf: 95_617_584_000 },
    "no issuer": { iss: undefined },
    "an issuer with a slash after it": { iss: `${claims().iss}/` },
    "an issuer in another case": { iss: String(claims().iss).toUpperCase() },
    "an issuer that only begins like ours": { iss: `${claims().iss}.attacker.example` },
    "an issuer that is a list with ours": { iss: [claims().iss] },
    "an empty issuer": { iss: "" },
    "no subject": { sub: undefined },
    "an empty subject": { sub: "" },
    "a subject that is a user": { sub: "admin" },
    "a subject of another service account": { sub: "system:serviceaccount:team:other" },
    "a subject of another namespace": { sub: "system:serviceaccount:other:default" },
    "a subject with a colon more": { sub: "system:serviceaccount:team:default:x" },
    "a subject that is a list": { sub: ["system:serviceaccount:team:default"] },
    "no audience": { aud: undefined },
    "an empty list of audiences": { aud: [] },
    "the API server's audience": { aud: ["https://kubernetes.default.svc"] },
    "an audience that only begins like ours": { aud: ["trainer.kubeflow.org.attacker.example"] },
    "an audience that ends like ours": { aud: ["x.trainer.kubeflow.org"] },
    "an audience in another case": { aud: ["Trainer.Kubeflow.Org"] },
    "an audience with a slash after it": { aud: ["trainer.kubeflow.org/"] },
    "an audience with a space": { aud: ["trainer.kubeflow.org "] },
    "two audiences in one text": { aud: "x trainer.kubeflow.org" },
    "an audience that is a number": { aud: 1 },
    "a list with a number beside our audience": { aud: ["trainer.kubeflow.org", 1] },
    "our audience in a list of lists": { aud: [["trainer.kubeflow.org"]] },
    "more audiences than anybody has": { aud: Array(65).fill("trainer.kubeflow.org") },
    "the observation API's audience": { aud: ["observation.trainer.kubeflow.org"] },
    "another job's own audience": { aud: [PATH.slice(6).replace("job-1", "job-2")] },
    "the own audience of a job that begins like this": {
      aud: [PATH.slice(6).replace("job-1", "job-10")],
    },
    "another namespace's own audience": { aud: [PATH.slice(6).replace("team", "other")] },
    "no kubernetes.io claim": { "kubernetes.io": undefined },
    "a kubernetes.io claim that is null": { "kubernetes.io": null },
    "a kubernetes.io claim that is a text": { "kubernetes.io": "team" },
    "a kubernetes.io claim that is a list": { "kubernetes.io": [bound()] },
  }),
  ...await withBound({
    "no namespace in its claim": { namespace: undefined },
    "an empty namespace in its claim": { namespace: "" },
    "a namespace that is a list": { namespace: ["team"] },
    "a namespace of 64 characters": { namespace: "n".repeat(64) },
    "no service account in its claim": { serviceaccount: undefined },
    "a service account without UID": { serviceaccount: { name: "default" } },
    "a service account that is a text": { serviceaccount: "default" },
    "a pod without UID": { pod: { name: "job-1-node-0-0-abcde" } },
    "a pod with an empty UID": { pod: { name: "job-1-node-0-0-abcde", uid: "" } },
    "a pod whose UID is a number": { pod: { name: "job-1-node-0-0-abcde", uid: 1 } },
    "a pod without name": { pod: { uid: "uid-pod-1" } },
    "a pod that is null": { pod: null },
    "a pod that is a list": { pod: [{ name: "job-1-node-0-0-abcde", uid: "uid-pod-1" }] },
    "a pod whose name is too long": { pod: { name: "p".repeat(254), uid: "uid-pod-1" } },
  }),
  "an expiry beyond all numbers": {
    token: await signText(
      JSON.stringify(good),
      JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'),
    ),
  },
  "claims that say exp twice, the last of them long ago": {
    token: await signText(
      JSON.stringify(good),
      JSON.stringify(claims()).replace(/}$/, ',"exp":1}'),
    ),
  },
  "claims with NaN as the expiry": {
    token: await signText(
      JSON.stringify(good),
      JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":NaN'),
    ),
  },
  "claims in a polluted prototype": {
    token: await signText(JSON.stringify(good), `{"__proto__":${JSON.stringify(claims())}}`),
  },
  "claims that are no JSON": { token: await signText(JSON.stringify(good), "{") },
  "claims that are null": { token: await signText(JSON.stringify(good), "null") },
  "claims that are a list": { token: await signText(JSON.stringify(good), "[]") },
  "claims that are a text": { token: await signText(JSON.stringify(good), '"x"') },
};

/** Good tokens of somebody who may not speak of this job. */
const STRANGERS: HostileCases = {
  ...allWith({ code: 403, reason: "Forbidden" }, {
    "a token without pod": {
      token: await sign(KEY, claims({ "kubernetes.io": bound({ pod: undefined }) })),
    },
    "another namespace's job": { url: PATH.replace("/team/", "/other/") },
    "another namespace's token": {
      token: await sign(
        KEY,
        claims({
          sub: "system:serviceaccount:other:default",
          "kubernetes.io": bound({ namespace: "other" }),
        }),
      ),
    },
  }),
  ...allWith({ code: 403, reason: "Forbidden", looksUp: true }, {
    "the token of a pod that is gone": {
      token: await sign(
        KEY,
        claims({ "kubernetes.io": bound({ pod: { name: "gone", uid: "uid-pod-1" } }) }),
      ),
    },
    "the token of a pod of the same name before this one": {
      token: await sign(
        KEY,
        claims({
          "kubernetes.io": bound({ pod: { name: "job-1-node-0-0-abcde", uid: "uid-before" } }),
        }),
      ),
    },
  }),
  "the token of a service account that was made anew": {
    sent: {
      token: await sign(
        KEY,
        claims({ "kubernetes.io": bound({ serviceaccount: { name: "default", uid: "before" } }) }),
      ),
    },
    code: 403,
    reason: "Forbidden",
    looksUp: true,
  },
  "a job that there is not": {
    sent: { url: PATH.replace("job-1", "job-9") },
    code: 404,
    reason: "NotFound",
    looksUp: true,
  },
};

/** Signed by the API server, and good, odd as they are. */
const ODD: Record<string, Sent> = await withClaims({
  "an expiry within the leeway by a second": { exp: now - 29 },
  "an expiry with a fraction": { exp: now + 60.5 },
  "an expiry in the year 100,000": { exp: 3_093_527_980_800 },
  "an nbf within the leeway": { nbf: now + 29 },
  "our audience among others": { aud: ["x", "trainer.kubeflow.org", "y"] },
  "our audience twice": { aud: ["trainer.kubeflow.org", "trainer.kubeflow.org"] },
  "our audience as a text": { aud: "trainer.kubeflow.org" },
  "claims that nobody knows": { admin: true, groups: ["system:masters"], "": 1 },
});

/** Every hostile token. */
export const TOKEN_CASES: HostileCases = {
  ...allWith({ code: 401, reason: "Unauthorized" }, { ...FORGED, ...HEADERS, ...SIGNED }),
  ...STRANGERS,
  ...allWith({ code: 200, reason: "accepted", looksUp: true }, ODD),
};
