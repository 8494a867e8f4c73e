/** Verification of bearer tokens by the API server's keys, without a question to the API server. */
import { decodeProtectedHeader, errors, jwtVerify } from "jose";
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import type { UnauthorizedReason } from "./bearer.ts";
import { createRecentMemory } from "../../base/recent_memory.ts";
import type { IssuerKeys } from "./jwks.ts";
import { createExpiringMemory, type ExpiringMemory } from "../../base/expiring_memory.ts";
import { sharedCall } from "../../base/shared_calls.ts";

/** Difference that the clocks of nodes, API server and manager may have, in seconds. */
export const CLOCK_LEEWAY_SECONDS = 30;
/**
 * How long what is known of a token is kept without use, in milliseconds: its pod has most likely gone.
 * A token that comes again is verified anew.
 */
export const TOKEN_IDLE_MS = 600_000;

/** Bad tokens that are remembered; for how long, in milliseconds. */
const [MAX_REFUSED, REFUSED_FOR_MS] = [20_000, 300_000] as const;

const named = z.object({ name: z.string().min(1).max(253), uid: z.string().min(1).max(128) });

const claimsSchema = z.object({
  sub: z.string().min(1).max(1024),
  exp: z.number(),
  aud: z.union([z.string(), z.array(z.string()).max(64)]).optional(),
  "kubernetes.io": z.object({
    namespace: z.string().min(1).max(63),
    serviceaccount: named,
    pod: named.optional(),
  }),
});

/** Identity that a good token proves. */
export interface TokenIdentity {
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  readonly subject: string;
  readonly namespace: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
  /** The pod that the token is bound to, if any. */
  readonly pod?: { readonly name: string; readonly uid: string };
  readonly audiences: readonly string[];
  /** Wall-clock time, in milliseconds, after which the token is no good. */
  readonly expiresMs: number;
}

/**
 * Why a token is neither good nor bad yet. `not_ready`: the keys were not read; `not_reviewed`: the API
 * server could not be asked.
 */
export type UndecidedReason = "not_ready" | "not_reviewed";

/** Outcome of a check. */
export type Verification =
  | { readonly ok: true; readonly identity: TokenIdentity }
  | { readonly ok: false; readonly why: UnauthorizedReason | UndecidedReason };

const no = (why: UnauthorizedReason | UndecidedReason): Verification => ({ ok: false, why });

/** Key id and algorithm; neither may be missing. */
export function headerOf(token: string): { kid: string; alg: string } | undefined {
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    return typeof kid === "string" && kid !== "" && typeof alg === "string"
      ? { kid, alg }
      : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): UnauthorizedReason {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "bad_signature";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "malformed_token";
  if (error.claim === "nbf" || error.claim === "iat") return "not_yet_valid";
  return error.claim === "iss" ? "wrong_issuer" : "malformed_token";
}

/** Returns the identity of claims; undefined if they are not those of a service account's token. */
export function identityOf(claims: unknown): TokenIdentity | undefined {
  const parsed = claimsSchema.safeParse(claims);
  if (!parsed.success) return undefined;
  const { sub, exp, aud = [], "kubernetes.io": bound } = parsed.data;
  const { namespace, serviceaccount: serviceAccount, pod } = bound;
  if (sub !== `system:serviceaccount:${namespace}:${serviceAccount.name}`) return undefined;
  const audiences = typeof aud === "string" ? [aud] : aud;
  return { subject: sub, namespace, serviceAccount, pod, audiences, expiresMs: exp * 1000 };
}

/**
 * Checks key id, algorithm (the one that the key set gives to that key), signature, issuer, times
 * and the shape of the claims. Audiences are the caller's to compare, since they
 * depend on the path. Never throws.
 */
export async function verifyToken(
  token: string,
  trusted: IssuerKeys | undefined,
  nowMs: number,
): Promise<Verification> {
  const header = headerOf(token);
  if (header === undefined) return no("malformed_token");
  if (trusted === undefined) return no("not_ready");
  const found = trusted.keys.get(header.kid);
  if (found === undefined) return no("unknown_key");
  if (found.algorithm !== header.alg) return no("wrong_algorithm");
  try {
    const { payload } = await jwtVerify(token, found.key, {
      algorithms: [found.algorithm],
      issuer: trusted.issuer,
      clockTolerance: CLOCK_LEEWAY_SECONDS,
      currentDate: new Date(nowMs),
      requiredClaims: ["exp", "sub"],
    });
    const identity = identityOf(payload);
    return identity === undefined ? no("malformed_token") : { ok: true, identity };
  } catch (error) {
    return no(reasonOf(error));
  }
}

