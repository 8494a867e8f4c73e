/** Tests of readings: ages, numbers and values of metrics as short texts. */
import { equal } from "node:assert/strict";
import { ageOf, durationText, parameterText, valueText } from "../../terminal/readings.ts";

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

const LENGTHS: Readonly<Record<string, readonly number[]>> = {
  "0s": [-5, -0, 0, 0.9],
  "119s": [2 * MINUTE - 0.1],
  "9m59s": [10 * MINUTE - 1],
  "179m": [3 * HOUR - 1],
  "3h": [3 * HOUR, 3 * HOUR + 59],
  "3h1m": [3 * HOUR + 60],
  "7h59m": [8 * HOUR - 1],
  "8h": [8 * HOUR, 9 * HOUR - 1],
  "47h": [2 * DAY - 1],
  "2d": [2 * DAY, 2 * DAY + HOUR - 1],
  "7d23h": [8 * DAY - 1],
  "8d": [8 * DAY, 9 * DAY - 1],
  "-": [NaN, Infinity, -Infinity],
};

for (const [text, lengths] of Object.entries(LENGTHS)) {
  Deno.test(`a length of time is ${text}`, () => {
    for (const seconds of lengths) equal(durationText(seconds), text, String(seconds));
  });
}

Deno.test("an age begins at the object's time, and is none without one", () => {
  const now = Date.parse("2026-01-01T05:30:00Z");
  equal(ageOf("2026-01-01T00:00:00Z", now), "5h30m");
  equal(ageOf("2026-01-01T06:00:00Z", now), "0s");
  equal(ageOf(undefined, now), "-");
  equal(ageOf("yesterday", now), "-");
});

Deno.test("a value that is no number is shown as it is, without control characters", () => {
  equal(valueText("-.50"), "-0.5");
  equal(valueText("0x10"), "0x10");
  equal(valueText("nan"), "NaN");
  equal(valueText("a\x1b[2J").includes("\x1b"), false);
  equal(valueText("x".repeat(99)).length, 32);
});

Deno.test("a choice is shown as it is, and a number of another parameter in short", () => {
  for (const choice of ["007", "1e3", "1.10", "Infinity", "nan", "1_000", "x".repeat(64)]) {
    equal(parameterText({ scale: "list" }, choice), choice);
  }
  equal(parameterText({ scale: "list" }, "a\x1b[2J").includes("\x1b"), false);
  equal(parameterText({ scale: "list" }, "x".repeat(99)).length, 64);
  equal(parameterText({ scale: "log" }, "0.0123456789"), "0.012346");
});
