/** Bearer tokens in the Authorization header. */
import { createHash } from "node:crypto";
import type { HttpRequest } from "../message.ts";

/** Contents of the Authorization header. */
export type Bearer =
  | { readonly kind: "none" | "malformed" }
  | { readonly kind: "token"; readonly token: string; readonly hash: string };

/** Reasons for which a request does not prove who calls. */
export type UnauthorizedReason =
  | "no_token"
  | "malformed_token"
  | "refused_before"
  | "unknown_key"
  | "wrong_algorithm"
  | "bad_signature"
  | "expired"
  | "not_yet_valid"
  | "wrong_issuer"
  | "wrong_audience"
  | "revoked";

/** Longest bearer token that is read; Kubernetes' are about 1,200 characters. */
const MAX_TOKEN_LENGTH = 8192;

/**
 * A part of a JWT in the one spelling that base64url has for its bytes: in others the bits of the last
 * character that stand for nothing differ, and a refused token would have another hash.
 */
const PART = "(?:[A-Za-z0-9_-]{4})*" +
  "(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?";
const JWT = new RegExp(`^(?=[^.])${PART}\\.(?=[^.])${PART}\\.${PART}$`);

/** A token of any form (RFC 6750, section 2.1). */
const OPAQUE = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * Reads the Authorization header: scheme in any case, one token in the shape of a JWT, or of any form if
 * `isOpaque`. A token that `isKnown` by its hash was found to be one before, and is not looked through again.
 */
export function bearerOf(
  header: string | undefined,
  isKnown: (hash: string) => boolean,
  { maxLength = MAX_TOKEN_LENGTH, isOpaque = false } = {},
): Bearer {
  if (header === undefined || header.trim() === "") return { kind: "none" };
  // Only the scheme is checked before the length is.
  const space = header.search(/[ \t]/);
  if (space < 0 || header.slice(0, space).toLowerCase() !== "bearer") return { kind: "malformed" };
  if (header.length > maxLength + 64) return { kind: "malformed" };
  const token = header.slice(space).trim();
  if (token.length > maxLength) return { kind: "malformed" };
  const hash = createHash("sha256").update(token).digest("base64");
  const shape = isOpaque ? OPAQUE : JWT;
  return isKnown(hash) || shape.test(token)
    ? { kind: "token", token, hash }
    : { kind: "malformed" };
}

/**
 * Reads the Authorization header of requests. A token that a connection repeats is not hashed again;
 * what is known of it is looked up each time.
 */
export function createBearerReader(
  isKnown: (hash: string) => boolean,
): (request: HttpRequest) => Bearer {
  /** By connection: nearly always the next one is the same. */
  const last = new WeakMap<object, { readonly header: string; readonly bearer: Bearer }>();
  return (request) => {
    const { connection } = request;
    const header = request.header("authorization");
    const before = connection && last.get(connection);
    if (before !== undefined && before.header === header) return before.bearer;
    const bearer = bearerOf(header, isKnown);
    // Only good ones are kept: what strangers send must not fill the memory of idle connections.
    if (connection !== undefined && header !== undefined && bearer.kind === "token") {
      if (isKnown(bearer.hash)) last.set(connection, { header, bearer });
    }
    return bearer;
  };
}
