/** Tests of the texts of ticks: none says anything else than where it stands, and none is there twice. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { numberAxis } from "../../../../page/front/charts/axis_scale.ts";
import {
  clockTicks,
  durationTicks,
  numberTicks,
} from "../../../../page/front/charts/tick_texts.ts";
import { zoneText } from "../../../../page/front/readable_text.ts";

const numbers: [values: number[], want: string[]][] = [
  [[], []],
  [[1], ["1"]],
  [[0, 0.25, 0.5], ["0", "0.25", "0.5"]],
  [[0.1, 0.2, 0.30000000000000004], ["0.1", "0.2", "0.3"]],
  [[0.123451, 0.123452], ["0.123451", "0.123452"]],
  [[10_000, 10_000.5, 10_001], ["10,000", "10,000.5", "10,001"]],
  [[20_000, 40_000], ["20,000", "40,000"]],
  [[123_456_000, 123_457_000], ["1.23456e8", "1.23457e8"]],
  [[1e-7, 1.05e-7], ["1e-7", "1.05e-7"]],
];
for (const [values, want] of numbers) {
  Deno.test(`numberTicks(${JSON.stringify(values)})`, () => {
    assert.deepEqual(numberTicks(values), want);
  });
}

const durations: [step: number, seconds: number[], want: string[]][] = [
  [0.25, [0, 0.25, 59.75], ["0 s", "0.25 s", "59.75 s"]],
  [0.5, [60, 60.5, 3_600.5], ["0:01:00.0", "0:01:00.5", "1:00:00.5"]],
  [10, [0, 50, 60, 70], ["0 s", "50 s", "1 min", "1 min 10 s"]],
  [30, [3_570, 3_600, 3_630], ["59 min 30 s", "1:00:00", "1:00:30"]],
  [1_800, [1_800, 3_600, 5_400], ["30 min", "1 h", "1 h 30 min"]],
  [1_800, [86_400, 88_200, 90_000], ["24 h", "24 h 30 min", "25 h"]],
  [21_600, [0, 86_400, 108_000], ["0 s", "1 d", "1 d 06 h"]],
];
for (const [step, seconds, want] of durations) {
  Deno.test(`durationTicks() every ${step} s: ${want.join(", ")}`, () => {
    assert.deepEqual(durationTicks(seconds, step), want);
  });
}

Deno.test("clockTicks() has the date and the zone of each day once, and what differs of a minute", () => {
  const second = new Date(2026, 0, 31, 23, 59, 0).getTime() / 1000;
  const zone = zoneText(second * 1000);
  const after = (by: number) => [0, 1, 2].map((it) => second + it * by);
  assert.deepEqual(clockTicks(after(60), 60), [
    `23:59\n2026-01-31 ${zone}`,
    `00:00\n2026-02-01 ${zone}`,
    "00:01",
  ]);
  assert.deepEqual(clockTicks(after(1), 1).slice(1), ["23:59:01", "23:59:02"]);
  assert.deepEqual(clockTicks(after(0.25), 0.25).slice(1), ["23:59:00.25", "23:59:00.50"]);
});

Deno.test("no two ticks of an axis are the same, wherever it is and however short", () => {
  const ends = fc.tuple(
    fc.double({ noNaN: true, min: -1e6, max: 1e6 }),
    fc.integer({ min: -3, max: 9 }),
  );
  fc.assert(fc.property(ends, ([least, power]) => {
    const { ticks } = numberAxis([least, least + 10 ** power], { isLog: false });
    const texts = ticks.map(({ text }) => text);
    assert.equal(new Set(texts).size, texts.length, texts.join(" "));
  }));
});
