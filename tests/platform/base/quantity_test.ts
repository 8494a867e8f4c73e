/** Tests of `platform/base/quantity.ts`. */
import { equal } from "node:assert/strict";
import {
  compareQuantities,
  divideQuantities,
  isQuantity,
  parseQuantity,
  roundUp,
} from "../../../platform/base/quantity.ts";

const CASES: Record<string, { text: string | number | undefined; want: number | undefined }> = {
  "keeps a whole number": { text: "4", want: 4 },
  "reads a number that is not text": { text: 4, want: 4 },
  "rounds thousandths up": { text: "2500m", want: 3 },
  "does not round what is whole": { text: "2000m", want: 2 },
  "rounds a fraction up": { text: "0.1", want: 1 },
  "reads a fraction without whole part": { text: ".5", want: 1 },
  "reads a point without fraction": { text: "2.", want: 2 },
  "rounds the smallest unit up": { text: "1n", want: 1 },
  "reads micro": { text: "1000001u", want: 2 },
  "keeps zero": { text: "0", want: 0 },
  "rounds a negative number towards zero": { text: "-1500m", want: -1 },
  "takes a plus": { text: "+3", want: 3 },
  "reads decimal suffixes": { text: "2k", want: 2000 },
  "reads binary suffixes": { text: "1.5Ki", want: 1536 },
  "reads exponents": { text: "15e-1", want: 2 },
  "is exact when floating point is not": { text: "9007199254740991", want: 9007199254740991 },
  "refuses what is beyond safe integers": { text: "9E", want: undefined },
  "refuses huge exponents": { text: "1e999", want: undefined },
  "refuses text": { text: "many", want: undefined },
  "refuses an empty text": { text: "", want: undefined },
  "refuses an unknown suffix": { text: "1Q", want: undefined },
  "has nothing for nothing": { text: undefined, want: undefined },
};

for (const [sentence, { text, want }] of Object.entries(CASES)) {
  Deno.test(`roundUp() ${sentence}`, () => equal(roundUp(text), want));
}

const SHAPES: Record<string, boolean> = {
  "500m": true,
  "2Gi": true,
  "1e3": true,
  "1E-3": true,
  "1e999": true,
  "+.5": true,
  "2.": true,
  "": false,
  ".": false,
  "1 core": false,
  "2 GB": false,
  "1ki": false,
  "1e": false,
};
for (const [text, want] of Object.entries(SHAPES)) {
  Deno.test(`isQuantity() of "${text}" is ${want}`, () => equal(isQuantity(text), want));
}

function quantity(text: string) {
  const parsed = parseQuantity(text);
  if (!parsed) throw new Error(`${text} is no quantity`);
  return parsed;
}

const ORDERS: [string, string, number][] = [
  ["1Gi", "1Mi", 1],
  ["1000m", "1", 0],
  ["0.1", "100m", 0],
  ["-1", "1n", -1],
  ["9007199254740993", "9007199254740992", 1],
  ["1e40", "1", 1],
];
for (const [one, other, want] of ORDERS) {
  Deno.test(`compareQuantities() of ${one} and ${other} is ${want}`, () => {
    equal(compareQuantities(quantity(one), quantity(other)), want);
    equal(compareQuantities(quantity(other), quantity(one)), want === 0 ? 0 : -want);
  });
}

const QUOTIENTS: [string, string, bigint][] = [
  ["1.2", "500m", 3n],
  ["2Gi", "1Mi", 2048n],
  ["500m", "1", 1n],
  ["-1500m", "1", -1n],
  ["1500m", "-1", -1n],
  ["0", "1Ki", 0n],
];
for (const [one, by, want] of QUOTIENTS) {
  Deno.test(`divideQuantities() of ${one} by ${by} is ${want}`, () => {
    equal(divideQuantities(quantity(one), quantity(by)), want);
  });
}
