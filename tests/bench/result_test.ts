/** Tests of the verdicts and tables of benchmarks. */
import assert from "node:assert/strict";
import { isMet, jsonOf, type Measure, quantile, tableOf } from "../../bench/result.ts";

function measure(value: number, goal?: Measure["goal"], more: Partial<Measure> = {}): Measure {
  return { name: "m", value, unit: "ms", ...goal === undefined ? {} : { goal }, ...more };
}

const GOALS: Record<string, { measure: Measure; want: boolean | undefined }> = {
  "below its limit": { measure: measure(49, { is: "below", limit: 50 }), want: true },
  "at a limit that it must be below": {
    measure: measure(50, { is: "below", limit: 50 }),
    want: false,
  },
  "at a limit that it may reach": {
    measure: measure(50, { is: "at most", limit: 50 }),
    want: true,
  },
  "above a limit": { measure: measure(51, { is: "at most", limit: 50 }), want: false },
  "what is asked at least": { measure: measure(2, { is: "at least", limit: 2 }), want: true },
  "less than is asked": { measure: measure(1.9, { is: "at least", limit: 2 }), want: false },
  "of no goal": { measure: measure(1), want: undefined },
};
for (const [sentence, { measure, want }] of Object.entries(GOALS)) {
  Deno.test(`isMet() judges a value ${sentence}`, () => assert.equal(isMet(measure), want));
}

Deno.test("tableOf() shows value, goal, verdict, neighbour and ratio, and notes below", () => {
  const beside = { name: "other", value: 2 };
  const table = tableOf([
    measure(6, { is: "below", limit: 5 }, { beside, note: "why" }),
    measure(1),
  ]);
  const [head, first, second, ...rest] = table.split("\n");
  assert.match(head ?? "", /^measure +value +goal +beside +ratio$/);
  assert.match(
    first ?? "",
    /^m +6\.00 ms +below 5\.00 ms +missed +2\.00 ms \(other\) +3\.00×$/,
  );
  assert.match(second ?? "", /^m +1\.00 ms$/);
  assert.deepEqual(rest, ["", "m: why", ""]);
});

Deno.test("jsonOf() is one line with verdict and ratio", () => {
  const line = jsonOf([measure(1, { is: "below", limit: 5 }, { beside: { name: "b", value: 4 } })]);
  assert.equal(line.trimEnd().split("\n").length, 1);
  assert.partialDeepStrictEqual(JSON.parse(line), { results: [{ met: true, ratio: 0.25 }] });
});

Deno.test("quantile() returns one of the values, and nothing for an empty list", () => {
  assert.equal(quantile([3, 1, 2], 0.5), 2);
  assert.equal(quantile([3, 1, 2], 0.95), 3);
  assert.throws(() => quantile([], 0.5), /nothing/);
});
