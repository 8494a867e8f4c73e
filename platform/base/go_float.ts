/** Numbers as Go's strconv.ParseFloat reads them, in decimal: what Katib's programs take for a number. */

/** A number that was read. */
export interface GoFloat {
  /** NaN and infinity included; what is too large is infinite. */
  readonly value: number;
  /** Whether Go takes it without an error: of `1e400` it says that it is out of range. */
  readonly isInRange: boolean;
}

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
 * case. Undefined for anything else, and for hexadecimal numbers, which Milepost does not take.
 */
export function readGoFloat(text: string): GoFloat | undefined {
  if (NAMED.test(text)) return { value: namedValue(text), isInRange: true };
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text.replaceAll("_", ""));
  return { value, isInRange: Number.isFinite(value) };
}
