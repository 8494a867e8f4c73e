/** Field errors with the reasons and texts of Kubernetes (apimachinery, `util/validation/field`). */

/** A problem of one field, as in `details.causes` of a Status. */
export interface Cause {
  /** Path of the field, such as `spec.containers[0].name`; empty for the object itself. */
  readonly field: string;
  /** Reason, such as `FieldValueRequired`. */
  readonly reason: string;
  /** Message without the field: `Required value`. */
  readonly message: string;
}

/** Returns field and message: `spec.x: Required value`. */
export function causeText(cause: Cause): string {
  return cause.field === "" ? cause.message : `${cause.field}: ${cause.message}`;
}

/** Formats a value as Kubernetes does in a field error, cut to a bounded length. */
export function shown(value: unknown): string {
  const text = value === undefined ? "null" : JSON.stringify(value);
  return text.length > 512 ? `${text.slice(0, 512)}…` : text;
}

/** `Required value`, or `Required value: detail`. */
export function required(field: string, detail = ""): Cause {
  const message = detail === "" ? "Required value" : `Required value: ${detail}`;
  return { field, reason: "FieldValueRequired", message };
}

/** `Invalid value: …: detail`. */
export function invalid(field: string, value: unknown, detail: string): Cause {
  return {
    field,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${shown(value)}: ${detail}`,
  };
}

/** `Invalid value: …: detail`, for a value of the wrong JSON type. */
export function wrongType(field: string, value: unknown, detail: string): Cause {
  return { ...invalid(field, value, detail), reason: "FieldValueTypeInvalid" };
}

/** `Unsupported value: "x": supported values: "A", "B"`. */
export function unsupported(field: string, value: unknown, supported: readonly unknown[]): Cause {
  const known = supported.map(shown).join(", ");
  return {
    field,
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${shown(value)}: supported values: ${known}`,
  };
}

/** `Duplicate value: "x"`. */
export function duplicate(field: string, value: unknown): Cause {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${shown(value)}` };
}

/** `Forbidden: detail`. */
export function forbidden(field: string, detail: string): Cause {
  return { field, reason: "FieldValueForbidden", message: `Forbidden: ${detail}` };
}

/** `Too long: may not be more than N bytes`. */
export function tooLong(field: string, bytes: number): Cause {
  return {
    field,
    reason: "FieldValueTooLong",
    message: `Too long: may not be more than ${bytes} bytes`,
  };
}

/** `Too many: N: must have at most M items`. */
export function tooMany(field: string, actual: number, most: number): Cause {
  return {
    field,
    reason: "FieldValueTooMany",
    message: `Too many: ${actual}: must have at most ${most} items`,
  };
}

/** `Not found: "x"`. */
export function notFound(field: string, value: unknown): Cause {
  return { field, reason: "FieldValueNotFound", message: `Not found: ${shown(value)}` };
}

/** Returns the path of a key: `spec` and `x` give `spec.x`; unusual keys are put in brackets. */
export function under(path: string, key: string | number): string {
  if (typeof key === "number" || !/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
}
