/** Kubernetes quantities as numbers, as far as resourceFieldRef and the node need them. Pure. */

const SUFFIXES: Readonly<Record<string, number>> = {
  "n": 1e-9,
  "u": 1e-6,
  "m": 1e-3,
  "": 1,
  "k": 1e3,
  "M": 1e6,
  "G": 1e9,
  "T": 1e12,
  "P": 1e15,
  "E": 1e18,
  "Ki": 2 ** 10,
  "Mi": 2 ** 20,
  "Gi": 2 ** 30,
  "Ti": 2 ** 40,
  "Pi": 2 ** 50,
  "Ei": 2 ** 60,
};

/** The value of a quantity such as `500m`, `2Gi` or `1e3`. Throws a RangeError for anything else. */
export function parseQuantity(text: string): number {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(n|u|m|k|[MGTPE]i?|Ki)?$/.exec(text);
  const factor = SUFFIXES[match?.[2] ?? ""];
  if (!match || factor === undefined) {
    throw new RangeError(`cannot read quantity "${text}": want a number with a suffix such as Mi`);
  }
  return Number(match[1]) * factor;
}

/** How many times `divisor` goes into `value`, rounded up, as resourceFieldRef shows it. */
export function divideQuantity(value: number, divisor: string | undefined): string {
  const by = divisor === undefined || divisor === "0" ? 1 : parseQuantity(divisor);
  const quotient = value / (by === 0 ? 1 : by);
  const nearest = Math.round(quotient);
  const exact = Math.abs(quotient - nearest) < 1e-6;
  return String(exact ? nearest : Math.ceil(quotient));
}
