/** Hostile tokens, each with its answer: those that others signed, and those that the API server did. */
import { Buffer } from "node:buffer";
import { KEY, PATH, type Sent } from "../chain/handler_bench.ts";
import { bound, claims, NOW_MS, sign } from "../../platform/http/callers/tokens.ts";
import { allWith, type HostileCases } from "./case.ts";
import { FORGED_HEADERS, FORGED_TOKENS } from "./forged_token_cases.ts";

const now = NOW_MS / 1000;
const good = { alg: "RS256", kid: "k1" };
const base64url = (text: string | Uint8Array) => Buffer.from(text).toString("base64url");

/** Signs header and claims that are texts, however odd. */
async function signText(header: string, payload: string): Promise<string> {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  const bytes = new TextEncoder().encode(signed);
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", KEY.privateKey, bytes);
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

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
  "the token of a service account that was created again": {
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
  "unknown claims": { admin: true, groups: ["system:masters"], "": 1 },
});

/** Every hostile token. */
export const TOKEN_CASES: HostileCases = {
  ...allWith({ code: 401, reason: "Unauthorized" }, {
    ...FORGED_TOKENS,
    ...FORGED_HEADERS,
    ...SIGNED,
  }),
  ...STRANGERS,
  ...allWith({ code: 200, reason: "accepted", looksUp: true }, ODD),
};
