/** Refusals of the observation API: the closed set of them, and the response to each. */
import type { AccessVerb } from "./observation_access.ts";
import {
  bodyTooLarge,
  conflict,
  type FailureCause,
  type FailureShape,
  forbidden,
  INTERNAL_ERROR,
  invalid,
  notFound,
  refusalResponse as responseTo,
  type RequestResult,
  resultOf as resultOfFailure,
  tooMany,
  unauthorized,
  unavailable,
  WRONG_METHOD,
} from "../../http/refusals.ts";
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import type { HttpResponse } from "../../http/message.ts";

/** Why a request was refused. Tests and debug logs match `why`; clients see a terse Status. */
export type ApiRefusal =
  | { readonly why: "unknown_path" | "internal" }
  | { readonly why: "wrong_method"; readonly allow: string }
  | { readonly why: TokenRefusal }
  /** `object`: its kind, namespace and name, for people. */
  | {
    readonly why: "forbidden";
    readonly subject: string;
    readonly verb: AccessVerb;
    readonly object: string;
  }
  | { readonly why: "unknown_job"; readonly job: string }
  | { readonly why: "invalid_query" | "invalid_stop"; readonly causes: readonly FailureCause[] }
  | { readonly why: "body_too_large"; readonly maxBytes: number }
  /** A job that cannot be stopped, and why, for people. */
  | { readonly why: "job_ended" | "job_gone" | "job_elsewhere"; readonly reason: string }
  | { readonly why: LimitReason; readonly retryAfterMs: number; readonly closes?: boolean }
  | { readonly why: "unavailable"; readonly reason: string; readonly retryAfterMs: number };

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

/** Which limit was passed. */
export type LimitReason =
  | "peer_limit"
  | "read_limit"
  | "stop_limit"
  | "stream_limit"
  | "subject_stream_limit";

const NOT_ACCEPTED = "the API server does not accept the bearer token";

const FIXED: Readonly<
  Record<TokenRefusal | LimitReason | "unknown_path" | "wrong_method" | "internal", FailureShape>
> = {
  unknown_path: notFound("no such path: see GET /openapi/v3"),
  wrong_method: WRONG_METHOD,
  internal: INTERNAL_ERROR,
  no_token: unauthorized(
    `send the header Authorization: Bearer and a token with the audience ${OBSERVATION_AUDIENCE}`,
  ),
  malformed_token: unauthorized("the bearer token is no token of a service account"),
  expired: unauthorized("the bearer token has expired: ask for a new one"),
  not_yet_valid: unauthorized("the bearer token is not valid yet: check the clock of the node"),
  wrong_audience: unauthorized(
    `the bearer token is for another audience: ask for one for ${OBSERVATION_AUDIENCE}`,
  ),
  refused: unauthorized(NOT_ACCEPTED),
  refused_before: unauthorized(NOT_ACCEPTED),
  peer_limit: tooMany("too many failed authentications from this address: wait, then try again"),
  read_limit: tooMany("too many reads of this subject: wait, or watch"),
  stop_limit: tooMany("too many requests of this subject to stop jobs: wait, then try again"),
  stream_limit: tooMany("too many streams are open (--max-streams): read without watch"),
  subject_stream_limit: tooMany(
    "this subject has too many streams open (--max-streams-per-subject): close one, or " +
      "read without watch",
  ),
};

function shapeOf(refusal: ApiRefusal): FailureShape {
  switch (refusal.why) {
    case "forbidden":
      return forbidden(`${refusal.subject} may not ${refusal.verb} ${refusal.object}`);
    case "unknown_job":
      return notFound(`there is no ${refusal.job}`);
    case "invalid_query":
      return invalid("query", refusal.causes);
    case "invalid_stop":
      return invalid("stop", refusal.causes);
    case "body_too_large":
      return bodyTooLarge(refusal.maxBytes);
    case "job_ended":
      return conflict(refusal.reason);
    case "job_gone":
      return notFound(refusal.reason);
    case "job_elsewhere":
      return { code: 422, reason: "Invalid", message: refusal.reason };
    case "unavailable":
      return unavailable(refusal.reason);
    default:
      return FIXED[refusal.why];
  }
}

/** Returns what a refusal says to people. */
export function refusalText(refusal: ApiRefusal): string {
  return shapeOf(refusal).message;
}

/** Returns the label under which a refusal is counted: `reads_total{result}`. */
export function resultOf(refusal: ApiRefusal): RequestResult {
  return resultOfFailure(shapeOf(refusal));
}

/** Headers of every JSON response; what is read now is another a moment later. */
const JSON_HEADERS = { "Content-Type": "application/json", "Cache-Control": "no-store" } as const;

/** Returns the response to a refused request: a `metav1.Status`. */
export function refusalResponse(refusal: ApiRefusal): HttpResponse {
  return responseTo(shapeOf(refusal), refusal, JSON_HEADERS);
}

/** Returns a response of 200 with `content` as JSON. */
export function okResponse(content: unknown): HttpResponse {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(content) };
}
