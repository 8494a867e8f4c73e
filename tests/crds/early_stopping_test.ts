/** Tests of the parsers of annotations about trials. */
import assert from "node:assert/strict";
import {
  EARLY_STOPPING_RULES_MAX,
  type ReadAnnotation,
  readCompared,
  readEarlyStopping,
  readGrace,
  readTrialTemplate,
} from "../../crds/early_stopping.ts";

const OBJECTIVE = { name: "loss", type: "minimize" };
const RULE = { name: "loss", value: "0.5", comparison: "greater", startStep: 3 };
const withRules = (...rules: unknown[]) => ({ objective: OBJECTIVE, rules });

/** Problems as `field: message`. */
function problemsOf(read: ReadAnnotation<unknown>): string[] {
  return read.ok ? [] : read.problems.map(({ field, message }) => `${field}: ${message}`);
}

const METRIC = "must be the name of a metric, 1 to 64 characters";
const VALUE = 'must be a decimal number in a string, such as "0.5", and not NaN';
const RULE_SHAPE =
  "must be an object with name, value, comparison and, if wanted, startStep, unit and compare";
const RULES = `must be a list of 1 to ${EARLY_STOPPING_RULES_MAX} rules`;
const START_STEP = "must be a whole number from 0 to 2147483647";

const good: Record<string, unknown> = {
  "the documented example": withRules(RULE),
  "a rule without a start step": withRules({ name: "acc", value: "-Inf", comparison: "less" }),
  "a rule that counts steps": withRules({ ...RULE, unit: "step" }),
  "a rule that counts reports": withRules({ ...RULE, unit: "report" }),
  "rules that say what they compare": withRules(
    { ...RULE, compare: "newest" },
    { ...RULE, compare: "best" },
  ),
  "a rule for NaN": withRules({ name: "grad", comparison: "nan", compare: "newest" }),
  "several rules of one metric": withRules(RULE, { ...RULE, startStep: 0 }),
  "a name of 64 characters beyond the basic plane": withRules({ ...RULE, name: "😀".repeat(64) }),
  "the most rules": withRules(...Array.from({ length: EARLY_STOPPING_RULES_MAX }, () => RULE)),
};
for (const [sentence, value] of Object.entries(good)) {
  Deno.test(`\`readEarlyStopping()\` takes ${sentence}`, () => {
    assert.deepEqual(readEarlyStopping(JSON.stringify(value)), { ok: true, value });
  });
}

const bad: Record<string, [unknown, string[]]> = {
  "a list": [[], [": must be an object with objective and rules"]],
  "null": [null, [": must be an object with objective and rules"]],
  "nothing in it": [{}, ["objective: must be an object with name and type", `rules: ${RULES}`]],
  "an objective of another type": [
    { objective: { name: "loss", type: "lower" }, rules: [RULE] },
    ["objective.type: must be minimize or maximize"],
  ],
  "no rule": [withRules(), [`rules: ${RULES}`]],
  "too many rules": [
    withRules(...Array.from({ length: EARLY_STOPPING_RULES_MAX + 1 }, () => 1)),
    [`rules: ${RULES}`],
  ],
  "an invalid rule": [withRules(RULE, "loss"), [`rules[1]: ${RULE_SHAPE}`]],
  "an empty name": [withRules({ ...RULE, name: "" }), [`rules[0].name: ${METRIC}`]],
  "a name of 65 characters": [
    withRules({ ...RULE, name: "😀".repeat(65) }),
    [`rules[0].name: ${METRIC}`],
  ],
  "a value that is a JSON number": [
    withRules({ ...RULE, value: 0.5 }),
    ['rules[0].value: put the number in quotes: "0.5"'],
  ],
  "a value that is no number": [
    withRules({ ...RULE, value: "high" }),
    [`rules[0].value: ${VALUE}`],
  ],
  "a hexadecimal value": [withRules({ ...RULE, value: "0x1p-1" }), [`rules[0].value: ${VALUE}`]],
  "a value that compares with nothing": [
    withRules({ ...RULE, value: "NaN" }),
    [`rules[0].value: ${VALUE}`],
  ],
  "an unknown comparison": [
    withRules({ ...RULE, comparison: ">" }),
    ["rules[0].comparison: must be equal, less, greater or nan"],
  ],
  "no value": [
    withRules({ name: "loss", comparison: "less" }),
    [`rules[0].value: ${VALUE}`],
  ],
  "a value to compare with NaN, and its best": [
    withRules({ ...RULE, comparison: "nan", compare: "best" }),
    [
      'rules[0].value: must be absent with the comparison "nan"',
      'rules[0].compare: must be newest with the comparison "nan"',
    ],
  ],
  "something else to compare": [
    withRules({ ...RULE, compare: "latest" }),
    ["rules[0].compare: must be newest or best"],
  ],
  "the best of what is no objective": [
    withRules(RULE, { ...RULE, name: "grad", compare: "best" }),
    ["rules[1].compare: best is for the objective, whose type says what is better"],
  ],
  "an unknown unit": [
    withRules({ ...RULE, unit: "epoch" }),
    ["rules[0].unit: must be report or step"],
  ],
  "the unit step without a start step": [
    withRules({ name: "loss", value: "0.5", comparison: "greater", unit: "step" }),
    ['rules[0].startStep: is required with the unit "step"'],
  ],
  "half a step": [withRules({ ...RULE, startStep: 1.5 }), [`rules[0].startStep: ${START_STEP}`]],
  "a step below zero": [withRules({ ...RULE, startStep: -1 }), [
    `rules[0].startStep: ${START_STEP}`,
  ]],
  "a misspelt field, by its name": [
    { ...withRules({ ...RULE, startstep: 1 }), "to do": 1 },
    ["rules[0].startstep: is not known", '["to do"]: is not known'],
  ],
};
for (const [sentence, [value, want]] of Object.entries(bad)) {
  Deno.test(`\`readEarlyStopping()\` refuses ${sentence}`, () => {
    assert.deepEqual(problemsOf(readEarlyStopping(JSON.stringify(value))), want);
  });
}

