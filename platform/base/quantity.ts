/** Kubernetes quantities such as `500m`, `2Gi` and `1e3`: exact, without floating point. */

/** A quantity as a fraction of two whole numbers; the denominator is above zero. */
export interface Quantity {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Factor of a suffix, as base and exponent. */
const SUFFIXES: Readonly<Record<string, readonly [base: bigint, exponent: number]>> = {
  "": [10n, 0],
  n: [10n, -9],
  u: [10n, -6],
  m: [10n, -3],
  k: [10n, 3],
  M: [10n, 6],
  G: [10n, 9],
  T: [10n, 12],
  P: [10n, 15],
  E: [10n, 18],
  Ki: [2n, 10],
  Mi: [2n, 20],
  Gi: [2n, 30],
  Ti: [2n, 40],
  Pi: [2n, 50],
  Ei: [2n, 60],
};

/** Largest exponent that is computed with; Kubernetes' quantities end at 2^63. */
const EXPONENT_MAX = 300;

const SHAPE = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$/;

/** Says whether a text is a quantity. */
export function isQuantity(text: string): boolean {
  return SHAPE.test(text);
}

function scale(quantity: Quantity, base: bigint, exponent: number): Quantity {
  const factor = base ** BigInt(Math.abs(exponent));
  return exponent < 0
    ? { ...quantity, denominator: quantity.denominator * factor }
    : { ...quantity, numerator: quantity.numerator * factor };
}

/** Reads a quantity. Undefined if the text is no quantity, or its exponent is beyond 300. */
export function parseQuantity(text: string): Quantity | undefined {
  const match = SHAPE.exec(text);
  if (!match) return undefined;
  const [, sign, whole = "", part = "", suffix = "", exponent] = match;
  const digits = BigInt(whole + part);
  const plain = scale(
    { numerator: sign === "-" ? -digits : digits, denominator: 1n },
    10n,
    -part.length,
  );
  if (exponent !== undefined) {
    const power = Number(exponent);
    return Math.abs(power) > EXPONENT_MAX ? undefined : scale(plain, 10n, power);
  }
  const unit = SUFFIXES[suffix];
  return unit && scale(plain, unit[0], unit[1]);
}

/** Compares two quantities: below, at or above zero, as comparators return it. */
export function compareQuantities(one: Quantity, other: Quantity): -1 | 0 | 1 {
  const difference = one.numerator * other.denominator - other.numerator * one.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** How many times the divisor goes into the quantity, rounded up. The divisor is not zero. */
export function divideQuantities({ numerator, denominator }: Quantity, by: Quantity): bigint {
  const sign = by.numerator < 0n ? -1n : 1n;
  const [dividend, divisor] = [
    sign * numerator * by.denominator,
    sign * denominator * by.numerator,
  ];
  const quotient = dividend / divisor;
  return dividend > quotient * divisor ? quotient + 1n : quotient;
}

const ONE: Quantity = { numerator: 1n, denominator: 1n };

/**
 * The smallest whole number that is not below the quantity: `2500m` gives 3. Undefined if the text
 * is no quantity, or the number is beyond JavaScript's safe integers.
 */
export function roundUp(quantity: string | number | undefined): number | undefined {
  if (quantity === undefined) return undefined;
  const parsed = parseQuantity(String(quantity).trim());
  if (!parsed) return undefined;
  const value = Number(divideQuantities(parsed, ONE));
  return Number.isSafeInteger(value) ? value : undefined;
}
