/** Causes in the details of a Status: errors of fields in Kubernetes' words (apimachinery, `util/validation/field`). */

/** A problem of one field, as in `details.causes` of a `metav1.Status`. */
export interface StatusCause {
  /** Path of the field, such as `spec.containers[0].name`; empty for the object itself. */
  readonly field: string;
  /** Reason, such as `FieldValueRequired`. */
  readonly reason: string;
  /** Message without the field: `Required value`. */
  readonly message: string;
}

/** Beginning of the message of each reason. */
const PREFIXES = {
  FieldValueRequired: "Required value",
  FieldValueInvalid: "Invalid value",
  FieldValueTypeInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueNotFound: "Not found",
} as const;

/** Reason of a cause. */
export type CauseReason = keyof typeof PREFIXES;

/** Returns the cause of a reason; `details` follow the beginning of its message, after colons. */
export function statusCause(
  reason: CauseReason,
  field: string,
  ...details: readonly string[]
): StatusCause {
  return { field, reason, message: [PREFIXES[reason], ...details].join(": ") };
}

/** Returns field and message: `spec.x: Required value`. */
export function causeText(cause: StatusCause): string {
  return cause.field === "" ? cause.message : `${cause.field}: ${cause.message}`;
}

/** Returns all causes on one line, in brackets if there are several. */
export function causesText(causes: readonly StatusCause[]): string {
  const texts = causes.map(causeText);
  return texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
}

/** Formats a value as Kubernetes does in a field error, cut to a bounded length. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length > 512 ? `${text.slice(0, 512)}…` : text;
}

/** `Required value`, or `Required value: detail`. */
export function required(field: string, detail = ""): StatusCause {
  return statusCause("FieldValueRequired", field, ...(detail === "" ? [] : [detail]));
}

/** `Invalid value: …: detail`. */
export function invalid(field: string, value: unknown, detail: string): StatusCause {
  return statusCause("FieldValueInvalid", field, shown(value), detail);
}

/** `Invalid value: …: detail`, for a value of the wrong JSON type. */
export function wrongType(field: string, value: unknown, detail: string): StatusCause {
  return statusCause("FieldValueTypeInvalid", field, shown(value), detail);
}

/** `Unsupported value: "x": supported values: "A", "B"`. */
export function unsupported(
  field: string,
  value: unknown,
  supported: readonly unknown[],
): StatusCause {
  const known = supported.map(shown).join(", ");
  return statusCause("FieldValueNotSupported", field, shown(value), `supported values: ${known}`);
}

/** `Duplicate value: "x"`. */
export function duplicate(field: string, value: unknown): StatusCause {
  return statusCause("FieldValueDuplicate", field, shown(value));
}

/** `Forbidden: detail`. */
export function forbidden(field: string, detail: string): StatusCause {
  return statusCause("FieldValueForbidden", field, detail);
}

/** `Too long: may not be more than N bytes`. */
export function tooLong(field: string, bytes: number): StatusCause {
  return statusCause("FieldValueTooLong", field, `may not be more than ${bytes} bytes`);
}

/** `Too many: N: must have at most M items`. */
export function tooMany(field: string, actual: number, most: number): StatusCause {
  return statusCause("FieldValueTooMany", field, `${actual}`, `must have at most ${most} items`);
}

/** `Not found: "x"`. */
export function notFound(field: string, value: unknown): StatusCause {
  return statusCause("FieldValueNotFound", field, shown(value));
}

/** Returns the path of a key: `spec` and `x` give `spec.x`; unusual keys are put in brackets. */
export function under(path: string, key: string | number): string {
  if (typeof key === "number" || !/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
}