Deno.test("`readEarlyStopping()` gives the position at which text is not JSON", () => {
  const [problem] = problemsOf(readEarlyStopping('{"objective": '));
  assert.match(problem ?? "", /^: must be JSON: /);
});

Deno.test("`readEarlyStopping()` names twenty problems at most", () => {
  const names = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`x${index}`, 1]));
  assert.equal(
    problemsOf(readEarlyStopping(JSON.stringify({ ...withRules(RULE), ...names }))).length,
    20,
  );
});

Deno.test("`readCompared()` reads newest and best, and nothing else", () => {
  assert.deepEqual(["newest", "best"].map(readCompared).map((it) => it.ok && it.value), [
    "newest",
    "best",
  ]);
  assert.deepEqual(problemsOf(readCompared("Best")), [": must be newest or best"]);
});

const GRACE = ": must be a duration from 0s to 1h, such as 30s or 1m30s";
const graces: [string, number | undefined][] = [
  ["0", 0],
  ["0s", 0],
  ["1m30s", 90_000],
  ["1h", 3_600_000],
  ["60m", 3_600_000],
  ["1h1ns", undefined],
  ["61m", undefined],
  ["-1s", undefined],
  ["30", undefined],
  ["", undefined],
  ["soon", undefined],
  ["0".repeat(100_000), undefined],
];
for (const [text, want] of graces) {
  Deno.test(`\`readGrace()\` reads ${JSON.stringify(text.slice(0, 20))} as ${want}`, () => {
    const read = readGrace(text);
    assert.equal(read.ok ? read.value : undefined, want);
    assert.deepEqual(problemsOf(read), want === undefined ? [GRACE] : []);
  });
}

const templates: Record<string, [string, string[]]> = {
  "an empty object": ["{}", []],
  "KEP-1214's spelling": [
    '{"primaryPodLabel": {"role": "master"}, "primaryContainerName": "node", "succeededCondition": "Complete", "retain": true}',
    [],
  ],
  "today's spelling, with what it does not read": [
    '{"primaryPodLabels": {"a": "b"}, "successCondition": "x", "failureCondition": "y", "trialSpec": {"a": 1}}',
    [],
  ],
  "a list": ["[]", [": must be an object, as a trialTemplate of Katib"]],
  "odd types": [
    '{"primaryPodLabel": {"a.b/c": 1}, "retain": "yes", "successCondition": {}, "primaryPodLabels": []}',
    [
      'primaryPodLabel["a.b/c"]: must be a string',
      "primaryPodLabels: must be an object of labels",
      "successCondition: must be a string",
      "retain: must be true or false",
    ],
  ],
};
for (const [sentence, [text, want]] of Object.entries(templates)) {
  Deno.test(`\`readTrialTemplate()\` ${want.length > 0 ? "refuses" : "takes"} ${sentence}`, () => {
    assert.deepEqual(problemsOf(readTrialTemplate(text)), want);
  });
}
