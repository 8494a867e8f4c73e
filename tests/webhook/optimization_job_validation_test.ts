/** Tests of the validation of OptimizationJobs: what is refused, where, and what is warned of. */
import assert from "node:assert/strict";
import { invalid } from "../../crds/field_problem.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import type { Verdict } from "../../webhook/runtime_validation.ts";
import {
  sampleTrial,
  validateChangedOptimizationJob,
  validateNewOptimizationJob,
} from "../../webhook/optimization_job_validation.ts";
import { optimizationJob, type SearchParts } from "../trials/search/builders.ts";

const PRUNER = "trainer.kubeflow.org/pruner";
const FINE: Verdict = { problems: [], warnings: [] };

const pruned = (text: string) => ({ metadata: { annotations: { [PRUNER]: text } } });
const template = (metadata: Record<string, unknown>) => ({ template: { metadata } });
const grid = (numTrials: number, ...parameters: string[]): SearchParts => ({
  parameters,
  spec: { searchAlgorithm: { grid: {} }, numTrials, parallelTrials: 1 },
});

const fieldsOf = ({ problems }: Verdict) => problems.map(({ field }) => field);

const refused: Readonly<Record<string, { search: SearchParts; want: readonly string[] }>> = {
  "nothing of a search that is right": { search: {}, want: [] },
  "an integer with fractional bounds": {
    search: { parameters: ["n uniform 0.2 0.8 Int"] },
    want: [
      "spec.parameters[0].searchSpace.uniform.min",
      "spec.parameters[0].searchSpace.uniform.max",
    ],
  },
  "names that are one variable": {
    search: { parameters: ["lr uniform 0 1", "LR uniform 0 1"] },
    want: ["spec.parameters[1].name"],
  },
  "a pruner that is none": {
    search: pruned('{"hyperband": {}}'),
    want: [
      `metadata.annotations[${PRUNER}].hyperband`,
      `metadata.annotations[${PRUNER}]`,
    ],
  },
  "a setting that a pruner has not": {
    search: pruned('{"median": {"n_warmup": 1}}'),
    want: [`metadata.annotations[${PRUNER}].median.n_warmup`],
  },
  "labels and annotations that no object can have": {
    search: template({
      labels: { "a b": "1", ok: "not ok" },
      annotations: { "a b": "", "example.com/fine": "any text" },
    }),
    want: [
      "spec.trainJobTemplate.metadata.labels",
      "spec.trainJobTemplate.metadata.labels[ok]",
      "spec.trainJobTemplate.metadata.annotations",
    ],
  },
};
for (const [sentence, { search, want }] of Object.entries(refused)) {
  Deno.test(`validateNewOptimizationJob() refuses ${sentence}`, () => {
    const verdict = validateNewOptimizationJob(optimizationJob(search), FINE);
    assert.deepEqual(fieldsOf(verdict), want, JSON.stringify(verdict.problems));
  });
}

Deno.test("validateNewOptimizationJob() says of the template what is said of its TrainJob, at the template's fields", () => {
  const verdict = validateNewOptimizationJob(optimizationJob(), {
    problems: [
      invalid("spec.RuntimeRef", "torch", "not found"),
      invalid("metadata.annotations[trainer.kubeflow.org/stop-when]", "loss >", "no value"),
    ],
    warnings: ["metadata.annotations[a] is not known", "a runtime is deprecated"],
  });
  assert.deepEqual(fieldsOf(verdict), [
    "spec.trainJobTemplate.spec.RuntimeRef",
    "spec.trainJobTemplate.metadata.annotations[trainer.kubeflow.org/stop-when]",
  ]);
  assert.deepEqual(verdict.warnings, [
    "spec.trainJobTemplate.metadata.annotations[a] is not known",
    "a runtime is deprecated",
  ]);
});

