/** Refusals as Kubernetes' clients read them: a `metav1.Status` (milepost.md, messages). */

/** What one is about. */
export interface FailureShape {
  /** Of HTTP. */
  readonly code: number;
  readonly reason: string;
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** What is wrong with one field. */
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

/** The body of a `metav1.Status` that reports a failure (milepost.md, messages). */
export function failureStatus(shape: FailureShape, causes?: readonly FailureCause[]): string {
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
