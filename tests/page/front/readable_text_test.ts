/** Tests of the texts of numbers and times, and of hostile text. */
import assert from "node:assert/strict";
import {
  ageText,
  durationText,
  inLines,
  numberText,
  offsetText,
  parameterText,
  plainText,
  shortKind,
  shortText,
  valueText,
} from "../../../page/front/readable_text.ts";
import { clockText } from "../../../platform/base/local_time.ts";

/** A function with what it is to return for some arguments. */
function table<A>(
  name: string,
  of: (argument: A) => string,
  cases: readonly (readonly [A, string])[],
) {
  for (const [argument, want] of cases) {
    Deno.test(`${name}(${JSON.stringify(argument)})`, () => assert.equal(of(argument), want));
  }
}

table("shortText of 9", (text: string) => shortText(text, 9), [
  ["lr", "lr"],
  ["nine-long", "nine-long"],
  ["trial-of-softmax-17", "tria…x-17"],
  ["😀😀😀😀😀😀😀😀😀😀", "😀😀😀😀…😀😀😀😀"],
  ["\u202eab", "\\u202eab"],
]);

table("inLines of 12", (text: string) => inLines(text, 12).join(" | "), [
  ["lr", "lr"],
  ["learning_rate_warmup", "learning_ | rate_warmup"],
  ["optimizer.weight_decay", "optimizer. | weight_decay"],
  ["withoutanysignbetween", "withoutanysi | gnbetween"],
  ["model.encoder.attention.dropout", "model.encode | …ion.dropout"],
]);

table("plainText", plainText, [
  ["loss", "loss"],
  ["two\nlines\tand more", "two\nlines\tand more"],
  ["\u202eexe.png", "\\u202eexe.png"],
  ["a\u0000b", "a\\u0000b"],
  ["a\u200bb\u2066", "a\\u200bb\\u2066"],
  ["a\u{e0041}", "a\\udb40\\udc41"],
  ["<script>", "<script>"],
]);
table("numberText", numberText, [
  [0, "0"],
  [-0.5, "-0.5"],
  [1.23456789, "1.2346"],
  [9999.96, "10000"],
  [12345.6, "12,346"],
  [-1234567, "-1,234,567"],
  [9999999.9, "10,000,000"],
  [0.00001234, "1.234e-5"],
  [12345678, "1.235e7"],
  [NaN, "NaN"],
  [-Infinity, "−∞"],
]);
table("valueText", valueText, [
  ["0.123456789", "0.12346"],
  ["1e-9", "1e-9"],
  ["nan", "NaN"],
  ["-inf", "−∞"],
  ["", ""],
  ["0x10", "0x10"],
  ["<b>", "<b>"],
]);
table("parameterText of a choice", (text: string) => parameterText(text, "list"), [
  ["007", "007"],
  ["1e3", "1e3"],
  ["Infinity", "Infinity"],
  ["1_000", "1_000"],
  ["a\u0000b", "a\\u0000b"],
]);
table("parameterText of a number", (text: string) => parameterText(text, "log"), [
  ["0.0123456789", "0.012346"],
]);
table("durationText", durationText, [
  [0, "0 s"],
  [59.6, "1 min 00 s"],
  [65, "1 min 05 s"],
  [3_665, "1 h 01 min"],
  [90_000, "1 d 01 h"],
  [-5, "0 s"],
  [NaN, "–"],
]);
table("offsetText", offsetText, [
  [0, "UTC"],
  [60, "UTC+1"],
  [330, "UTC+5:30"],
  [-210, "UTC−3:30"],
  [NaN, "UTC"],
]);
table("ageText", ageText, [
  [0, "0 s"],
  [59.9, "59 s"],
  [60, "1 min"],
  [7_200, "2 h"],
  [172_800, "2 d"],
  [-10, "0 s"],
  [NaN, "–"],
]);
table("shortKind", shortKind, [
  ["trainjobs.trainer.kubeflow.org", "trainjobs"],
  ["", ""],
]);

Deno.test("clockText() has the date on another day", () => {
  const time = new Date(2026, 0, 31, 9, 5, 7).getTime();
  assert.equal(clockText(time, time + 1000), "09:05:07");
  assert.equal(clockText(time, time + 86_400_000), "2026-01-31 09:05:07");
  assert.equal(clockText(NaN, time), "–");
});
