/** Tests of the problems of a search that its definition cannot check. */
import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { searchProblems } from "../../../trials/search/search_problems.ts";
import { optimizationJob, type SearchParts } from "./builders.ts";

interface Case {
  readonly search: SearchParts;
  /** `field: message` of each problem. */
  readonly want: readonly string[];
}

const SPACE = "spec.parameters[0].searchSpace";
const withEnv = (...names: string[]) => ({
  spec: {
    runtimeRef: { name: "torch" },
    trainer: { env: names.map((name) => ({ name, value: "" })) },
  },
});
/** A template of that many bytes. */
function withSize(bytes: number) {
  const make = (value: string) => ({
    spec: { runtimeRef: { name: "torch" }, trainer: { env: [{ name: "A", value }] } },
  });
  return make("x".repeat(bytes - JSON.stringify(make("")).length));
}
const pruner = (text: string) => ({ annotations: { [ANNOTATIONS.pruner]: text } });
const hundred = (make: (index: number) => string) => Array.from({ length: 100 }, (_, i) => make(i));
const wide = `p categorical ${"x".repeat(64)}`;

const cases: Record<string, Case> = {
  "a search as it should be": {
    search: { parameters: ["lr logUniform 1e-5 1e-1", "n uniform 1 8 Int", "opt categorical a b"] },
    want: [],
  },
  "a whole bound in any spelling": {
    search: { parameters: ["n uniform 10e-1 1.2e1 Int"] },
    want: [],
  },
  "zero with an exponent is whole": {
    search: { parameters: ["n uniform 0e-9 5.0 Int"] },
    want: [],
  },
  "integers with fractional bounds": {
    search: { parameters: ["n uniform 0.2 0.8 Int"] },
    want: [
      `${SPACE}.uniform.min: must be a whole number, since the type is Int`,
      `${SPACE}.uniform.max: must be a whole number, since the type is Int`,
    ],
  },
  "an integer that only its double makes whole": {
    search: { parameters: ["n uniform 1 5.00000000000000000001 Int"] },
    want: [`${SPACE}.uniform.max: must be a whole number, since the type is Int`],
  },
  "integers that a double does not hold": {
    search: { parameters: ["n uniform 1 9007199254740993 Int"] },
    want: [
      `${SPACE}.uniform.max: must be from -9007199254740991 to 9007199254740991, since the type is Int`,
    ],
  },
  "integers that are too far apart": {
    search: { parameters: ["n uniform -9007199254740991 9007199254740991 Int"] },
    want: [`${SPACE}.uniform: max is too far above min: bring the two nearer to each other`],
  },
  "a number beyond doubles": {
    search: { parameters: ["x uniform 0 1e999"] },
    want: [`${SPACE}.uniform.max: must be a number that a double holds`],
  },
  "a range that overflows": {
    search: { parameters: ["x uniform -1e308 1e308"] },
    want: [`${SPACE}.uniform: max is too far above min: bring the two nearer to each other`],
  },
  "no number at all": {
    search: { parameters: ["x uniform nan 1"] },
    want: [`${SPACE}.uniform.min: must be a decimal number`],
  },
  "min above max": {
    search: { parameters: ["x uniform 2 1"] },
    want: [`${SPACE}.uniform: min must be strictly less than max`],
  },
  "bounds that are one double": {
    search: { parameters: ["x uniform 1 1.00000000000000000001"] },
    want: [`${SPACE}.uniform: min must be strictly less than max`],
  },
  "the logarithm of zero": {
    search: { parameters: ["x logUniform 0 1"] },
    want: [`${SPACE}.logUniform: min must be strictly greater than 0`],
  },
  "the logarithm of what a double makes zero": {
    search: { parameters: ["x logUniform 1e-400 1"] },
    want: [`${SPACE}.logUniform: min must be strictly greater than 0`],
  },
  "an empty choice": {
    search: {
      spec: {
        parameters: [{ name: "a", searchSpace: { categorical: { choices: ["x", ""] } } }],
      },
    },
    want: [`${SPACE}.categorical.choices[1]: must not be empty`],
  },
  "a space of no kind": {
    search: { spec: { parameters: [{ name: "a", searchSpace: {} }] } },
    want: [`${SPACE}: must have uniform, logUniform, or a categorical with choices`],
  },
  "a grid over a range": {
    search: { spec: { searchAlgorithm: { grid: {} } } },
    want: [`${SPACE}: must be categorical, since the search is a grid`],
  },
  "a name that is no variable": {
    search: { parameters: ["learning-rate uniform 0 1"] },
    want: [
      "spec.parameters[0].name: trials get it as a variable: must consist of letters, digits and " +
      "'_', and must not begin with a digit",
    ],
  },
  "names that are one in capital letters": {
    search: { parameters: ["lr uniform 0 1", "LR uniform 0 1", "Lr uniform 0 1"] },
    want: [
      "spec.parameters[1].name: its variable KUBEFLOW_TRAINER_OPT_LR is also that of spec.parameters[0].name",
      "spec.parameters[2].name: its variable KUBEFLOW_TRAINER_OPT_LR is also that of spec.parameters[0].name",
    ],
  },
  "a variable that the template has": {
    search: { template: withEnv("PATH", "KUBEFLOW_TRAINER_OPT_lr") },
    want: [
      "spec.parameters[0].name: its variable KUBEFLOW_TRAINER_OPT_lr is also that of " +
      "spec.trainJobTemplate.spec.trainer.env[1]",
    ],
  },
  "more variables than a trainer may have": {
    search: { parameters: hundred((i) => `p${i} uniform 0 1`) },
    want: [
      "spec.parameters: trials would have 200 variables with those of the template, and may have " +
      "128: name parameters in capital letters, which makes one variable of each and not two, or " +
      "give less of them",
    ],
  },
  "a hundred parameters in capital letters": {
    search: { parameters: hundred((i) => `P${i} uniform 0 1`) },
    want: [],
  },
  "records that a ConfigMap would not hold": {
    search: {
      spec: { numTrials: 100 },
      parameters: hundred((i) => `P${i} categorical ${'"'.repeat(60)} b`),
    },
    want: [
      "spec.parameters: the records of all trials may take 1434800 bytes, and their ConfigMap holds " +
      "1048576: make choices shorter, or parameters or trials fewer",
    ],
  },
  "records that it does not hold with a pruner's": {
    search: {
      metadata: pruner('{"asha": {}}'),
      spec: { numTrials: 100 },
      parameters: hundred((i) => wide.replace("p", `P${i}`)),
    },
    want: [
      "spec.parameters: the records of all trials may take 1079600 bytes, and their ConfigMap holds " +
      "1048576: make choices shorter, or parameters or trials fewer",
    ],
  },
  "records that it just holds": {
    search: { spec: { numTrials: 100 }, parameters: hundred((i) => wide.replace("p", `P${i}`)) },
    want: [],
  },
  "a template that is as large as it may be": {
    search: { template: withSize(65_536) },
    want: [],
  },
  "a template that would make large objects": {
    search: { template: withSize(65_537) },
    want: [
      "spec.trainJobTemplate: has 65537 bytes as JSON, at most 65536 are allowed, since each trial " +
      "is an object of that size: move what is long into a runtime, a ConfigMap or the image",
    ],
  },
  "a name that begins with a digit": {
    search: { name: "7days" },
    want: [/^metadata\.name: a DNS-1035 label must consist/.source],
  },
  "a name that no label holds": {
    search: { name: "x".repeat(64) },
    want: ["metadata.name: must be no more than 63 characters"],
  },
  "a metric that begins with a blank": {
    search: { spec: { objectives: [{ metric: " loss" }] } },
    want: ["spec.objectives[0].metric: must not begin with a blank"],
  },
  "a pruner that there is none": {
    search: { metadata: pruner('{"hyperband": {}}') },
    want: [
      "metadata.annotations[trainer.kubeflow.org/pruner].hyperband: is not known",
      /^metadata\.annotations\[trainer\.kubeflow\.org\/pruner\]: must be one pruner/.source,
    ],
  },
  "a setting that no pruner has": {
    search: { metadata: pruner('{"median": {"n_startup": 1}}') },
    want: [/^metadata\.annotations\[trainer\.kubeflow\.org\/pruner\]\.median.*n_startup/.source],
  },
  "a pruner as it should be": { search: { metadata: pruner('{"asha": {}}') }, want: [] },
};
for (const [sentence, { search, want }] of Object.entries(cases)) {
  Deno.test(`searchProblems() of ${sentence}`, () => {
    const got = searchProblems(optimizationJob(search))
      .map(({ field, message }) => `${field}: ${message}`);
    assert.equal(got.length, want.length, JSON.stringify(got));
    for (const [index, text] of got.entries()) {
      const wanted = want[index] ?? "";
      if (wanted.startsWith("^")) assert.match(text, new RegExp(wanted));
      else assert.equal(text, wanted);
    }
  });
}
