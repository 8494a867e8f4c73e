/** Errors of the API server, which become a `metav1.Status` with a code, a reason and a message. */
import { causesText, type StatusCause } from "../../../crds/status_cause.ts";

/** `details` of a `metav1.Status`. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly causes?: readonly Partial<StatusCause>[];
}

/** The resource that an error is about. */
export interface ErrorSubject {
  readonly group: string;
  /** Plural name, such as `pods`. */
  readonly resource: string;
}

/** An error that is sent to the client as it is. */
export class StatusError extends Error {
  /**
   * @param code HTTP status code.
   * @param reason Machine-readable reason, such as `NotFound`.
   * @param message What is wrong and what to change.
   */
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details: StatusDetails = {},
  ) {
    super(message);
    this.name = "StatusError";
  }

  /** The `metav1.Status` object. */
  toStatus(): Record<string, unknown> {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(Object.keys(this.details).length > 0 && { details: this.details }),
      code: this.code,
    };
  }
}

/** Returns the qualified resource, such as `pods` or `jobs.batch`. */
export function qualifiedResource({ group, resource }: ErrorSubject): string {
  return group === "" ? resource : `${resource}.${group}`;
}

function about(subject: ErrorSubject, name: string): StatusDetails {
  const { group, resource: kind } = subject;
  return { ...(name && { name }), ...(group && { group }), kind };
}

/** 404: the object does not exist. */
export function notFound(subject: ErrorSubject, name: string): StatusError {
  const message = `${qualifiedResource(subject)} "${name}" not found`;
  return new StatusError(404, "NotFound", message, about(subject, name));
}

/** 404: the path does not exist. */
export function noSuchPath(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource");
}

/** 409: the name is taken. */
export function alreadyExists(subject: ErrorSubject, name: string): StatusError {
  const message = `${qualifiedResource(subject)} "${name}" already exists`;
  return new StatusError(409, "AlreadyExists", message, about(subject, name));
}

/** Message of a conflict with another write. */
export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 409: a precondition does not hold. */
export function conflict(subject: ErrorSubject, name: string, cause: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(subject)} "${name}": ` +
    cause;
  return new StatusError(409, "Conflict", message, about(subject, name));
}

/** 422: fields are invalid; each cause names one. */
export function invalid(
  kind: { group: string; kind: string },
  name: string,
  causes: readonly StatusCause[],
): StatusError {
  const title = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError(422, "Invalid", `${title} "${name}" is invalid: ${causesText(causes)}`, {
    name,
    ...(kind.group && { group: kind.group }),
    kind: kind.kind,
    causes,
  });
}

/** 422: a parameter of the request is invalid; `kind` is `ListOptions` or another kind of options. */
export function invalidOptions(kind: string, field: string, detail: string): StatusError {
  const cause = { field, reason: "FieldValueInvalid", message: detail };
  return invalid({ group: "meta.k8s.io", kind }, "", [cause]);
}

/** 400: the request is malformed. */
export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

/** 401: the request is not authenticated. */
export function unauthorized(): StatusError {
  return new StatusError(401, "Unauthorized", "Unauthorized");
}

/** 403: the request is not allowed. */
export function forbidden(
  subject: ErrorSubject,
  name: string,
  cause: string,
  details: StatusDetails = {},
): StatusError {
  const object = name === "" ? "" : ` "${name}"`;
  const message = `${qualifiedResource(subject)}${object} is forbidden: ${cause}`;
  return new StatusError(403, "Forbidden", message, { ...about(subject, name), ...details });
}

/** 405: the resource does not support this verb. */
export function methodNotAllowed(): StatusError {
  return new StatusError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
  );
}

/** 406: the server supports none of the media types that the client accepts. */
export function notAcceptable(accepted: string): StatusError {
  const message = `only the following media types are accepted: ${accepted}`;
  return new StatusError(406, "NotAcceptable", message);
}

/** 410: the history does not reach back to the resource version. */
export function expired(message: string): StatusError {
  return new StatusError(410, "Expired", message);
}

/** 413: the body is larger than the limit. */
export function tooLarge(limitBytes: number): StatusError {
  const message = `Request entity too large: limit is ${limitBytes}`;
  return new StatusError(413, "RequestEntityTooLarge", message);
}

/** 500: the request could not be served. */
export function internalError(message: string, details?: StatusDetails): StatusError {
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`, details);
}

/** Returns a handler that lets errors of these codes pass and throws all others. */
export function ignoring(...codes: readonly number[]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof StatusError && codes.includes(error.code))) throw error;
  };
}

/** 415: the server does not support the body's media type. */
export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, "UnsupportedMediaType", message);
}
