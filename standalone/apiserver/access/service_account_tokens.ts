/** Service-account tokens: issuing, and verification against the objects that exist. */
import { importJWK, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { compact } from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { KEYS } from "../storage/resource_keys.ts";
import type { ObjectReader } from "../storage/store.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing_keys.ts";
import { serviceAccountUser, type User } from "./user.ts";

/** Issuer of the tokens, and the audience of the server itself; Kubernetes' default. */
export const ISSUER = "https://kubernetes.default.svc.cluster.local";
/** Audiences of a token that names none. */
export const AUDIENCES = [ISSUER];

/** How long after its deletion time an object still counts as existing. */
const DELETION_LEEWAY_MS = 60_000;
/** Longest token that is verified. */
const TOKEN_MAX_LENGTH = 16_384;
/** Lifetime that the default volume of pods requests: such a token is valid for a year, with a warning after this. */
const LEGACY_EXPIRATION_SECONDS = 3607;
const YEAR_SECONDS = 365 * 24 * 3600;
const EXTRA = "authentication.kubernetes.io";

const referenceSchema = z.object({ name: z.string(), uid: z.string() });
const claimsSchema = z.looseObject({
  exp: z.number(),
  jti: z.string().optional(),
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
  "kubernetes.io": z.looseObject({
    namespace: z.string(),
    serviceaccount: referenceSchema,
    pod: referenceSchema.optional(),
    node: referenceSchema.optional(),
    secret: referenceSchema.optional(),
  }),
});

/** An object by name and UID. */
export type BoundReference = z.infer<typeof referenceSchema>;

/** Subject of a token: a service account, and the object that the token is bound to. */
export interface TokenSubject {
  readonly namespace: string;
  readonly serviceAccount: BoundReference;
  readonly pod?: BoundReference;
  readonly node?: BoundReference;
  readonly secret?: BoundReference;
}

/** Result of a verification: the user, or the reason why the token is not valid. */
export type Verdict =
  | { readonly ok: true; readonly user: User; readonly audiences: string[] }
  | { readonly ok: false; readonly reason: string };

/** Issues and verifies tokens. */
export type ServiceAccountTokens = ReturnType<typeof createServiceAccountTokens>;

/** Creates an issuer and verifier over one key. */
export function createServiceAccountTokens(
  options: {
    readonly keys: SigningKeys;
    readonly store: ObjectReader;
    /** Current time in milliseconds since the epoch. */
    readonly now: () => number;
  },
) {
  const { keys, store, now } = options;
  const publicKey = importJWK(keys.publicJwk, SIGNING_ALGORITHM);
  return {
    /** Returns a signed token and when it expires, in milliseconds since the epoch. */
    async issue(
      subject: TokenSubject,
      { audiences, expirationSeconds }: { audiences: string[]; expirationSeconds: number },
    ): Promise<{ token: string; expiresAtMs: number }> {
      const issuedAt = Math.floor(now() / 1000);
      const extended = subject.pod !== undefined &&
        expirationSeconds === LEGACY_EXPIRATION_SECONDS &&
        audiences.every((audience) => AUDIENCES.includes(audience));
      const expiresAt = issuedAt + (extended ? YEAR_SECONDS : expirationSeconds);
      const { namespace, serviceAccount, pod, node, secret } = subject;
      const claims = compact({
        namespace,
        node,
        pod,
        secret,
        serviceaccount: serviceAccount,
        warnafter: extended ? issuedAt + expirationSeconds : undefined,
      });
      const token = await new SignJWT({ "kubernetes.io": claims, aud: audiences })
        .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid: keys.keyId })
        .setExpirationTime(expiresAt)
        .setIssuedAt(issuedAt)
        .setNotBefore(issuedAt)
        .setIssuer(ISSUER)
        .setJti(crypto.randomUUID())
        .setSubject(serviceAccountUser(namespace, serviceAccount.name).name)
        .sign(keys.privateKey);
      return {
        token,
        expiresAtMs: (extended ? issuedAt + expirationSeconds : expiresAt) * 1000,
      };
    },

    /**
     * Verifies signature, issuer and times, that one of the audiences is the token's, and that every
     * object that it names still exists with its UID.
     */
    async verify(token: string, audiences: readonly string[]): Promise<Verdict> {
      if (token.length > TOKEN_MAX_LENGTH) return { ok: false, reason: "token_too_long" };
      let payload: JWTPayload;
      try {
        ({ payload } = await jwtVerify(token, await publicKey, {
          algorithms: [SIGNING_ALGORITHM],
          issuer: ISSUER,
          audience: [...audiences],
          currentDate: new Date(now()),
          requiredClaims: ["exp", "aud", "sub"],
        }));
      } catch (error) {
        return { ok: false, reason: reasonOf(error) };
      }
      const parsed = claimsSchema.safeParse(payload);
      if (!parsed.success) return { ok: false, reason: "not_a_service_account_token" };
      return checkClaims(parsed.data, payload.sub, audiences, store, now());
    },
  };
}

