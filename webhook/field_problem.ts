/** What is wrong with one field, and how Kubernetes words it. */

/** Why a field is refused, in Kubernetes' words. */
export type FieldProblemType = "Invalid" | "Forbidden" | "Required" | "Unsupported";

/** A refusal of one field of an object. */
export interface FieldProblem {
  readonly type: FieldProblemType;
  /** Path of the field, such as `spec.runtimeRef`. */
  readonly field: string;
  /** What is wrong and what to change. */
  readonly detail: string;
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

/** Reasons of `details.causes` in a `metav1.Status`. */
export const CAUSE_REASONS: Readonly<Record<FieldProblemType, string>> = {
  Invalid: "FieldValueInvalid",
  Forbidden: "FieldValueForbidden",
  Required: "FieldValueRequired",
  Unsupported: "FieldValueNotSupported",
};

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length > SHOWN_VALUE_MAX ? `${text.slice(0, SHOWN_VALUE_MAX)}…` : text;
}

/** The problem without its path: `Invalid value: "x": must be y`. */
export function problemText(problem: FieldProblem): string {
  const showsValue = problem.type === "Invalid" || problem.type === "Unsupported";
  const value = showsValue && problem.value !== undefined ? `: ${shown(problem.value)}` : "";
  return `${PREFIXES[problem.type]}${value}: ${problem.detail}`;
}

/** All problems on one line, each with its path; in brackets where there are several. */
export function problemsMessage(problems: readonly FieldProblem[]): string {
  const texts = problems.map((problem) => `${problem.field}: ${problemText(problem)}`);
  return texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
}

/** The value at a path such as `spec.trainer.args[1]`; undefined where there is none. */
export function valueAt(object: unknown, path: string): unknown {
  const steps = path.match(/[^.[\]]+/g) ?? [];
  return steps.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, step)
        ? Reflect.get(value, step)
        : undefined,
    object,
  );
}

/** A value that breaks a rule of its field. */
export function invalid(field: string, value: unknown, detail: string): FieldProblem {
  return { type: "Invalid", field, value, detail };
}

/** A field that may not be set, or not be changed, here. */
export function forbidden(field: string, detail: string): FieldProblem {
  return { type: "Forbidden", field, detail };
}
