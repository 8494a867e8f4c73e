/** Validation error of one field of an object, in Kubernetes' words. */
import { type CauseReason, shown, type StatusCause, statusCause } from "./status_cause.ts";

/** A problem with one field of an object. */
export interface FieldProblem {
  /** Path of the field, such as `spec.runtimeRef`; empty for the object as a whole. */
  readonly field: string;
  /** The problem, and what to change. */
  readonly message: string;
  /** Default: that of an invalid value. */
  readonly reason?: CauseReason;
  /** The value that was refused; shown if it is invalid, or not supported. */
  readonly value?: unknown;
}

/** A step into an object, as JSON paths write it. */
function step(part: PropertyKey): string {
  if (typeof part === "number") return `[${part}]`;
  const name = String(part);
  return /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Returns the path of a field from the steps to it, as problems name it. */
export function fieldPath(steps: readonly PropertyKey[]): string {
  return steps.map(step).join("").replace(/^\./, "");
}

/** A field that has to be there. */
export function required(field: string, message: string): FieldProblem {
  return { reason: "FieldValueRequired", field, message };
}

/** A value that is none of those that its field may have. */
export function unsupported(
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldProblem {
  const message = `supported values: ${supported.map(shown).join(", ")}`;
  return { reason: "FieldValueNotSupported", field, value, message };
}

/** A value that breaks a rule of its field. */
export function invalid(field: string, value: unknown, message: string): FieldProblem {
  return { reason: "FieldValueInvalid", field, value, message };
}

/** A field that may not be set, or not be changed, here. */
export function forbidden(field: string, message: string): FieldProblem {
  return { reason: "FieldValueForbidden", field, message };
}

/** Returns the problem as an entry of the details of a Status: `Invalid value: "x": must be y`. */
export function causeOf(
  { reason = "FieldValueInvalid", field, value, message }: FieldProblem,
): StatusCause {
  const shows = reason === "FieldValueInvalid" || reason === "FieldValueNotSupported";
  const refused = shows && value !== undefined ? [shown(value)] : [];
  return statusCause(reason, field, ...refused, message);
}

/** All problems on one line, each with its path, if it has one, without values: for conditions and events. */
export function problemsSummary(problems: readonly FieldProblem[]): string {
  return problems.map(({ field, message }) => field === "" ? message : `${field}: ${message}`)
    .join("; ");
}

/** The value at a path such as `spec.trainer.args[1]`; undefined if there is none. */
export function valueAt(object: unknown, path: string): unknown {
  const steps = path.match(/[^.[\]"]+/g) ?? [];
  return steps.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, step)
        ? Reflect.get(value, step)
        : undefined,
    object,
  );
}
