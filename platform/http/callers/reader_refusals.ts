/** Refusals of readers, whatever they read: why, and the response to each. */
import type { HttpResponse } from "../message.ts";
import {
  type FailureCause,
  type FailureShape,
  forbidden,
  INTERNAL_ERROR,
  invalid,
  notFound,
  tooMany,
  unauthorized,
  unavailable,
  WRONG_METHOD,
} from "../refusals.ts";
import type { AccessVerb } from "./reader_access.ts";
import type { TokenRefusal } from "./reader_token.ts";

/** Which limit was passed. */
export type LimitReason =
  | "peer_limit"
  | "review_limit"
  | "check_limit"
  | "read_limit"
  | "stop_limit"
  | "stream_limit"
  | "subject_stream_limit";

/** Refusals that say which token is wanted instead. */
type NoSuchToken = "no_token" | "wrong_audience";

/** Why a request was refused. Tests and debug logs match `why`; clients see a terse Status. */
export type ReaderRefusal =
  | { readonly why: "unknown_path" | "internal" }
  | { readonly why: "wrong_method"; readonly allow: string }
  | { readonly why: Exclude<TokenRefusal, NoSuchToken> }
  /** `audience`: the one that tokens must be for. */
  | { readonly why: NoSuchToken; readonly audience: string }
  /** `object`: its kind, namespace and name, or what else was asked for, for people. */
  | {
    readonly why: "forbidden";
    readonly subject: string;
    readonly verb: AccessVerb;
    readonly object: string;
  }
  | { readonly why: "invalid_query"; readonly causes: readonly FailureCause[] }
  | { readonly why: LimitReason; readonly retryAfterMs: number; readonly closes?: boolean }
  | { readonly why: "unavailable"; readonly reason: string; readonly retryAfterMs: number };

const NOT_ACCEPTED = "the API server does not accept the bearer token";

const FIXED: Readonly<
  Record<
    | Exclude<TokenRefusal, NoSuchToken>
    | LimitReason
    | "unknown_path"
    | "wrong_method"
    | "internal",
    FailureShape
  >
> = {
  unknown_path: notFound("no such path: see GET /openapi/v3"),
  wrong_method: WRONG_METHOD,
  internal: INTERNAL_ERROR,
  malformed_token: unauthorized("the bearer token is no token of a service account"),
  expired: unauthorized("the bearer token has expired: ask for a new one"),
  not_yet_valid: unauthorized("the bearer token is not valid yet: check the clock of the node"),
  refused: unauthorized(NOT_ACCEPTED),
  refused_before: unauthorized(NOT_ACCEPTED),
  peer_limit: tooMany("too many failed authentications from this address: wait, then try again"),
  review_limit: tooMany("too many tokens of this address are to be reviewed: wait, then try again"),
  check_limit: unavailable(
    "more readers are to be checked than the API server is asked about: try again soon",
  ),
  read_limit: tooMany("too many reads of this subject: wait, or watch"),
  stop_limit: tooMany("too many requests of this subject to stop jobs: wait, then try again"),
  stream_limit: tooMany("too many streams are open (--max-streams): read without watch"),
  subject_stream_limit: tooMany(
    "this subject has too many streams open (--max-streams-per-subject): close one, or " +
      "read without watch",
  ),
};

/** Returns what a refusal is for clients. */
export function readerRefusalShape(refusal: ReaderRefusal): FailureShape {
  switch (refusal.why) {
    case "forbidden":
      return forbidden(`${refusal.subject} may not ${refusal.verb} ${refusal.object}`);
    case "no_token":
      return unauthorized(
        `send the header Authorization: Bearer and a token with the audience ${refusal.audience}`,
      );
    case "wrong_audience":
      return unauthorized(
        `the bearer token is for another audience: ask for one for ${refusal.audience}`,
      );
    case "invalid_query":
      return invalid("query", refusal.causes);
    case "unavailable":
      return unavailable(refusal.reason);
    default:
      return FIXED[refusal.why];
  }
}

/** Headers of every JSON response; what is read now is another a moment later. */
export const JSON_HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
} as const;

/** Returns a response of 200 with `content` as JSON. */
export function okResponse(content: unknown): HttpResponse {
  return jsonResponse(JSON.stringify(content));
}

/** Returns the response with what is JSON already. */
export function jsonResponse(body: string): HttpResponse {
  return { status: 200, headers: JSON_HEADERS, body };
}
