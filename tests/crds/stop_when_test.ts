/** Tests of the grammar of `stop-when`: what lines mean, and where a mistake in one is. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { EARLY_STOPPING_RULES_MAX } from "../../crds/early_stopping.ts";
import { readStopWhen, type StopCondition } from "../../crds/stop_when.ts";

const loss = { line: 1, name: "loss", startStep: 0, unit: "report" } as const;
const nan: StopCondition = { ...loss, comparison: "nan" };
const above: StopCondition = { ...loss, comparison: "greater", value: "10" };

const good: Readonly<Record<string, StopCondition>> = {
  "loss > 10": above,
  "loss>10": above,
  "  loss\t>  10 \r": above,
  "loss >= 10": { ...above, comparison: "atLeast" },
  "loss < 10": { ...above, comparison: "less" },
  "loss<=10": { ...above, comparison: "atMost" },
  "loss = 10": { ...above, comparison: "equal" },
  "loss == 10": { ...above, comparison: "equal" },
  "loss > -1.5e-3": { ...above, value: "-1.5e-3" },
  "loss > inf": { ...above, value: "inf" },
  "loss is nan": nan,
  "loss IS NaN": nan,
  "loss > 10 after 5 reports": { ...above, startStep: 5 },
  "loss > 10 after 1 report": { ...above, startStep: 1 },
  "loss > 10 after step 1000": { ...above, startStep: 1000, unit: "step" },
  "loss > 10 after 1000 steps": { ...above, startStep: 1000, unit: "step" },
  "loss is nan after step 0": { ...nan, unit: "step" },
  "train/loss-1.x is nan": { ...nan, name: "train/loss-1.x" },
  "is is nan": { ...nan, name: "is" },
  '"val loss" is nan': { ...nan, name: "val loss" },
  '"a > \\"b\\" \\u00e9">10': { ...above, name: 'a > "b" é' },
};
for (const [text, want] of Object.entries(good)) {
  Deno.test(`\`readStopWhen()\` takes ${JSON.stringify(text)}`, () => {
    assert.deepEqual(readStopWhen(text), { ok: true, value: [want] });
  });
}

Deno.test("`readStopWhen()` takes lines, with the number of each", () => {
  const read = readStopWhen("\nloss > 10\n\n  loss is nan\n");
  assert.deepEqual(read, { ok: true, value: [{ ...above, line: 2 }, { ...nan, line: 4 }] });
});

const NAME = "expected the name of a metric, 1 to 64 characters, in double quotes if it has spaces";
const SIGN = "expected one of > < >= <= = or is";
const NUMBER = "expected a number, such as 10, 0.5 or 1e-3 (NaN is tested by: is nan)";
const AFTER = 'expected "after", or the end of the line: each condition has a line of its own';
const START = "expected reports or steps, as in: after 5 reports, after step 1000";
const END = "expected the end of the line: each condition has a line of its own";
const NONE = "must be 1 to 64 lines such as: loss > 10 after 5 reports";

const bad: Readonly<Record<string, string>> = {
  '"loss > 10': `line 1, character 1: ${NAME}`,
  "> 10": `line 1, character 1: ${NAME}`,
  '"" > 10': `line 1, character 1: ${NAME}`,
  '"a\\x" > 10': `line 1, character 1: ${NAME}`,
  [`${"x".repeat(65)} > 1`]: `line 1, character 1: ${NAME}`,
  'é "loss > 10': `line 1, character 3: ${SIGN}`,
  "loss": `line 1, character 5: ${SIGN}`,
  "val loss > 10": `line 1, character 5: ${SIGN}`,
  "loss != 3": `line 1, character 6: ${SIGN}`,
  "loss >": `line 1, character 7: ${NUMBER}`,
  "loss > > 10": `line 1, character 8: ${NUMBER}`,
  "loss > high": `line 1, character 8: ${NUMBER}`,
  "loss > nan": `line 1, character 8: ${NUMBER}`,
  "loss is 10": "line 1, character 9: expected nan: a number follows one of > < >= <= =",
  "loss > 10 or loss is nan": `line 1, character 11: ${AFTER}`,
  "loss > 10 # note": `line 1, character 11: ${AFTER}`,
  "loss > 10 after": `line 1, character 16: ${START}`,
  "loss > 10 after a while": `line 1, character 17: ${START}`,
  "loss > 10 after 2147483648 reports": `line 1, character 17: ${START}`,
  "loss > 10 after 5": `line 1, character 17: ${START}`,
  "loss > 10 after 5 epochs": `line 1, character 17: ${START}`,
  "loss > 10 after step many": `line 1, character 17: ${START}`,
  "loss > 10 after 5 reports or so": `line 1, character 27: ${END}`,
  "": NONE,
  " \n\n": NONE,
  ["loss > 1\n".repeat(EARLY_STOPPING_RULES_MAX + 1)]: NONE,
};
for (const [text, want] of Object.entries(bad)) {
  Deno.test(`\`readStopWhen()\` says where ${JSON.stringify(text.slice(0, 40))} is wrong`, () => {
    const read = readStopWhen(text);
    assert.deepEqual(read.ok ? [] : read.problems.map(({ message }) => message), [want]);
  });
}

Deno.test("`readStopWhen()` names each wrong line with its text, twenty at most", () => {
  const read = readStopWhen("loss > 10\n loss >\n😀 ! 3");
  assert.deepEqual(read.ok ? [] : read.problems, [
    { field: "", value: " loss >", message: `line 2, character 8: ${NUMBER}` },
    { field: "", value: "😀 ! 3", message: `line 3, character 3: ${SIGN}` },
  ]);
  const many = readStopWhen("x\n".repeat(EARLY_STOPPING_RULES_MAX));
  assert.equal(many.ok ? 0 : many.problems.length, 20);
});

Deno.test("`readStopWhen()` reads any text, also a long one, and decides soon", () => {
  const part = fc.constantFrom("loss", '"', " ", "\n", ">", "=", "is", "nan", "5", "after", "\\");
  fc.assert(fc.property(fc.array(part), (parts) => {
    const read = readStopWhen(parts.join(""));
    assert.ok(read.ok ? read.value.length > 0 : read.problems.length > 0);
  }));
  for (const part of ["a ", '"', '"a" ', "> ", "\\", " "]) {
    assert.equal(readStopWhen(part.repeat(100_000)).ok, false);
  }
});
