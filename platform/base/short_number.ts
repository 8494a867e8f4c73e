/** Numbers as short texts: five significant digits, unless more are asked for. */

import { readGoFloat } from "./go_float.ts";

/** Returns a short text of a number; its exponent is written where it is beyond 1e-4 or 1e7. */
export function shortNumber(value: number, digits = 5): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    return value.toExponential(digits - 2).replace("e+", "e").replace(/\.?0*e/, "e");
  }
  return String(Number(value.toPrecision(digits)));
}

/** Characters of a value that is no number. */
const LONGEST_VALUE = 32;

/** Returns the text of a value that was pushed: that of a number, also NaN and infinity, or that of the beginning of anything else. */
export const shortValue = (
  value: string,
  number: (value: number) => string,
  other: (text: string) => string,
): string => {
  const read = readGoFloat(value);
  return read === undefined ? other(value.slice(0, LONGEST_VALUE)) : number(read.value);
};
