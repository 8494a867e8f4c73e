/** What a bearer token says of itself, before anybody is asked whether it is true. Pure. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import type { TokenRefusal } from "./answers.ts";

/** A token that is worth a question. */
export interface ReaderToken {
  readonly token: string;
  /** Of the token; it stands for it in memory. */
  readonly hash: string;
  /** When it expires, in milliseconds since the epoch. */
  readonly expiresMs: number;
}

/** Characters that a token may have. */
const MAX_TOKEN_LENGTH = 12_288;
const JWT = /^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;
/** How far the clocks of issuers may be ahead, in milliseconds. */
const LEEWAY_MS = 10_000;

const claimsSchema = z.object({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  nbf: z.number().optional(),
});

function claimsOf(payload: string): z.infer<typeof claimsSchema> | undefined {
  try {
    const bytes = Uint8Array.from(
      atob(payload.replaceAll("-", "+").replaceAll("_", "/")),
      (it) => it.charCodeAt(0),
    );
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return claimsSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function tokenOf(header: string): string | undefined {
  // Only the scheme is looked at before the length is.
  const space = header.search(/[ \t]/);
  if (space < 0 || header.slice(0, space).toLowerCase() !== "bearer") return undefined;
  if (header.length > MAX_TOKEN_LENGTH + 64) return undefined;
  const token = header.slice(space).trim();
  return token.length > MAX_TOKEN_LENGTH ? undefined : token;
}

/**
 * Reads the Authorization header: a JWT for the audience of this API that has not expired. Whatever is
 * not costs no question.
 */
export function readerToken(
  header: string | undefined,
  nowMs: number,
): ReaderToken | { readonly why: TokenRefusal } {
  if (header === undefined || header.trim() === "") return { why: "no_token" };
  const token = tokenOf(header);
  const payload = token === undefined ? undefined : JWT.exec(token)?.[1];
  const claims = payload === undefined ? undefined : claimsOf(payload);
  if (token === undefined || claims === undefined) return { why: "malformed_token" };
  const { aud, exp, nbf = 0 } = claims;
  if (!(typeof aud === "string" ? [aud] : aud).includes(OBSERVATION_AUDIENCE)) {
    return { why: "wrong_audience" };
  }
  const expiresMs = exp * 1000;
  if (!(expiresMs > nowMs)) return { why: "expired" };
  if (nbf * 1000 > nowMs + LEEWAY_MS) return { why: "not_yet_valid" };
  return { token, hash: createHash("sha256").update(token).digest("base64"), expiresMs };
}