/** Verifies tokens once, and remembers good and bad ones by the hash that the caller made. */
export interface TokenVerifier {
  /** Returns the identity of a token that was good before and has not expired. Costs no signature. */
  known(hash: string): TokenIdentity | undefined;
  /** Why this very token was refused before, if it was. */
  refused(hash: string): UnauthorizedReason | undefined;
  /** Returns at once what is known. */
  verify(hash: string, token: string): Verification | Promise<Verification>;
  /** From now on the token is refused, whatever its signature says. */
  revoke(hash: string): void;
}

/** Options of {@link createTokenVerifier}. */
export interface TokenVerifierOptions {
  readonly keys: { current(): IssuerKeys | undefined; noteUnknownKey(): void };
  readonly clock: Clock;
  /** Good tokens remembered. Default 20000. */
  readonly maxKnown?: number;
  /** `token_cache_total{result}`. */
  readonly onCache?: (result: "hit" | "miss" | "refused") => void;
}

/** These may turn out differently later, so that they are not remembered. */
function isFinal(why: UnauthorizedReason | UndecidedReason): why is UnauthorizedReason {
  return !["not_ready", "not_reviewed", "unknown_key", "not_yet_valid"].includes(why);
}

/** Parts of a verifier that looks into its memory first. */
export interface RememberedTokens extends Pick<TokenVerifier, "known"> {
  readonly bad: Pick<ExpiringMemory<UnauthorizedReason>, "get">;
  readonly onCache: TokenVerifierOptions["onCache"];
  /** Looks at a token that is not known. */
  readonly verifyNew: TokenVerifier["verify"];
}

/** Creates the methods that look into the memory first, and count that. */
export function rememberedFirst(
  { known, bad, onCache, verifyNew }: RememberedTokens,
): Pick<TokenVerifier, "known" | "refused" | "verify"> {
  return {
    known,
    refused(hash) {
      const why = bad.get(hash);
      if (why !== undefined) onCache?.("refused");
      return why;
    },
    verify(hash, token) {
      const identity = known(hash);
      onCache?.(identity === undefined ? "miss" : "hit");
      return identity === undefined ? verifyNew(hash, token) : { ok: true, identity };
    },
  };
}

/** Creates a {@link TokenVerifier} with bounded memory. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { keys, clock, maxKnown = 20_000, onCache } = options;
  const good = createRecentMemory<{ identity: TokenIdentity; trusted: IssuerKeys }>({
    now: () => clock.monotonic(),
    max: maxKnown,
    idleMs: TOKEN_IDLE_MS,
  });
  const bad = createExpiringMemory<UnauthorizedReason>(clock, MAX_REFUSED);
  /** Those that come with one token at a time share its verification. */
  const inFlight = new Map<string, Promise<Verification>>();

  function known(hash: string): TokenIdentity | undefined {
    const entry = good.get(hash);
    if (entry === undefined) return undefined;
    const { identity, trusted } = entry;
    const alive = clock.now() < identity.expiresMs + CLOCK_LEEWAY_SECONDS * 1000;
    // Other keys than those that it was checked with: its own may have been withdrawn.
    if (alive && trusted === keys.current()) return identity;
    good.delete(hash);
    return undefined;
  }

  async function verifyNew(hash: string, token: string): Promise<Verification> {
    const trusted = keys.current();
    const verification = await verifyToken(token, trusted, clock.now());
    if (verification.ok) {
      if (trusted !== undefined) good.set(hash, { identity: verification.identity, trusted });
    } else if (verification.why === "unknown_key") {
      keys.noteUnknownKey();
    } else if (isFinal(verification.why)) {
      bad.set(hash, verification.why, REFUSED_FOR_MS);
    }
    return verification;
  }

  const verifyOnce = (hash: string, token: string) =>
    sharedCall(inFlight, hash, () => verifyNew(hash, token));

  return {
    ...rememberedFirst({ known, bad, onCache, verifyNew: verifyOnce }),
    revoke(hash) {
      const aliveMs = (good.get(hash)?.identity.expiresMs ?? 0) - clock.now();
      good.delete(hash);
      const forMs = Math.max(REFUSED_FOR_MS, aliveMs + 2 * CLOCK_LEEWAY_SECONDS * 1000);
      bad.set(hash, "revoked", forMs);
    },
  };
}
