/** Refusals of the observation API: the closed set of them, and the response to each. */
import {
  JSON_HEADERS,
  type ReaderRefusal,
  readerRefusalShape,
} from "../../platform/http/callers/reader_refusals.ts";
import type { HttpResponse } from "../../platform/http/message.ts";
import {
  bodyTooLarge,
  conflict,
  type FailureCause,
  type FailureShape,
  invalid,
  notFound,
  refusalResponse as responseTo,
  type RequestResult,
  resultOf as resultOfFailure,
} from "../../platform/http/refusals.ts";

/** Why a request was refused. Tests and debug logs match `why`; clients see a terse Status. */
export type ApiRefusal =
  | ReaderRefusal
  | { readonly why: "unknown_job"; readonly job: string }
  | { readonly why: "invalid_stop"; readonly causes: readonly FailureCause[] }
  | { readonly why: "body_too_large"; readonly maxBytes: number }
  /** A job that cannot be stopped, and why, for people. */
  | { readonly why: "job_ended" | "job_gone" | "job_elsewhere"; readonly reason: string };

function shapeOf(refusal: ApiRefusal): FailureShape {
  switch (refusal.why) {
    case "unknown_job":
      return notFound(`there is no ${refusal.job}`);
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
    default:
      return readerRefusalShape(refusal);
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

/** Returns the response to a refused request: a `metav1.Status`. */
export function refusalResponse(refusal: ApiRefusal): HttpResponse {
  return responseTo(shapeOf(refusal), refusal, JSON_HEADERS);
}
