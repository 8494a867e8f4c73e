/**
 * Oracle of the fuzzer: the answer that a request must get by docs/reference/http.md. It shares no code with
 * the product and uses other means (node's crypto for jose, plain checks for schemas), so that both are not
 * wrong in the same way.
 */
import { Buffer } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { type JudgedStatus, judgeStatus } from "./status_oracle.ts";
import { KEY } from "../chain/handler_bench.ts";
import { ISSUER, NOW_MS } from "../../platform/http/callers/tokens.ts";

/** A request as bytes and texts. */
export interface FuzzRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The codes that a request deserves: each for something that is wrong with it. */
export interface Verdict {
  readonly route: "push" | "history" | "read" | "none";
  /** Empty: it must be taken. */
  readonly codes: ReadonlySet<number>;
  /** The push that the owner must get if it is accepted; undefined if there is none. */
  readonly status?: JudgedStatus;
}

const NOW = NOW_MS / 1000;
const LEEWAY = 30;
const AUDIENCE = "trainer.kubeflow.org";
const publicKey = createPublicKey({ key: { ...KEY.jwk, kty: "RSA" }, format: "jwk" });

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isName(name: string): boolean {
  const isEnd = (char: string | undefined) => char !== undefined && /[a-z0-9]/.test(char);
  return name.length <= 253 && isEnd(name[0]) && isEnd(name.at(-1)) &&
    [...name].every((char) => isEnd(char) || char === "-" || char === ".");
}

interface Place {
  readonly namespace: string;
  readonly job: string;
  readonly isHistory: boolean;
}

function placeOf(url: string): Place | undefined {
  const question = url.indexOf("?");
  const parts = (question < 0 ? url : url.slice(0, question)).split("/");
  const [empty, apis, group, version, nss, namespace = "", jobs, job = "", status, ...more] = parts;
  const shape = [empty, apis, group, version, nss, jobs, status].join("/");
  if (shape !== `/apis/${AUDIENCE}/v1alpha1/namespaces/trainjobs/status`) return undefined;
  if (!isName(namespace) || !isName(job)) return undefined;
  if (more.length > 1 || (more.length === 1 && more[0] !== "history")) return undefined;
  return { namespace, job, isHistory: more.length === 1 };
}

function decode(part: string): unknown {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.toString("base64url") !== part) throw new Error("another spelling");
  return JSON.parse(bytes.toString());
}

const claimsByToken = new Map<string, Json | undefined>();

/** The claims of a token that the API server signed; undefined of any other. */
function claimsOf(token: string): Json | undefined {
  try {
    const [head = "", payload = "", signature = "", ...more] = token.split(".");
    const header = decode(head);
    const claims = decode(payload);
    const bytes = Buffer.from(signature, "base64url");
    if (more.length > 0 || bytes.toString("base64url") !== signature) return undefined;
    if (!isObject(header) || header.alg !== "RS256" || header.kid !== "k1") return undefined;
    if ("crit" in header || "b64" in header || !isObject(claims)) return undefined;
    const isGood = verify("sha256", Buffer.from(`${head}.${payload}`), publicKey, bytes);
    return isGood ? claims : undefined;
  } catch {
    return undefined;
  }
}

function knownClaims(token: string): Json | undefined {
  if (token.length > 8192) return undefined;
  if (!claimsByToken.has(token)) claimsByToken.set(token, claimsOf(token));
  if (claimsByToken.size > 5000) claimsByToken.clear();
  return claimsByToken.get(token) ?? claimsOf(token);
}

const isText = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= max;
const isNamed = (value: unknown): value is { name: string; uid: string } =>
  isObject(value) && isText(value.name, 253) && isText(value.uid, 128);

/** Returns the problems of the claims, as codes. */
function judgeClaims(claims: Json, { namespace, job }: Place): number[] {
  const { iss, sub, exp, nbf, iat, aud, "kubernetes.io": bound } = claims;
  const hasTimes = typeof exp === "number" && Number.isFinite(exp) && exp > NOW - LEEWAY &&
    (nbf === undefined || (typeof nbf === "number" && nbf <= NOW + LEEWAY)) &&
    (iat === undefined || typeof iat === "number");
  if (!hasTimes || iss !== ISSUER || !isObject(bound)) return [401];
  const account = bound.serviceaccount;
  if (!isText(bound.namespace, 63) || !isNamed(account)) return [401];
  if (bound.pod !== undefined && !isNamed(bound.pod)) return [401];
  if (sub !== `system:serviceaccount:${bound.namespace}:${account.name}`) return [401];
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (audiences.length > 64 || !audiences.every((one) => typeof one === "string")) return [401];
  const own = `${AUDIENCE}/v1alpha1/namespaces/${namespace}/trainjobs/${job}/status`;
  if (!audiences.includes(AUDIENCE) && !audiences.includes(own)) return [401];
  const codes: number[] = [];
  const isPod = isNamed(bound.pod) && bound.pod.name === "job-1-node-0-0-abcde" &&
    bound.pod.uid === "uid-pod-1";
  const isOurs = bound.namespace === "team" && account.name === "default" &&
    account.uid === "uid-sa" && isPod;
  if (!isOurs || namespace !== "team") codes.push(403);
  if (job !== "job-1") codes.push(404);
  return codes;
}

function judgeToken(header: string | undefined, place: Place): number[] {
  const [, token] = /^bearer[ \t]+(\S+)[ \t]*$/i.exec(header ?? "") ?? [];
  const claims = token === undefined ? undefined : knownClaims(token);
  return claims === undefined ? [401] : judgeClaims(claims, place);
}

function judgeBody({ headers, body }: FuzzRequest, isHistory: boolean) {
  const max = isHistory ? 1_048_576 : 65_536;
  if (body.length > max) return 413;
  const encoding = (headers["content-encoding"] ?? "").trim().toLowerCase();
  if (!["", "identity", "gzip", "x-gzip"].includes(encoding)) return 422;
  try {
    const isPacked = encoding.endsWith("gzip");
    const plain = isPacked ? new Uint8Array(gunzipSync(body)) : body;
    if (plain.length > max) return 413;
    const text = new TextDecoder("utf-8", { fatal: true }).decode(plain);
    return judgeStatus(JSON.parse(text), isHistory) ?? 422;
  } catch {
    return 422;
  }
}

/** Judges a request to the handler of the bench. */
export function judge(request: FuzzRequest): Verdict {
  const place = placeOf(request.url);
  if (place === undefined) return { route: "none", codes: new Set([404]) };
  const { isHistory } = place;
  const isRead = request.method === "GET" && !isHistory;
  if (request.method !== "POST" && !isRead) return { route: "none", codes: new Set([405]) };
  const codes = new Set(judgeToken(request.headers.authorization, place));
  if (isRead) {
    if (request.body.length > 65_536) codes.add(413);
    return { route: "read", codes };
  }
  const judged = judgeBody(request, isHistory);
  if (typeof judged === "number") codes.add(judged);
  const route = isHistory ? "history" : "push";
  return { route, codes, ...(typeof judged === "object" && { status: judged }) };
}
