/** Claims of readers' bearer tokens, before the API server is asked whether they are true. Pure. */
import { decodeJwt } from "jose";
import { z } from "zod";
import { bearerOf } from "./bearer.ts";

/** Nothing that proves who calls. */
export type TokenRefusal =
  | "no_token"
  | "malformed_token"
  | "expired"
  | "not_yet_valid"
  | "wrong_audience"
  /** The API server does not accept it: it was asked now, or a moment ago. */
  | "refused"
  | "refused_before";

/** A token that may be good. */
export interface ReaderToken {
  readonly token: string;
  /** Whether it is one for the API server itself, by which users call it. */
  readonly isForApi: boolean;
  /** Hash of the token, which stands for it in memory. */
  readonly hash: string;
  /** Its expiry, in milliseconds since the epoch. */
  readonly expiresMs: number;
}

/** Longest token that is read. */
const MAX_TOKEN_LENGTH = 12_288;
/** How far the clocks of issuers may be ahead, in milliseconds. */
const LEEWAY_MS = 10_000;

const ourClaims = z.object({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  nbf: z.number().optional(),
});
const apiClaims = z.object({ exp: z.number().optional(), nbf: z.number().optional() });

function claimsOf<T>(token: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(decodeJwt(token)).data;
  } catch {
    return undefined;
  }
}

/** Says why a token cannot be good now, by the times in it. */
function untimely(
  { exp = Infinity, nbf = 0 }: z.infer<typeof apiClaims>,
  nowMs: number,
): { readonly why: TokenRefusal } | undefined {
  if (!(exp * 1000 > nowMs)) return { why: "expired" };
  return nbf * 1000 > nowMs + LEEWAY_MS ? { why: "not_yet_valid" } : undefined;
}

const isFor = (audience: string, { aud }: z.infer<typeof ourClaims>) =>
  (typeof aud === "string" ? [aud] : aud).includes(audience);

/** Reads a token by which users call the API server: it need not be a JWT, and then says nothing. */
function apiToken({ token, hash }: { token: string; hash: string }, nowMs: number) {
  const claims = claimsOf(token, apiClaims) ?? {};
  const { exp = Infinity } = claims;
  return untimely(claims, nowMs) ?? { token, hash, isForApi: true, expiresMs: exp * 1000 };
}

/**
 * Reads the Authorization header: a JWT for `audience` that has not expired. Any other token is
 * refused without a question to the API server, unless `apiTokens` says that those for the API server are taken.
 */
export function readerToken(
  header: string | undefined,
  nowMs: number,
  { audience, apiTokens = false }: { readonly audience: string; readonly apiTokens?: boolean },
): ReaderToken | { readonly why: TokenRefusal } {
  const bearer = bearerOf(header, () => false, {
    maxLength: MAX_TOKEN_LENGTH,
    isOpaque: apiTokens,
  });
  if (bearer.kind !== "token") {
    return { why: bearer.kind === "none" ? "no_token" : "malformed_token" };
  }
  const { token, hash } = bearer;
  const claims = token.endsWith(".") ? undefined : claimsOf(token, ourClaims);
  if (claims !== undefined && isFor(audience, claims)) {
    const expiresMs = claims.exp * 1000;
    return untimely(claims, nowMs) ?? { token, hash, isForApi: false, expiresMs };
  }
  if (apiTokens) return apiToken(bearer, nowMs);
  return { why: claims === undefined ? "malformed_token" : "wrong_audience" };
}
