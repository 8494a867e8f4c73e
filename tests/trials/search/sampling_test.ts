/** Tests of random and grid search: exact values, and distributions against critical values. */
import assert from "node:assert/strict";
import { gridPoint, gridSize } from "../../../trials/search/grid_search.ts";
import { randomValues, unitNumber } from "../../../trials/search/random_search.ts";
import { readSpace, type Space, valueAtPoint } from "../../../trials/search/search_space.ts";
import { parameter } from "./builders.ts";

function space(text: string): Space {
  const read = readSpace(parameter(`p ${text}`).searchSpace, "");
  assert.ok(read.ok, JSON.stringify(read));
  return read.space;
}
const LAST = 1 - 2 ** -53;

const points: [string, number, string][] = [
  ["uniform 0 1", 0, "0"],
  ["uniform 0 1", 0.25, "0.25"],
  ["uniform -1 1", 0.25, "-0.5"],
  ["uniform 0.1 0.3", LAST, "0.29999999999999993"],
  ["uniform 1 1.0000000000000002", LAST, "1"],
  ["uniform -1.0000000000000002 -1", LAST, "-1.0000000000000002"],
  ["uniform -1e-9 0", LAST, "-2.0679515313825692e-25"],
  ["uniform 1 3 Int", 0, "1"],
  ["uniform 1 3 Int", 0.3334, "2"],
  ["uniform 1 3 Int", LAST, "3"],
  ["uniform -2 2 Int", 0.5, "0"],
  ["uniform 0 9007199254740991 Int", LAST, "9007199254740991"],
  ["logUniform 1e-4 1", 0.5, "0.01"],
  ["logUniform 1e-8 1e-7", 0, "1e-8"],
  ["logUniform 1e-5 1e-1", 0, "0.00001"],
  ["logUniform 1e20 1e22", 0.5, "1e+21"],
  ["logUniform 1 8 Int", 0, "1"],
  ["logUniform 1 8 Int", LAST, "8"],
  ["categorical a b c", 0.34, "b"],
  ["categorical a b c", LAST, "c"],
];
for (const [text, u, want] of points) {
  Deno.test(`valueAtPoint() of ${text} at ${u}`, () => {
    const got = valueAtPoint(space(text), u);
    const near = Math.abs(Number(got) - Number(want)) <= 1e-14 * Math.abs(Number(want));
    assert.ok(got === want || near, got);
  });
}

Deno.test("valueAtPoint() never leaves its range", () => {
  for (
    const text of [
      "uniform 0.1 0.7",
      "logUniform 1e-5 0.1",
      "logUniform 3 1000 Int",
      "uniform -7 3 Int",
    ]
  ) {
    const it = space(text);
    assert.ok(it.kind !== "categorical");
    for (const u of [0, 2 ** -53, 0.5, LAST]) {
      const value: number = Number(valueAtPoint(it, u));
      assert.ok(value >= it.min && value <= it.max, `${text} at ${u}: ${value}`);
      assert.ok(it.isInt || value < it.max, `${text} at ${u}: ${value}`);
    }
  }
});

Deno.test("unitNumber() is the same on every machine", () => {
  // The first 53 bits of SHA-256 of ["42",0,"lr"].
  assert.equal(unitNumber("42", 0, "lr"), 0.5000455706814473);
  assert.notEqual(unitNumber("42", 1, "lr"), unitNumber("42", 0, "lr"));
  assert.notEqual(unitNumber("42", 0, "mo"), unitNumber("42", 0, "lr"));
  assert.notEqual(unitNumber("43", 0, "lr"), unitNumber("42", 0, "lr"));
});

Deno.test("randomValues() does not depend on the other parameters", () => {
  const [a, b] = ["a", "b"].map((name) => ({ name, space: space("uniform 0 1") }));
  assert.ok(a && b);
  assert.deepEqual(randomValues([a, b], "1", 7), [...randomValues([b, a], "1", 7)].reverse());
});

const DRAWS = 5000;
const draw = (text: string, seed: string) =>
  Array.from(
    { length: DRAWS },
    (_, i) => randomValues([{ name: "p", space: space(text) }], seed, i)[0] ?? "",
  );

/** Critical values at 1e-6. */
const KS = 0.0381;
const CHI = { 2: 27.63, 4: 33.38, 7: 40.52 } as const;

for (const seed of ["0", "1", "42"]) {
  for (
    const [text, cdf] of [
      ["uniform -5 5", (x: number) => (x + 5) / 10],
      ["logUniform 1e-5 1", (x: number) => (Math.log(x) - Math.log(1e-5)) / -Math.log(1e-5)],
    ] as const
  ) {
    Deno.test(`random search draws ${text} with seed ${seed} as it should be distributed`, () => {
      const sorted = draw(text, seed).map(Number).sort((x, y) => x - y);
      const distance = Math.max(
        ...sorted.map((x, i) =>
          Math.max(Math.abs(cdf(x) - i / DRAWS), Math.abs(cdf(x) - (i + 1) / DRAWS))
        ),
      );
      assert.ok(distance < KS, `D = ${distance}`);
    });
  }
  for (
    const [text, shares, critical] of [
      ["uniform 1 5 Int", { 1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2, 5: 0.2 }, CHI[4]],
      ["categorical a b c", { a: 1 / 3, b: 1 / 3, c: 1 / 3 }, CHI[2]],
      ["logUniform 1 8 Int", {
        1: 0.3878,
        2: 0.1803,
        3: 0.1188,
        4: 0.0887,
        5: 0.0708,
        6: 0.0590,
        7: 0.0505,
        8: 0.0442,
      }, CHI[7]],
    ] as const
  ) {
    Deno.test(`random search draws ${text} with seed ${seed} as often as it should`, () => {
      const drawn = draw(text, seed);
      let sum = 0;
      for (const [value, share] of Object.entries<number>(shares)) {
        const count = drawn.filter((it) => it === value).length;
        sum += (count - share * DRAWS) ** 2 / (share * DRAWS);
      }
      assert.ok(drawn.every((it) => it in shares));
      assert.ok(sum < critical, `chi-square = ${sum}`);
    });
  }
}

Deno.test("gridPoint() takes names in their order, the last one fastest, and choices as listed", () => {
  const grid = [
    { name: "b", choices: ["1", "0"] },
    { name: "a", choices: ["x", "y", "z"] },
  ];
  const got = Array.from({ length: 7 }, (_, index) => gridPoint(grid, index)?.join(" "));
  assert.deepEqual(got, ["1 x", "0 x", "1 y", "0 y", "1 z", "0 z", undefined]);
});

Deno.test("gridSize() counts what no double holds, and points of it are found", () => {
  const grid = Array.from({ length: 100 }, (_, index) => ({
    name: `p${String(index).padStart(2, "0")}`,
    choices: Array.from({ length: 100 }, (_, choice) => String(choice)),
  }));
  assert.equal(gridSize(grid), 10n ** 200n);
  assert.deepEqual(gridPoint(grid, 99)?.slice(97), ["0", "0", "99"]);
});
