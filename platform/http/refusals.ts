/** Refusals as Kubernetes clients read them: responses with a `metav1.Status`. */
import type { HttpResponse, OverloadedError } from "./message.ts";

/** Time after which a client may try again when the server holds too many bytes, in milliseconds. */
export const OVERLOADED_MS = 1000;

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

/** Returns what describes the failures of a code. */
export const failureOf = (code: number, reason: string) => (message: string): FailureShape => ({
  code,
  reason,
  message,
});

export const badRequest = failureOf(400, "BadRequest");
export const unauthorized = failureOf(401, "Unauthorized");
export const forbidden = failureOf(403, "Forbidden");
export const notFound = failureOf(404, "NotFound");
export const conflict = failureOf(409, "Conflict");
export const tooMany = failureOf(429, "TooManyRequests");
/** Of something that is out of reach for a while. */
export const unavailable = failureOf(503, "ServiceUnavailable");

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
export const INTERNAL_ERROR = failureOf(500, "InternalError")(
  "internal error: see the manager's log",
);

/** Failure for a method that a path does not take. */
export const WRONG_METHOD = failureOf(405, "MethodNotAllowed")(
  "this path does not allow that method",
);

/** Returns the response to a request whose body the server has no room for. */
export function overloadedResponse({ message }: OverloadedError): HttpResponse {
  return failureResponse(unavailable(message), { headers: retryAfter(OVERLOADED_MS) });
}

/** Labels of metrics for responses: the reason of the Status in lower case, or `accepted`. */
export type RequestResult =
  | "accepted"
  | "unauthorized"
  | "forbidden"
  | "notfound"
  | "methodnotallowed"
  | "conflict"
  | "requestentitytoolarge"
  | "invalid"
  | "toomanyrequests"
  | "serviceunavailable"
  | "internalerror";

const RESULTS: Readonly<Record<number, RequestResult>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "notfound",
  405: "methodnotallowed",
  409: "conflict",
  413: "requestentitytoolarge",
  422: "invalid",
  429: "toomanyrequests",
  503: "serviceunavailable",
};

/** Returns the label under which a failure is counted. */
export function resultOf({ code }: Pick<FailureShape, "code">): RequestResult {
  return RESULTS[code] ?? "internalerror";
}

/** What of a refusal differs from one request to the next. */
interface RefusalDetails {
  readonly causes?: readonly FailureCause[];
  /** Methods that the path takes. */
  readonly allow?: string;
  readonly retryAfterMs?: number;
  /** Whether the connection is closed after the response. */
  readonly closes?: boolean;
}

/** A refused request: why, and what its client is told. */
export interface Refusal<Why extends string = string> extends FailureShape, RefusalDetails {
  /** Reason code, for tests and logs. */
  readonly why: Why;
}

/** Returns a refusal. */
export function refusal<Why extends string>(
  why: Why,
  shape: FailureShape,
  details?: RefusalDetails,
): Refusal<Why> {
  return { why, ...shape, ...details };
}

/** Returns what makes the refusals of a table, which has them by their reason codes. */
export function refusalsOf<Why extends string>(table: Readonly<Record<Why, FailureShape>>) {
  return <W extends Why>(why: W, details?: RefusalDetails): Refusal<W> =>
    refusal(why, table[why], details);
}

/** Rows of the tables of all APIs. */
export const COMMON_REFUSALS = {
  wrong_method: WRONG_METHOD,
  not_yet_valid: unauthorized("the bearer token is not valid yet: check the clock of the node"),
  peer_limit: tooMany("too many failed authentications from this address: wait, then try again"),
  stream_limit: tooMany("too many streams are open (--max-streams): read without watch"),
  internal: INTERNAL_ERROR,
} as const satisfies Record<string, FailureShape>;

/** Returns the refusal of what cannot be answered now. */
export function notNow(
  { reason, retryAfterMs }: { readonly reason: string; readonly retryAfterMs: number },
): Refusal<"unavailable"> {
  return refusal("unavailable", unavailable(reason), { retryAfterMs });
}

/** Returns the refusal of a body that is too long. */
export function bodyTooLarge(maxBytes: number): Refusal<"body_too_large"> {
  const message = `the body must be at most ${maxBytes} bytes, also after decompression`;
  return refusal("body_too_large", failureOf(413, "RequestEntityTooLarge")(message));
}

/** What may have fields that are wrong: a query, or a body by what it asks for. */
export type Fallible = "push" | "query" | "stop" | "restart" | "stream";

/** Returns the refusal of a query or a body with fields that are wrong. */
export function invalid<Subject extends Fallible>(
  subject: Subject,
  causes: readonly FailureCause[],
): Refusal<`invalid_${Subject}`> {
  const what = causes.map(({ field, message }) => `${field || "body"}: ${message}`);
  const message = `the ${subject} is invalid: ${what.join("; ")}`;
  return refusal(`invalid_${subject}`, failureOf(422, "Invalid")(message), { causes });
}

/** Returns the response to a refused request, with the headers that belong to its code. */
export function refusalResponse(
  refused: Refusal,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  const { causes, allow, retryAfterMs, closes } = refused;
  return failureResponse(refused, {
    causes,
    headers: {
      ...headers,
      ...(refused.code === 401 && { "WWW-Authenticate": "Bearer" }),
      ...(allow !== undefined && { "Allow": allow }),
      ...(retryAfterMs !== undefined && retryAfter(retryAfterMs)),
      ...(closes && { "Connection": "close" }),
    },
  });
}
