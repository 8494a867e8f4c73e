/** Refusals of the status endpoint: the closed set of them, and the response to each. */
import {
  bodyTooLarge,
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
} from "../../platform/http/refusals.ts";
import type { UnauthorizedReason } from "../../platform/http/callers/bearer.ts";
import type { HttpResponse } from "../../platform/http/message.ts";
import type { StreamLimitReason } from "../../platform/http/limits/stream_limits.ts";

/** Refusal of a push. Tests and debug logs match `why`; clients see a terse Status. */
export type Refusal =
  | { readonly why: "unknown_path" | "unknown_job" | "no_status" }
  | { readonly why: "wrong_method"; readonly allow: string }
  | { readonly why: "body_too_large"; readonly maxBytes: number }
  | { readonly why: UnauthorizedReason }
  | { readonly why: ForbiddenReason }
  | {
    readonly why: RateReason;
    readonly retryAfterMs: number;
    /** Whether the connection is closed after the response. */
    readonly closes?: boolean;
  }
  | { readonly why: "invalid" | "invalid_query"; readonly causes: readonly FailureCause[] }
  | { readonly why: "unavailable"; readonly reason: string; readonly retryAfterMs: number }
  | { readonly why: "internal" };

/** A good token that may not report for this job. */
export type ForbiddenReason =
  | "other_namespace"
  | "not_bound"
  | "pod_gone"
  | "pod_finished"
  | "service_account_gone"
  | "not_of_this_job";

/** Limits that a request may exceed. */
export type RateReason =
  | "peer_limit"
  | "pod_limit"
  | "history_limit"
  | "sample_limit"
  | "subject_limit"
  | StreamLimitReason;

const BAD_TOKEN = "the bearer token is not valid here: send the token of the pod's " +
  "kubeflow-trainer-token volume, read again for each push";

const SHAPES: Readonly<
  Record<
    Exclude<Refusal["why"], "invalid" | "invalid_query" | "unavailable" | "body_too_large">,
    FailureShape
  >
> = {
  unknown_path: notFound("no such path: push to the URL in KUBEFLOW_TRAINER_STATUS_URL"),
  unknown_job: notFound("no TrainJob of that name in the token's namespace"),
  no_status: notFound("nothing was pushed for this TrainJob yet: push, or wait with ?watch=true"),
  wrong_method: WRONG_METHOD,
  no_token: unauthorized(
    "a push needs the header Authorization: Bearer TOKEN with the pod's token",
  ),
  malformed_token: unauthorized(BAD_TOKEN),
  refused_before: unauthorized(BAD_TOKEN),
  unknown_key: unauthorized(BAD_TOKEN),
  wrong_algorithm: unauthorized(BAD_TOKEN),
  bad_signature: unauthorized(BAD_TOKEN),
  wrong_issuer: unauthorized(BAD_TOKEN),
  expired: unauthorized("the bearer token has expired: read the token file again for each push"),
  not_yet_valid: unauthorized("the bearer token is not valid yet: check the clock of the node"),
  wrong_audience: unauthorized("the bearer token is for another audience: see KEP-2779"),
  revoked: unauthorized("the API server no longer accepts the bearer token"),
  other_namespace: forbidden("the token belongs to another namespace than the TrainJob"),
  not_bound: forbidden("the token is not bound to a pod: use the pod's projected token"),
  pod_gone: forbidden("the pod that the token is bound to no longer exists"),
  pod_finished: forbidden("the pod that the token is bound to has finished"),
  service_account_gone: forbidden("the service account of the token no longer exists"),
  not_of_this_job: forbidden("the pod that the token is bound to is not part of this TrainJob"),
  peer_limit: tooMany("too many failed authentications from this address: wait, then try again"),
  pod_limit: tooMany("this pod pushes too often: wait, then send the newest status"),
  history_limit: tooMany(
    "this pod sends histories too often: wait, then send more samples in one request",
  ),
  sample_limit: tooMany(
    "histories of this pod, or of its service account, hold too many samples: wait, then go on",
  ),
  subject_limit: tooMany("pods of this service account push too often: wait, then try again"),
  stream_limit: tooMany("too many streams are open (--max-streams): read without watch"),
  subject_stream_limit: tooMany(
    "pods of this service account have too many streams open " +
      "(--max-streams-per-subject): close one, or read without watch",
  ),
  internal: INTERNAL_ERROR,
};

function shapeOf(refusal: Refusal): FailureShape {
  if (refusal.why === "invalid") return invalid("push", refusal.causes);
  if (refusal.why === "invalid_query") return invalid("query", refusal.causes);
  if (refusal.why === "unavailable") {
    return unavailable(refusal.reason);
  }
  if (refusal.why === "body_too_large") {
    return bodyTooLarge(refusal.maxBytes);
  }
  return SHAPES[refusal.why];
}

/** Returns what a refusal says to people. */
export function refusalMessage(refusal: Refusal): string {
  return shapeOf(refusal).message;
}

/** Returns the label under which a refusal is counted: `pushes_total{result}`. */
export function resultOf(refusal: Refusal): RequestResult {
  return resultOfFailure(shapeOf(refusal));
}

/** Returns the response to a refused push: a `metav1.Status`. */
export function refusalResponse(refusal: Refusal): HttpResponse {
  return responseTo(shapeOf(refusal), refusal);
}

const JSON_TYPE = { "Content-Type": "application/json" } as const;

/** Returns a response of 200 with `content` as JSON. */
export function okResponse(content: unknown): HttpResponse {
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(content) };
}