/** Returns jose's error code without its prefix, in lower case, such as `jwt_expired`. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    return error.code.replace(/^ERR_/, "").toLowerCase();
  }
  return "invalid";
}

type Claims = z.infer<typeof claimsSchema>;

/** Says if an object exists with this UID, or did until a moment ago. */
function exists(object: ApiObject | undefined, uid: string, now: number): boolean {
  if (object === undefined || object.metadata.uid !== uid) return false;
  const { deletionTimestamp } = object.metadata;
  return deletionTimestamp === undefined ||
    Date.parse(deletionTimestamp) + DELETION_LEEWAY_MS > now;
}

function checkClaims(
  claims: Claims,
  subject: string | undefined,
  audiences: readonly string[],
  store: ObjectReader,
  now: number,
): Verdict {
  const { namespace, serviceaccount, pod, node, secret } = claims["kubernetes.io"];
  const user = serviceAccountUser(namespace, serviceaccount.name);
  if (subject !== user.name) return { ok: false, reason: "subject_mismatch" };
  const account = store.get(KEYS.serviceAccounts, namespace, serviceaccount.name);
  if (!exists(account, serviceaccount.uid, now)) {
    return { ok: false, reason: "service_account_gone" };
  }
  // A pod's token outlives the Node object: only a token bound to the node itself becomes invalid with it.
  const bound = [
    { reference: pod, key: KEYS.pods, where: namespace, reason: "pod_gone" },
    { reference: secret, key: KEYS.secrets, where: namespace, reason: "secret_gone" },
    { reference: pod ? undefined : node, key: KEYS.nodes, where: undefined, reason: "node_gone" },
  ];
  for (const { reference, key, where, reason } of bound) {
    if (!reference || exists(store.get(key, where, reference.name), reference.uid, now)) continue;
    return { ok: false, reason };
  }
  return {
    ok: true,
    user: { ...user, uid: serviceaccount.uid, extra: extraOf(claims) },
    audiences: claims.aud.filter((audience) => audiences.includes(audience)),
  };
}

/** Returns what a token tells of its user beside name, UID and groups. */
function extraOf(claims: Claims): Record<string, string[]> {
  const { pod, node } = claims["kubernetes.io"];
  const extra: Record<string, string[]> = {};
  if (claims.jti !== undefined) extra[`${EXTRA}/credential-id`] = [`JTI=${claims.jti}`];
  if (node !== undefined) {
    extra[`${EXTRA}/node-name`] = [node.name];
    extra[`${EXTRA}/node-uid`] = [node.uid];
  }
  if (pod !== undefined) {
    extra[`${EXTRA}/pod-name`] = [pod.name];
    extra[`${EXTRA}/pod-uid`] = [pod.uid];
  }
  return extra;
}
