/** Errors of calls to an API server. */
import { isObject } from "../base/json.ts";

/** Fields of a refusal besides its message. */
export interface KubeErrorFields {
  /** HTTP status. */
  readonly code: number;
  /** `reason` of the `Status` object, `Unknown` if the response had none. */
  readonly reason: string;
  /** Time after which the server asks to be called again, in milliseconds; at most a minute. */
  readonly retryAfterMs?: number;
  /** `details` of the `Status` object. */
  readonly details?: unknown;
  /** The header `Warning` of the answer. */
  readonly warning?: string;
  readonly cause?: unknown;
}

/** The API server refused a call. */
export class KubeError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly retryAfterMs?: number;
  readonly details?: unknown;
  readonly warning?: string;

  constructor(message: string, fields: KubeErrorFields) {
    super(message, { cause: fields.cause });
    this.name = "KubeError";
    this.code = fields.code;
    this.reason = fields.reason;
    this.retryAfterMs = fields.retryAfterMs;
    this.details = fields.details;
    this.warning = fields.warning;
  }
}

/** A call got no response: connection refused or broken, TLS refused, deadline passed. */
export class TransportError extends Error {
  override name = "TransportError";
}

/** A response is longer than the caller reads. */
export class TooLargeError extends Error {
  override name = "TooLargeError";
}

/** The user's configuration cannot work. The message is one line that says what to change. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message.replace(/\s*\n\s*/g, " "), options);
    this.name = "ConfigurationError";
  }
}

function hasCode(error: unknown, code: number): error is KubeError {
  return error instanceof KubeError && error.code === code;
}

/** The object, or the whole resource, does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasCode(error, 404);
}

/** The API server does not serve the kind at all: its 404 names no object. */
export function isNotServed(error: unknown): boolean {
  return hasCode(error, 404) &&
    !(isObject(error.details) && typeof error.details.name === "string" &&
      error.details.name !== "");
}

/** The object changed since it was read (409 with reason `Conflict`). */
export function isConflict(error: unknown): boolean {
  return hasCode(error, 409) && error.reason === "Conflict";
}

/** An object of that name exists (409 with reason `AlreadyExists`). */
export function isAlreadyExists(error: unknown): boolean {
  return hasCode(error, 409) && error.reason === "AlreadyExists";
}

/** The objects that a write was made from are outdated: reading them again may help. */
export function isStale(error: unknown): boolean {
  return isConflict(error) || isAlreadyExists(error) ||
    (isNotFound(error) && !isNotServed(error));
}

/** The resource version, or the continue token, is too old (410, or reason `Expired` or `Gone`). */
export function isGone(error: unknown): boolean {
  return error instanceof KubeError &&
    (error.code === 410 || error.reason === "Expired" || error.reason === "Gone");
}

/** The object breaks the rules of its kind (422). */
export function isInvalid(error: unknown): boolean {
  return hasCode(error, 422);
}

/** The caller has no permission for this (403). */
export function isForbidden(error: unknown): boolean {
  return hasCode(error, 403);
}

/** The object does not exist, or the caller may not know whether it does. */
export const isAbsentOrForbidden = (error: unknown): boolean =>
  isNotFound(error) || isForbidden(error);

/** For the `catch` of a promise: gives undefined for such errors, and throws others. */
export const ignoring = (isSuch: (error: unknown) => boolean) => (error: unknown): undefined => {
  if (!isSuch(error)) throw error;
};

/** The call may succeed later as it is: there was no response, or the API server failed or has too much to do. */
export function isTransient(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  return error instanceof KubeError && (error.code >= 500 || error.code === 429);
}

/** The API server's words if RBAC refuses a request; an admission's refusal reads differently. */
const RBAC_REFUSAL = /^\S+( "[^"]*")? is forbidden: User "[^"]*" cannot \w+ resource /;

/** The caller lacks the right, by RBAC and not by an admission's decision about this object. */
export function lacksRight(error: unknown): error is KubeError {
  return hasCode(error, 403) && RBAC_REFUSAL.test(error.message);
}

/** The message of anything thrown, on one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, " ");
}

/** The stack of anything thrown, and those of its causes. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by ${stackOf(error.cause)}`;
}
