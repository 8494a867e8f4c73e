/** Sums of resource quantities, written as Kubernetes writes them. Pure. */
import { compareQuantities, divideQuantities, parseQuantity, type Quantity } from "./quantity.ts";

/** Quantities by the name of the resource, as a container has them. */
export type ResourceList = Readonly<Record<string, string>>;

/** Notation of a quantity, which sums keep (apimachinery: pkg/api/resource/quantity.go). */
type Notation = "decimal" | "binary" | "exponent";

interface Amount extends Quantity {
  readonly notation: Notation;
}

const NANO: Quantity = { numerator: 1n, denominator: 1_000_000_000n };
const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"] as const;
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
/** Amounts below this are never written with a binary suffix. */
const BINARY_MIN = 1024n;

function notationOf(text: string): Notation {
  if (text.endsWith("i")) return "binary";
  return /[eE][+-]?\d+$/.test(text) ? "exponent" : "decimal";
}

/** Reads a quantity; what is none counts as zero, since the API server refuses the pod itself. */
function amountOf(text: string): Amount {
  const trimmed = String(text).trim();
  const { numerator, denominator } = parseQuantity(trimmed) ?? { numerator: 0n, denominator: 1n };
  return { numerator, denominator, notation: notationOf(trimmed) };
}

function plus(one: Amount | undefined, other: Amount): Amount {
  if (one === undefined || one.numerator === 0n) return other;
  return {
    numerator: one.numerator * other.denominator + other.numerator * one.denominator,
    denominator: one.denominator * other.denominator,
    notation: one.notation,
  };
}

/** Divides by `base` as often as nothing is left over, at most `most` times. */
function factored(value: bigint, base: bigint, most: number): [mantissa: bigint, times: number] {
  let [mantissa, times] = [value, 0];
  while (times < most && mantissa % base === 0n) [mantissa, times] = [mantissa / base, times + 1];
  return [mantissa, times];
}

function textOf({ notation, ...quantity }: Amount): string {
  const nanos = divideQuantities(quantity, NANO);
  if (nanos === 0n) return "0";
  const whole = nanos / 1_000_000_000n;
  const isLarge = whole >= BINARY_MIN || whole <= -BINARY_MIN;
  if (notation === "binary" && isLarge && nanos % 1_000_000_000n === 0n) {
    const [mantissa, times] = factored(whole, 1024n, BINARY_SUFFIXES.length - 1);
    return `${mantissa}${BINARY_SUFFIXES[times]}`;
  }
  const [mantissa, times] = factored(nanos, 1000n, DECIMAL_SUFFIXES.length - 1);
  const exponent = 3 * times - 9;
  if (notation !== "exponent") return `${mantissa}${DECIMAL_SUFFIXES[times]}`;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

/** A changeable sum of resources. */
export class ResourceSum {
  readonly #amounts = new Map<string, Amount>();

  /** Adds all of them. */
  add(list: ResourceList | undefined): this {
    for (const [name, text] of Object.entries(list ?? {})) {
      this.#amounts.set(name, plus(this.#amounts.get(name), amountOf(text)));
    }
    return this;
  }

  /** Raises each resource to at least what the list has. */
  raise(list: ResourceList | undefined): this {
    for (const [name, text] of Object.entries(list ?? {})) {
      const [own, other] = [this.#amounts.get(name), amountOf(text)];
      if (own === undefined || compareQuantities(other, own) > 0) this.#amounts.set(name, other);
    }
    return this;
  }

  /** Multiplies all of them. */
  times(factor: number): this {
    for (const [name, amount] of this.#amounts) {
      this.#amounts.set(name, { ...amount, numerator: amount.numerator * BigInt(factor) });
    }
    return this;
  }

  /** Returns the resources in the canonical form of Kubernetes: the largest suffix without a fraction. */
  toList(): Record<string, string> {
    return Object.fromEntries([...this.#amounts].map(([name, it]) => [name, textOf(it)]));
  }
}
