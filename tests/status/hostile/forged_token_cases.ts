/** Tokens that the API server did not sign, or that are not in the one shape of a token. */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { CompactEncrypt } from "jose";
import { KEY, type Sent, TOKEN } from "../chain/handler_bench.ts";
import {
  claims,
  forge,
  hmacForged,
  part,
  sign,
  signingKey,
} from "../../platform/http/callers/tokens.ts";

const stranger = await signingKey("k1");
const ecStranger = await signingKey("k1", "ES256");
const [HEAD = "", BODY = "", SIGNATURE = ""] = TOKEN.split(".");
const good = { alg: "RS256", kid: "k1" };
const base64url = (text: string | Uint8Array) => Buffer.from(text).toString("base64url");

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
export const FORGED_TOKENS: Record<string, Sent> = {
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
export const FORGED_HEADERS: Record<string, Sent> = {
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
