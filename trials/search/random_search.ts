/** Random search: values of a trial that depend on nothing but the seed, its index and the names of parameters. Pure. */
import { createHash } from "node:crypto";
import { type Space, valueAtPoint } from "./search_space.ts";

/** Bits of a double's fraction. */
const BITS = 53;

/** Returns a number from 0 and below 1, the same for the same seed, trial and parameter on every replica. */
export function unitNumber(seed: string, index: number, parameter: string): number {
  const hash = createHash("sha256").update(JSON.stringify([seed, index, parameter])).digest();
  return Number(hash.readBigUInt64BE() >> BigInt(64 - BITS)) / 2 ** BITS;
}

/** Returns the values of a trial, in the order of the parameters. */
export function randomValues(
  parameters: readonly { readonly name: string; readonly space: Space }[],
  seed: string,
  index: number,
): string[] {
  return parameters.map(({ name, space }) => valueAtPoint(space, unitNumber(seed, index, name)));
}
