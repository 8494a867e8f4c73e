/** Search space of a parameter: its kind, its exact bounds, and the value at a point of the unit interval. Pure. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import type { SearchSpace } from "../../crds/optimization_job.ts";

/** A range of numbers. */
interface RangeSpace {
  readonly kind: "uniform" | "logUniform";
  readonly isInt: boolean;
  readonly min: number;
  readonly max: number;
}

/** A search space as it was read. */
export type Space =
  | RangeSpace
  | { readonly kind: "categorical"; readonly choices: readonly string[] };

/** A space, or everything that is wrong with it. */
export type ReadSpace =
  | { readonly ok: true; readonly space: Space }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns whether a decimal number is whole: by its digits, since the nearest double may be whole where it is not. */
function isWhole(text: string): boolean {
  const [, whole = "", fraction = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  const digits = `${whole}${fraction}`;
  const significant = digits.replace(/0+$/, "");
  const zeros = digits.length - significant.length;
  return significant === "" || Number(exponent) - fraction.length + zeros >= 0;
}

/** Returns what is wrong with one bound of a range. */
function boundProblem(text: string, isInt: boolean): string | undefined {
  if (!DECIMAL.test(text)) return "must be a decimal number";
  const value = Number(text);
  if (!isInt) return Number.isFinite(value) ? undefined : "must be a number that a double holds";
  if (!isWhole(text)) return "must be a whole number, since the type is Int";
  return Number.isSafeInteger(value)
    ? undefined
    : `must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, since the type is Int`;
}

/** Returns what is wrong with the bounds of a range together. */
function orderProblem({ kind, isInt, min, max }: RangeSpace): string | undefined {
  if (kind === "logUniform" && !(min > 0)) return "min must be strictly greater than 0";
  if (!(min < max)) return "min must be strictly less than max";
  const isReachable = isInt ? Number.isSafeInteger(max - min) : Number.isFinite(max - min);
  return isReachable ? undefined : "max is too far above min: bring the two nearer to each other";
}

type Range = NonNullable<SearchSpace["uniform"]>;

function readRange(kind: "uniform" | "logUniform", range: Range, field: string): ReadSpace {
  const isInt = range.type === "Int";
  const bounds = (["min", "max"] as const).flatMap((bound) => {
    const message = boundProblem(range[bound], isInt);
    return message === undefined ? [] : [invalid(`${field}.${bound}`, range[bound], message)];
  });
  if (bounds.length > 0) return { ok: false, problems: bounds };
  const space = { kind, isInt, min: Number(range.min), max: Number(range.max) };
  const message = orderProblem(space);
  if (message === undefined) return { ok: true, space };
  return { ok: false, problems: [{ field, message }] };
}

/** Reads the space at a field. */
export function readSpace(
  { uniform, logUniform, categorical }: SearchSpace,
  field: string,
): ReadSpace {
  if (uniform !== undefined) return readRange("uniform", uniform, `${field}.uniform`);
  if (logUniform !== undefined) return readRange("logUniform", logUniform, `${field}.logUniform`);
  const choices = categorical?.choices ?? [];
  if (choices.length === 0) {
    const message = "must have uniform, logUniform, or a categorical with choices";
    return { ok: false, problems: [{ field, message }] };
  }
  // `status.result` could not name it.
  const problems = choices.flatMap((choice, index) =>
    choice === ""
      ? [invalid(`${field}.categorical.choices[${index}]`, choice, "must not be empty")]
      : []
  );
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, space: { kind: "categorical", choices } };
}

const FLOAT = new Float64Array(1);
const BITS = new BigInt64Array(FLOAT.buffer);

/** Returns the largest double below a number. */
function below(value: number): number {
  if (value === 0) return -Number.MIN_VALUE;
  FLOAT[0] = value;
  BITS[0] = (BITS[0] ?? 0n) + (value > 0 ? -1n : 1n);
  return FLOAT[0];
}

function numberAt({ kind, isInt, min, max }: RangeSpace, u: number): number {
  const isLog = kind === "logUniform";
  if (isInt && !isLog) return min + Math.floor(u * (max - min + 1));
  const [low, high] = isInt ? [min - 0.5, max + 0.5] : [min, max];
  const value = isLog
    ? Math.exp(Math.log(low) + u * (Math.log(high) - Math.log(low)))
    : low + u * (high - low);
  if (isInt) return Math.min(max, Math.max(min, Math.round(value)));
  return Math.max(min, value < max ? value : below(max));
}

/**
 * Returns the value at `u`, from 0 and below 1, as trials get it: a choice, or the shortest decimal number that reads back
 * as the same double. That has an exponent below 1e-6 and from 1e21 on, such as `1e-7`, and never otherwise.
 */
export function valueAtPoint(space: Space, u: number): string {
  if (space.kind !== "categorical") return String(numberAt(space, u));
  return space.choices[Math.floor(u * space.choices.length)] ?? "";
}

/** Longest text of a double. */
const NUMBER_LENGTH = "-2.2250738585072014e-308".length;

/** Returns the bytes of a value as JSON. */
export const jsonBytes = (value: unknown): number =>
  new TextEncoder().encode(JSON.stringify(value)).length;

/** Returns the most bytes that a value takes as JSON. */
export function longestValue(space: Space): number {
  if (space.kind !== "categorical") return NUMBER_LENGTH + 2;
  return Math.max(...space.choices.map(jsonBytes));
}