const warned: Readonly<Record<string, { search: SearchParts; want: readonly RegExp[] }>> = {
  "nothing of a grid of as many points as trials": {
    search: grid(4, "a categorical 1 2", "b categorical 1 2"),
    want: [],
  },
  "a grid with more points": {
    search: grid(3, "a categorical 1 2", "b categorical 1 2"),
    want: [/^spec\.numTrials: the grid has 4 points, of which 3 are tried$/],
  },
  "a grid that no number of a program holds": {
    search: grid(1, ...Array.from({ length: 60 }, (_, it) => `p${it} categorical 1 2`)),
    want: [/ 1152921504606846976 points, of which 1 are tried$/],
  },
  "a grid with fewer points": {
    search: grid(5, "a categorical 1 2", "b categorical 1 2"),
    want: [/^spec\.numTrials: the grid has 4 points: the search ends after 4 trials of 5$/],
  },
  "a parameter with one choice": {
    search: { parameters: ["lr uniform 0 1", "optimizer categorical sgd"] },
    want: [
      /^spec\.parameters\[1\]\.searchSpace\.categorical\.choices: every trial has the only choice$/,
    ],
  },
  "rules that are not in the template": {
    search: { metadata: { annotations: { "trainer.kubeflow.org/stop-when": "loss is nan" } } },
    want: [/stop-when\] does nothing: write it to spec\.trainJobTemplate\.metadata$/],
  },
  "a pruner that is in the template": {
    search: template({ annotations: { [PRUNER]: '{"median": {}}' } }),
    want: [/^spec\.trainJobTemplate\.metadata.*pruner\] does nothing: write it to metadata$/],
  },
  "an annotation that is misspelt": {
    search: { metadata: { annotations: { "trainer.kubeflow.org/prunner": "{}" } } },
    want: [/prunner\] is not known.*trainer\.kubeflow\.org\/pruner/],
  },
};
for (const [sentence, { search, want }] of Object.entries(warned)) {
  Deno.test(`validateNewOptimizationJob() warns of ${sentence}`, () => {
    const { problems, warnings } = validateNewOptimizationJob(optimizationJob(search), FINE);
    assert.deepEqual(problems, []);
    assert.equal(warnings.length, want.length, warnings.join("\n"));
    want.forEach((it, index) => assert.match(warnings[index] ?? "", it));
  });
}

const begun = {
  status: { conditions: [{ type: "Created", status: "True", reason: "A", message: "" }] },
};
const waiting = {
  status: { conditions: [{ type: "Created", status: "False", reason: "A", message: "" }] },
};
const MEDIAN = '{"median": {}}';
const ASHA = '{"asha": {}}';

const changes: Readonly<
  Record<string, { old: SearchParts; job: SearchParts; want: readonly RegExp[] }>
> = {
  "a pruner before the first trial": { old: waiting, job: pruned(ASHA), want: [] },
  "a pruner that is none before it": { old: {}, job: pruned("{}"), want: [/must be one pruner/] },
  "a pruner after it": { old: begun, job: pruned(MEDIAN), want: [/is immutable once/] },
  "another pruner after it": {
    old: { ...pruned(MEDIAN), ...begun },
    job: pruned(ASHA),
    want: [/is immutable once/],
  },
  "no pruner after it": { old: { ...pruned(MEDIAN), ...begun }, job: {}, want: [/is immutable/] },
  "a pruner that was wrong and stays": {
    old: { ...pruned("{}"), ...begun },
    job: pruned("{}"),
    want: [],
  },
  "other annotations after it": {
    old: { ...pruned(MEDIAN), ...begun },
    job: { metadata: { annotations: { [PRUNER]: MEDIAN, note: "a" } } },
    want: [],
  },
  "a search that would not be admitted any more": {
    old: { parameters: ["n uniform 0.2 0.8 Int"] },
    job: { parameters: ["n uniform 0.2 0.8 Int"], metadata: { labels: { a: "b" } } },
    want: [],
  },
};
for (const [sentence, { old, job, want }] of Object.entries(changes)) {
  Deno.test(`validateChangedOptimizationJob() judges ${sentence}`, () => {
    const { problems } = validateChangedOptimizationJob(optimizationJob(job), optimizationJob(old));
    assert.equal(problems.length, want.length, JSON.stringify(problems));
    want.forEach((it, index) => assert.match(problems[index]?.message ?? "", it));
  });
}

Deno.test("sampleTrial() has the longest name of all trials, and the template's labels", () => {
  const search: OptimizationJob = optimizationJob({
    name: "a".repeat(40),
    spec: { numTrials: 100 },
    ...template({ labels: { team: "x" } }),
  });
  const { metadata } = sampleTrial(search);
  assert.match(metadata.name ?? "", /^a{30}-[0-9a-f]{8}-99$/);
  assert.equal(metadata.labels?.team, "x");
});
