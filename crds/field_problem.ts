/** Validation error of one field of an object, in Kubernetes' words. */

/** Why a field is refused. */
export type FieldProblemType = "Invalid" | "Forbidden" | "Required" | "Unsupported";

/** A problem with one field of an object. */
export interface FieldProblem {
  /** Path of the field, such as `spec.runtimeRef`; empty for the object as a whole. */
  readonly field: string;
  /** What is wrong and what to change. */
  readonly message: string;
  /** Default `Invalid`. */
  readonly type?: FieldProblemType;
  /** The value that was refused; shown for `Invalid` and `Unsupported`. */
  readonly value?: unknown;
}

/** Longest rendering of a refused value in a message, in characters. */
const SHOWN_VALUE_MAX = 200;

const PREFIXES: Readonly<Record<FieldProblemType, string>> = {
  Invalid: "Invalid value",
  Forbidden: "Forbidden",
  Required: "Required value",
  Unsupported: "Unsupported value",
};

const CAUSE_REASONS: Readonly<Record<FieldProblemType, string>> = {
  Invalid: "FieldValueInvalid",
  Forbidden: "FieldValueForbidden",
  Required: "FieldValueRequired",
  Unsupported: "FieldValueNotSupported",
};

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length > SHOWN_VALUE_MAX ? `${text.slice(0, SHOWN_VALUE_MAX)}…` : text;
}

/** A value that breaks a rule of its field. */
export function invalid(field: string, value: unknown, message: string): FieldProblem {
  return { type: "Invalid", field, value, message };
}

/** A field that may not be set, or not be changed, here. */
export function forbidden(field: string, message: string): FieldProblem {
  return { type: "Forbidden", field, message };
}

/** Reason of the problem in `details.causes` of a `metav1.Status`. */
export function causeReason({ type = "Invalid" }: FieldProblem): string {
  return CAUSE_REASONS[type];
}

/** The problem without its path: `Invalid value: "x": must be y`. */
export function problemText({ type = "Invalid", value, message }: FieldProblem): string {
  const showsValue = type === "Invalid" || type === "Unsupported";
  return `${PREFIXES[type]}${
    showsValue && value !== undefined ? `: ${shown(value)}` : ""
  }: ${message}`;
}

/** All problems on one line, each with its path and value; in brackets if there are several. */
export function problemsMessage(problems: readonly FieldProblem[]): string {
  const texts = problems.map((problem) => `${problem.field}: ${problemText(problem)}`);
  return texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
}

/** All problems on one line, each with its path, without values: for conditions. */
export function problemsSummary(problems: readonly FieldProblem[]): string {
  return problems.map(({ field, message }) => `${field}: ${message}`).join("; ");
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
