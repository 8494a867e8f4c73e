/** Numbers as Go's strconv.ParseFloat reads them, in decimal: what Katib's programs take for a number. */

const NAMED = /^(?:nan|[+-]?inf(?:inity)?)$/i;
// An underscore may stand between two digits.
const DIGITS = String.raw`\d+(?:_\d+)*`;
const DECIMAL = new RegExp(
  `^[+-]?(?:${DIGITS}\\.?|${DIGITS}\\.${DIGITS}|\\.${DIGITS})(?:[eE][+-]?${DIGITS})?$`,
);

function namedValue(text: string): number {
  if (/nan/i.test(text)) return NaN;
  return text.startsWith("-") ? -Infinity : Infinity;
}

/**
 * The number that a text is to Go: decimal, with an exponent or not, or `NaN`, `Inf`, `Infinity` in any
 * case. What is too large is infinite, and `isInRange` is false: Go says of `1e400` that it is out of range. Undefined for
 * anything else, and for hexadecimal numbers, which Milepost does not take.
 */
export function readGoFloat(text: string) {
  if (NAMED.test(text)) return { value: namedValue(text), isInRange: true };
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text.replaceAll("_", ""));
  return { value, isInRange: Number.isFinite(value) };
}

/** Returns the number that a text is to Go; NaN if it is none. */
export const goNumber = (text: string): number => readGoFloat(text)?.value ?? NaN;
