/** Tests of `platform/base/go_float.ts`: numbers as Go parses them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { readGoFloat } from "../../../platform/base/go_float.ts";

/**
 * What Go 1.26's strconv.ParseFloat (64 bits) made of each text: its shortest form; `range` before it
 * where it was read with a range error; `syntax` where it was no number.
 */
const facts: [string, string][] = [
  ["0", "0"],
  ["-0", "-0"],
  ["+0", "0"],
  ["1", "1"],
  ["-1", "-1"],
  ["+1", "1"],
  ["0.23", "0.23"],
  ["1e3", "1000"],
  ["1E3", "1000"],
  ["1e+3", "1000"],
  ["1e-3", "0.001"],
  ["1.", "1"],
  ["1.e2", "100"],
  [".5", "0.5"],
  ["-.5", "-0.5"],
  ["+.5", "0.5"],
  [".", "syntax"],
  ["-", "syntax"],
  ["+", "syntax"],
  ["", "syntax"],
  ["e5", "syntax"],
  ["1e", "syntax"],
  ["1e+", "syntax"],
  [".e1", "syntax"],
  ["00012", "12"],
  ["1e400", "range +Inf"],
  ["-1e400", "range -Inf"],
  ["1e-400", "0"],
  ["1.7976931348623157e308", "1.7976931348623157e+308"],
  ["1.7976931348623158e308", "1.7976931348623157e+308"],
  ["1.7976931348623159e308", "range +Inf"],
  ["1e308", "1e+308"],
  ["5e-324", "5e-324"],
  ["2e-324", "0"],
  ["2.5e-324", "5e-324"],
  ["inf", "+Inf"],
  ["Inf", "+Inf"],
  ["INF", "+Inf"],
  ["+Inf", "+Inf"],
  ["-inf", "-Inf"],
  ["infinity", "+Inf"],
  ["+Infinity", "+Inf"],
  ["-INFINITY", "-Inf"],
  ["infi", "syntax"],
  ["infinit", "syntax"],
  ["nan", "NaN"],
  ["NaN", "NaN"],
  ["NAN", "NaN"],
  ["+nan", "syntax"],
  ["-nan", "syntax"],
  ["NaN0", "syntax"],
  ["1_000", "1000"],
  ["1_0.5", "10.5"],
  ["1_23.50_0_0e+1_2", "1.235e+14"],
  ["_1", "syntax"],
  ["1_", "syntax"],
  ["1__0", "syntax"],
  ["1_.5", "syntax"],
  ["1._5", "syntax"],
  ["1e_5", "syntax"],
  ["1e5_", "syntax"],
  ["1_e5", "syntax"],
  ["0x10", "syntax"],
  ["0x1p-2", "0.25"],
  ["0X1P3", "8"],
  ["0x_1p0", "1"],
  ["-0x1p4", "-16"],
  ["0b1", "syntax"],
  ["0o7", "syntax"],
  ["0_7", "7"],
  ["0b1_0", "syntax"],
  ["0x", "syntax"],
  ["0x1", "syntax"],
  [" 1", "syntax"],
  ["1 ", "syntax"],
  ["1\n", "syntax"],
  ["1,5", "syntax"],
  ["1,000", "syntax"],
  ["1f", "syntax"],
  ["1d", "syntax"],
  ["1e5.5", "syntax"],
  ["--1", "syntax"],
  ["+-1", "syntax"],
  ["1+1", "syntax"],
  ["1%", "syntax"],
  ["unavailable", "syntax"],
  ["true", "syntax"],
  ["null", "syntax"],
  ["none", "syntax"],
  ["٣", "syntax"],
  ["1٠", "syntax"],
  ["∞", "syntax"],
  ["−1", "syntax"],
  ["1e0000000000000000005", "100000"],
  ["1e99999999999999999999", "range +Inf"],
  ["-1e99999999999999999999", "range -Inf"],
  ["0e99999999999999999999", "0"],
  ["1e-99999999999999999999", "0"],
  ["123456789012345678901234567890", "1.2345678901234568e+29"],
  ["0.1000000000000000055511151231257827", "0.1"],
  ["9007199254740993", "9.007199254740992e+15"],
  ["0x1.8p1_0", "1536"],
  ["1i", "syntax"],
  ["Infinity_", "syntax"],
  ["in_f", "syntax"],
  ["1e1e1", "syntax"],
  ["0.3.4", "syntax"],
  ["1e +5", "syntax"],
  ["１", "syntax"],
];

/** Numbers that Go reads and Milepost does not. */
const isHexadecimal = (text: string) => /^[+-]?0x/i.test(text);

function valueOf(outcome: string): number {
  const text = outcome.replace("range ", "").replace("Inf", "Infinity");
  return Number(text);
}

for (const [text, outcome] of facts) {
  const isNone = outcome === "syntax" || isHexadecimal(text);
  Deno.test(`readGoFloat() reads ${JSON.stringify(text)} as ${isNone ? "none" : outcome}`, () => {
    const want = isNone
      ? undefined
      : { value: valueOf(outcome), isInRange: !outcome.startsWith("range") };
    assert.deepEqual(readGoFloat(text), want);
  });
}

Deno.test("readGoFloat() reads every number as JavaScript writes it", () => {
  fc.assert(fc.property(fc.double({ noNaN: true }), (number) => {
    // It writes -0 as 0.
    const value = number === 0 ? 0 : number;
    assert.deepEqual(readGoFloat(String(number)), { value, isInRange: true });
  }));
});

Deno.test("readGoFloat() refuses text that is a number in JavaScript but not in Go", () => {
  const characters = fc.constantFrom(..."0123456789.eE+-_xXinfINFaNAtyob ");
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 12 }), (text) => {
      const read = readGoFloat(text);
      if (read === undefined || !Number.isFinite(read.value)) return;
      assert.match(text, /\d/);
      assert.doesNotMatch(text, /\s|[xXyob]|^_|_$|__/);
      assert.equal(read.value, Number(text.replaceAll("_", "")));
    }),
    { numRuns: 2000 },
  );
});
