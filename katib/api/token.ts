/** Claims of readers' bearer tokens, before the API server is asked whether they are true. Pure. */
import { decodeJwt } from "jose";
import { z } from "zod";
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import { bearerOf } from "../../http/callers/bearer.ts";
import type { TokenRefusal } from "./answers.ts";

/** A token that may be good. */
export interface ReaderToken {
  readonly token: string;
  /** Hash of the token, which stands for it in memory. */
  readonly hash: string;
  /** Its expiry, in milliseconds since the epoch. */
  readonly expiresMs: number;
}

/** Longest token that is looked at. */
const MAX_TOKEN_LENGTH = 12_288;
/** How far the clocks of issuers may be ahead, in milliseconds. */
const LEEWAY_MS = 10_000;

const claimsSchema = z.object({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  nbf: z.number().optional(),
});

function claimsOf(token: string): z.infer<typeof claimsSchema> | undefined {
  try {
    return claimsSchema.safeParse(decodeJwt(token)).data;
  } catch {
    return undefined;
  }
}

/**
 * Reads the Authorization header: a JWT for the audience of this API that has not expired. Any other
 * token is refused without a question to the API server.
 */
export function readerToken(
  header: string | undefined,
  nowMs: number,
): ReaderToken | { readonly why: TokenRefusal } {
  const bearer = bearerOf(header, () => false, MAX_TOKEN_LENGTH);
  if (bearer.kind !== "token") {
    return { why: bearer.kind === "none" ? "no_token" : "malformed_token" };
  }
  const { token, hash } = bearer;
  const isSigned = !token.endsWith(".");
  const claims = isSigned ? claimsOf(token) : undefined;
  if (claims === undefined) return { why: "malformed_token" };
  const { aud, exp, nbf = 0 } = claims;
  if (!(typeof aud === "string" ? [aud] : aud).includes(OBSERVATION_AUDIENCE)) {
    return { why: "wrong_audience" };
  }
  const expiresMs = exp * 1000;
  if (!(expiresMs > nowMs)) return { why: "expired" };
  if (nbf * 1000 > nowMs + LEEWAY_MS) return { why: "not_yet_valid" };
  return { token, hash, expiresMs };
}
