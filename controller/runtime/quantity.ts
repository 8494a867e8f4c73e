/** Quantities of resources, as `resources.requests` has them: exact, without floating point. */

/** What a suffix multiplies by, as base and exponent. */
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

/** Longest exponent that is read; Kubernetes' quantities end at 2^63. */
const EXPONENT_MAX = 30;

const SHAPE = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;

/** A fraction of two whole numbers; the denominator is above zero. */
interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

function scale(fraction: Fraction, base: bigint, exponent: number): Fraction {
  const factor = base ** BigInt(Math.abs(exponent));
  return exponent < 0
    ? { ...fraction, denominator: fraction.denominator * factor }
    : { ...fraction, numerator: fraction.numerator * factor };
}

function parse(text: string): Fraction | undefined {
  const match = SHAPE.exec(text);
  if (!match) return undefined;
  const [, sign, whole = "", part = "", suffix = "", exponent] = match;
  if (whole === "" && part === "") return undefined;
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

/**
 * The smallest whole number that is not below the quantity: `2500m` gives 3. Undefined where the
 * text is no quantity, or the number is beyond JavaScript's safe integers.
 */
export function roundUp(quantity: string | number | undefined): number | undefined {
  if (quantity === undefined) return undefined;
  const fraction = parse(String(quantity).trim());
  if (!fraction) return undefined;
  const { numerator, denominator } = fraction;
  const floor = numerator / denominator;
  const ceiling = numerator > floor * denominator ? floor + 1n : floor;
  const value = Number(ceiling);
  return Number.isSafeInteger(value) ? value : undefined;
}
