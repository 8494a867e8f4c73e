/** Tests of numbers as short texts. */
import { equal } from "node:assert/strict";
import { shortNumber } from "../../../platform/base/short_number.ts";

Deno.test("a number has five digits, and an exponent where it is tiny or huge", () => {
  const texts: readonly (readonly [number, string])[] = [
    [0, "0"],
    [0.000123456, "0.00012346"],
    [1e-4, "0.0001"],
    [9.9999e-5, "1e-4"],
    [-1.25e-7, "-1.25e-7"],
    [9_999_900, "9999900"],
    [1e7, "1e7"],
    [12_345_678, "1.235e7"],
    [NaN, "NaN"],
    [-Infinity, "-Infinity"],
  ];
  for (const [value, text] of texts) equal(shortNumber(value), text);
});
