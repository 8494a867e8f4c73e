/** Refusals as Kubernetes clients read them: responses with a `metav1.Status`. */
import type { HttpResponse } from "./message.ts";

/** Description of a failure. */
export interface FailureShape {
  /** HTTP status code. */
  readonly code: number;
  readonly reason: string;
  /** Says what is wrong, and what to do. */
  readonly message: string;
}

/** Problem of one field. */
export interface FailureCause {
  readonly field: string;
  readonly message: string;
}

export const unauthorized = (message: string): FailureShape => ({
  code: 401,
  reason: "Unauthorized",
  message,
});
export const forbidden = (message: string): FailureShape => ({
  code: 403,
  reason: "Forbidden",
  message,
});
export const notFound = (message: string): FailureShape => ({
  code: 404,
  reason: "NotFound",
  message,
});
export const tooMany = (message: string): FailureShape => ({
  code: 429,
  reason: "TooManyRequests",
  message,
});

/** Returns the JSON of a `metav1.Status` that reports a failure. */
function failureStatus(shape: FailureShape, causes?: readonly FailureCause[]): string {
  const { code, reason, message } = shape;
  const details = causes === undefined ? {} : { details: { causes } };
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason,
    code,
    message,
    ...details,
  });
}

/** Returns the header that says when a client may come again: at least a second from now. */
export function retryAfter(ms: number): { readonly "Retry-After": string } {
  return { "Retry-After": String(Math.max(1, Math.ceil(ms / 1000))) };
}

/** Returns the response that reports a failure. */
export function failureResponse(
  shape: FailureShape,
  { headers, causes }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly causes?: readonly FailureCause[] | undefined;
  } = {},
): HttpResponse {
  return {
    status: shape.code,
    headers: { "Content-Type": "application/json", ...headers },
    body: failureStatus(shape, causes),
  };
}

/** Failure of the server itself. */
export const INTERNAL_ERROR: FailureShape = {
  code: 500,
  reason: "InternalError",
  message: "internal error: see the manager's log",
};

/** Failure for a method that a path does not take. */
export const WRONG_METHOD: FailureShape = {
  code: 405,
  reason: "MethodNotAllowed",
  message: "this path does not take that method",
};

/** Returns the failure of something that is out of reach for a while. */
export const unavailable = (message: string): FailureShape => ({
  code: 503,
  reason: "ServiceUnavailable",
  message,
});
