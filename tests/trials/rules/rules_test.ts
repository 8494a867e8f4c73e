/**
 * Tests of early stopping: which report meets which rule, and when a trial is stopped (kubeflow/katib:
 * cmd/metricscollector/v1beta1/file-metricscollector/main.go).
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { readOwnRules } from "../../../trials/rules/own_rules.ts";
import type { TrialRule } from "../../../crds/trial.ts";
import { readRules } from "../../../trials/rules/read_rules.ts";
import { KATIB_COMPARISONS, type Objective, type Report } from "../../../trials/rules/rule.ts";
import {
  applyReport,
  describeMet,
  type RulesState,
  startRules,
  unreportedMetrics,
} from "../../../trials/rules/rules.ts";

const LOSS: Objective = { name: "loss", type: "minimize" };
const ACCURACY: Objective = { name: "acc", type: "maximize" };

/** A rule as it stands in an object: `loss > 0.5 at 3`. */
function rule(text: string): TrialRule {
  const [name, sign, value, , step] = text.split(" ");
  const comparison = { ">": "greater", "<": "less", "=": "equal" }[sign ?? ""];
  return { name, value, comparison, startStep: step === undefined ? undefined : Number(step) };
}

/** A push as `loss 0.5, acc 0.1`. */
function push(text: string): Report[] {
  return text.split(", ").map((one) => {
    const [name = "", value = ""] = one.split(" ");
    return { name, value };
  });
}

function start(objective: Objective | undefined, rules: string[]): RulesState {
  const read = readRules(rules.map(rule));
  assert.deepEqual(read.problems, []);
  return startRules(objective, read.rules);
}

interface Case {
  objective?: Objective;
  rules: string[];
  pushes: string[];
  /** `<push from 1>: <description>` of each met rule. */
  met: string[];
  /** The push, from 1, that stops the trial. */
  stopped?: number;
}

const BIG = "1.7976931348623157e+308";
const cases: Record<string, Case> = {
  "stops at the first report that meets a rule without a start step": {
    objective: LOSS,
    rules: ["loss > 0.5"],
    pushes: ["loss 0.6", "loss 0.1"],
    met: ["1: loss 0.6 is greater than 0.5, at report 1"],
    stopped: 1,
  },
  "is met neither by an equal value nor by a lesser one": {
    objective: LOSS,
    rules: ["loss > 0.5"],
    pushes: ["loss 0.5", "loss 0.4"],
    met: [],
  },
  "compares with less": {
    objective: ACCURACY,
    rules: ["acc < 0.5"],
    pushes: ["acc 0.5", "acc 0.4", "acc 0.6"],
    met: [],
  },
  "compares with less at the first report": {
    objective: ACCURACY,
    rules: ["acc < 0.5"],
    pushes: ["acc 0.4"],
    met: ["1: acc 0.4 is less than 0.5, at report 1"],
    stopped: 1,
  },
  "compares for equality as numbers": {
    rules: ["lr = 0.10"],
    pushes: ["lr 0.2", "lr 1e-1"],
    met: ["2: lr 1e-1 is equal to 0.10, at report 2"],
    stopped: 2,
  },
  "tests a rule with a start step at that report, and at no other": {
    objective: LOSS,
    rules: ["loss > 0.5 at 3"],
    pushes: ["loss 0.9", "loss 0.8", "loss 0.7"],
    met: ["3: loss 0.7 is greater than 0.5, at report 3"],
    stopped: 3,
  },
  "never tests it again": {
    rules: ["grad > 0.5 at 2"],
    pushes: ["grad 0.1", "grad 0.1", "grad 0.9", "grad 0.9"],
    met: [],
  },
  "tests every report if the start step is 0": {
    rules: ["grad > 0.5 at 0"],
    pushes: ["grad 0.1", "grad 0.9"],
    met: ["2: grad 0.9 is greater than 0.5, at report 2"],
    stopped: 2,
  },
  "compares the least of an objective that is minimized": {
    objective: LOSS,
    rules: ["loss > 0.5 at 3"],
    pushes: ["loss 0.9", "loss 0.4", "loss 0.9"],
    met: [],
  },
  "compares the greatest of an objective that is maximized": {
    objective: ACCURACY,
    rules: ["acc < 0.5 at 3"],
    pushes: ["acc 0.1", "acc 0.3", "acc 0.2"],
    met: ["3: acc 0.2, at best 0.3, is less than 0.5, at report 3"],
    stopped: 3,
  },
  "compares the value itself of another metric": {
    objective: LOSS,
    rules: ["grad > 5"],
    pushes: ["grad 1, loss 9", "grad 6, loss 1"],
    met: ["2: grad 6 is greater than 5, at report 2"],
    stopped: 2,
  },
  "compares the value itself if there is no objective": {
    rules: ["loss > 0.5 at 2"],
    pushes: ["loss 0.1", "loss 0.9"],
    met: ["2: loss 0.9 is greater than 0.5, at report 2"],
    stopped: 2,
  },
  "stops when the last of its rules is met, each at its own time": {
    objective: LOSS,
    rules: ["loss > 0.5 at 2", "grad > 5"],
    pushes: ["grad 6, loss 0.9", "loss 0.8", "loss 0.7"],
    met: [
      "1: grad 6 is greater than 5, at report 1",
      "2: loss 0.8 is greater than 0.5, at report 2",
    ],
    stopped: 2,
  },
  "does not stop while one is open": {
    objective: LOSS,
    rules: ["loss > 0.5", "grad > 5"],
    pushes: ["loss 0.9", "grad 1", "loss 0.9"],
    met: ["1: loss 0.9 is greater than 0.5, at report 1"],
  },
  "counts the reports of each metric by themselves": {
    rules: ["a > 0 at 2", "b > 0 at 1"],
    pushes: ["a 1", "b 1", "a 1"],
    met: ["2: b 1 is greater than 0, at report 1", "3: a 1 is greater than 0, at report 2"],
    stopped: 3,
  },
  "tests two rules of one metric each at its own report": {
    rules: ["a > 0 at 3", "a > 5 at 2"],
    pushes: ["a 1", "a 6", "a 1"],
    met: ["2: a 6 is greater than 5, at report 2", "3: a 1 is greater than 0, at report 3"],
    stopped: 3,
  },
  "drops two rules that one report meets": {
    rules: ["a > 0", "a > 1"],
    pushes: ["a 2"],
    met: ["1: a 2 is greater than 0, at report 1", "1: a 2 is greater than 1, at report 1"],
    stopped: 1,
  },
  "meets rules of two metrics in one push": {
    rules: ["a > 0", "b > 0"],
    pushes: ["a 1, b 1"],
    met: ["1: a 1 is greater than 0, at report 1", "1: b 1 is greater than 0, at report 1"],
    stopped: 1,
  },
  "does not count what no rule names": {
    rules: ["a > 0 at 2"],
    pushes: ["b 1, a 1", "b 1", "a 1"],
    met: ["3: a 1 is greater than 0, at report 2"],
    stopped: 3,
  },
  "does not count what is no number": {
    rules: ["a > 0 at 2"],
    pushes: ["a 1", "a high", "a 0x1p1", "a 1"],
    met: ["4: a 1 is greater than 0, at report 2"],
    stopped: 4,
  },
  "never stops without a rule": { objective: LOSS, rules: [], pushes: ["loss NaN"], met: [] },
  "takes NaN of the objective for its worst": {
    objective: LOSS,
    rules: ["loss > 0.5"],
    pushes: ["loss NaN"],
    met: ["1: loss NaN counts as the worst value (rule: greater than 0.5), at report 1"],
    stopped: 1,
  },
  "compares the best before NaN, and does not stop a trial that was good": {
    objective: LOSS,
    rules: ["loss > 0.5"],
    pushes: ["loss 0.1", "loss NaN", "loss NaN"],
    met: [],
  },
  "compares the best before NaN, and stops a trial that was bad": {
    objective: LOSS,
    rules: ["loss > 0.5 at 2"],
    pushes: ["loss 0.9", "loss NaN"],
    met: ["2: loss NaN, at best 0.9, is greater than 0.5, at report 2"],
    stopped: 2,
  },
  "treats infinity as the worst value, with any sign": {
    objective: LOSS,
    rules: ["loss > 0.5"],
    pushes: ["loss -inf"],
    met: ["1: loss -inf counts as the worst value (rule: greater than 0.5), at report 1"],
    stopped: 1,
  },
  "meets by the worst value no rule that asks for another": {
    objective: LOSS,
    rules: ["loss = 0.5", "loss < 0.5", "loss > inf"],
    pushes: ["loss -inf"],
    met: [],
  },
  "takes 1e400 for the worst": {
    objective: ACCURACY,
    rules: ["acc < 0.5"],
    pushes: ["acc 1e400"],
    met: ["1: acc 1e400 counts as the worst value (rule: less than 0.5), at report 1"],
    stopped: 1,
  },
  "takes what the log has instead of NaN for the worst": {
    objective: LOSS,
    rules: ["loss > 0.5 at 2"],
    pushes: ["loss NaN", `loss ${BIG}`],
    met: [`2: loss ${BIG} counts as the worst value (rule: greater than 0.5), at report 2`],
    stopped: 2,
  },
  "tests NaN at the start step only, as any report": {
    objective: LOSS,
    rules: ["loss > 0.5 at 3"],
    pushes: ["loss NaN", "loss 0.1", "loss 0.2", "loss NaN"],
    met: [],
  },
  "compares with the first number after NaN": {
    objective: LOSS,
    rules: ["loss > 0.5 at 2"],
    pushes: ["loss NaN", "loss 0.9"],
    met: ["2: loss 0.9 is greater than 0.5, at report 2"],
    stopped: 2,
  },
  "meets no rule by NaN of another metric": {
    objective: LOSS,
    rules: ["grad > 5"],
    pushes: ["grad NaN", "grad -inf"],
    met: [],
  },
  "compares infinity of another metric": {
    objective: LOSS,
    rules: ["grad > 5"],
    pushes: ["grad 1e400"],
    met: ["1: grad 1e400 is greater than 5, at report 1"],
    stopped: 1,
  },
  "is met by nothing finite above infinity": {
    objective: LOSS,
    rules: ["loss > inf"],
    pushes: ["loss 1e308"],
    met: [],
  },
};

for (const [sentence, { objective, rules, pushes, met, stopped }] of Object.entries(cases)) {
  Deno.test(`\`applyReport()\` ${sentence}`, () => {
    let state = start(objective, rules);
    const seen: string[] = [];
    let stoppedAt: number | undefined;
    for (const [index, text] of pushes.entries()) {
      const applied = applyReport(state, push(text));
      state = applied.state;
      seen.push(...applied.met.map((one) => `${index + 1}: ${describeMet(one)}`));
      if (state.stopped !== undefined && stoppedAt === undefined) {
        assert.equal(state.stopped, applied.met.at(-1));
        stoppedAt = index + 1;
      }
    }
    assert.deepEqual(seen, met);
    assert.equal(stoppedAt, stopped);
    assert.equal(state.stopped === undefined, stopped === undefined);
  });
}

/** Rules of a job's own, which compare the newest value, and each of which is enough. */
function ownRules(...lines: string[]): RulesState {
  const read = readOwnRules({ [ANNOTATIONS.stopWhen]: lines.join("\n") });
  assert.deepEqual(read.problems, []);
  return startRules(LOSS, read.own?.rules ?? [], read.own?.stopsAt);
}

/** Reports as `LOSS` or `LOSS@STEP`. */
const losses = (text: string): Report[] =>
  text.split(" ").map((one) => {
    const [value = "", step] = one.split("@");
    return { name: "loss", value, ...(step !== undefined && { step: Number(step) }) };
  });

const own: Record<string, [lines: string[], reports: string, want: string | undefined]> = {
  "the newest value, not the best": [
    ["loss > 10"],
    "1 2 11 3",
    "loss 11 is greater than 10, at report 3",
  ],
  "infinity": [["loss > 10"], "1 1e400", "loss 1e400 is greater than 10, at report 2"],
  "not NaN": [["loss > 10", "loss < 0", "loss = 3"], "NaN", undefined],
  "NaN, which is told from infinity": [["loss is nan"], "1 inf nan", "loss is NaN, at report 3"],
  "what is equal": [["loss >= 2"], "1 2", "loss 2 is at least 2, at report 2"],
  "what is equal from above": [["loss <= 2"], "3 2", "loss 2 is at most 2, at report 2"],
  "each report from the first that counts": [
    ["loss > 10 after 3 reports"],
    "11 12 1 2 13",
    "loss 13 is greater than 10, at report 5",
  ],
  "the first report that counts": [
    ["loss > 10 after 3 reports"],
    "1 1 11",
    "loss 11 is greater than 10, at report 3",
  ],
  "each step from the first that counts, and no report without a step": [
    ["loss > 10 after step 100"],
    "11 11@99 1@100 12 12@120",
    "loss 12 is greater than 10, at step 120",
  ],
  "any line, and says the first that is met": [
    ["grad > 1", "loss > 5", "loss > 10"],
    "1 11",
    "loss 11 is greater than 5, at report 2",
  ],
};
for (const [sentence, [lines, reports, want]] of Object.entries(own)) {
  Deno.test(`\`applyReport()\` stops by a job's own lines at ${sentence}`, () => {
    const { state } = applyReport(ownRules(...lines), losses(reports));
    assert.equal(state.stopped && describeMet(state.stopped), want);
    assert.deepEqual(applyReport(state, want === undefined ? [] : losses("99")).met, []);
  });
}

Deno.test("`applyReport()` keeps the decision, and counts nothing after it", () => {
  const { state } = applyReport(start(LOSS, ["loss > 0.5"]), push("loss 0.6, loss 0.7"));
  assert.equal(state.stopped?.value, "0.6");
  const after = applyReport(state, push("loss 0.9"));
  assert.deepEqual(after, { state, met: [] });
});

const problems: Record<string, [Record<string, unknown>, string, string]> = {
  "a comparison that only a job's own rule may have": [
    { name: "loss", comparison: "nan" },
    "loss",
    'its comparison "nan" must be one of equal, less, greater',
  ],
  "an unknown comparison": [
    { name: "loss", value: "1", comparison: "greaterThan" },
    "loss",
    'its comparison "greaterThan" must be one of equal, less, greater',
  ],
  "a comparison that is missing": [
    { name: "loss", value: "1" },
    "loss",
    "its comparison (none) must be one of equal, less, greater",
  ],
  "a value that is no number": [
    { name: "loss", value: "high", comparison: "less" },
    "loss",
    'its value "high" is not a number',
  ],
  "a hexadecimal value": [
    { name: "loss", value: "0x1p1", comparison: "less" },
    "loss",
    'its value "0x1p1" is not a number',
  ],
  "a value of another JSON type": [
    { name: "loss", value: 0.5, comparison: "less" },
    "loss",
    "its value 0.5 must be a number in a string",
  ],
  "a value that cannot be compared": [
    { name: "loss", value: "nan", comparison: "less" },
    "loss",
    'its value "nan" cannot be compared',
  ],
  "no metric": [{ name: "", value: "1", comparison: "less" }, "", "it names no metric"],
  "a metric of another JSON type": [
    { name: { a: 1 }, value: "1", comparison: "less" },
    '{"a":1}',
    "it names no metric",
  ],
  "a start step that is negative": [
    { name: "loss", value: "1", comparison: "less", startStep: -1 },
    "loss",
    "its startStep -1 must be an integer of at least 0",
  ],
  "half a start step": [
    { name: "loss", value: "1", comparison: "less", startStep: 1.5 },
    "loss",
    "its startStep 1.5 must be an integer of at least 0",
  ],
  "a start step in a string": [
    { name: "loss", value: "1", comparison: "less", startStep: "3" },
    "loss",
    'its startStep "3" must be an integer of at least 0',
  ],
};

for (const [sentence, [bad, name, why]] of Object.entries(problems)) {
  Deno.test(`\`readRules()\` reports ${sentence}, and returns no other rule`, () => {
    assert.deepEqual(readRules([bad, rule("loss > 0.5")]), {
      rules: [],
      problems: [{ index: 0, rule: name, why }],
    });
  });
}

Deno.test("`readRules()` shortens what it shows", () => {
  const long = { name: "a", value: "x".repeat(10_000), comparison: "less", startStep: 1 };
  const [problem] = readRules([long]).problems;
  assert.ok((problem?.why.length ?? Infinity) < 120);
});

Deno.test("`unreportedMetrics()` names what rules wait for", () => {
  const state = start(LOSS, ["loss > 0.5", "grad > 1", "norm > 1 at 2"]);
  assert.deepEqual(unreportedMetrics(state), ["loss", "grad", "norm"]);
  assert.deepEqual(unreportedMetrics(applyReport(state, push("grad 0, x 1")).state), [
    "loss",
    "norm",
  ]);
});

const value = fc.oneof(
  fc.integer({ min: -3, max: 3 }).map(String),
  fc.constantFrom("NaN", "-inf", "1e400", "high", BIG, `-${BIG}`),
);
const report = fc.record({ name: fc.constantFrom("loss", "grad", "x"), value });
const someRules = fc.array(
  fc.record({
    name: fc.constantFrom("loss", "grad"),
    value: fc.integer({ min: -3, max: 3 }).map(String),
    comparison: fc.constantFrom(...KATIB_COMPARISONS),
    startStep: fc.option(fc.nat({ max: 4 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 4 },
);
const objective = fc.constantFrom(LOSS, { ...LOSS, type: "maximize" as const }, undefined);

Deno.test("`applyReport()` decides the same for any grouping of reports", () => {
  fc.assert(
    fc.property(objective, someRules, fc.array(fc.array(report)), (about, rules, pushes) => {
      const state = startRules(about, rules);
      const whole = applyReport(state, pushes.flat());
      let current = state;
      const met = pushes.flatMap((one) => {
        const applied = applyReport(current, one);
        current = applied.state;
        return applied.met;
      });
      assert.deepEqual(current, whole.state);
      assert.deepEqual(met, whole.met);
    }),
  );
});

/** The rules of Katib's sidecar: one rule, numbers only. */
function sidecar(maximizes: boolean, startStep: number, isMet: (best: number) => boolean) {
  let best: number | undefined;
  let left = startStep;
  return (value: number): boolean => {
    best = best === undefined ? value : maximizes ? Math.max(best, value) : Math.min(best, value);
    if (startStep === 0) return isMet(best);
    left -= 1;
    return left === 0 && isMet(best);
  };
}

Deno.test("`applyReport()` stops when Katib's sidecar would, for one rule of the objective", () => {
  const numbers = fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 8 });
  fc.assert(
    fc.property(fc.boolean(), fc.nat({ max: 5 }), numbers, (maximizes, startStep, values) => {
      const about: Objective = { name: "loss", type: maximizes ? "maximize" : "minimize" };
      const comparison = maximizes ? "less" : "greater";
      const state = startRules(about, [{ name: "loss", value: "0", comparison, startStep }]);
      const stops = sidecar(maximizes, startStep, (best) => maximizes ? best < 0 : best > 0);
      const want = values.findIndex(stops);
      const reports = values.map((one) => ({ name: "loss", value: String(one) }));
      const { stopped } = applyReport(state, reports).state;
      assert.equal(stopped?.step, want === -1 ? undefined : want + 1);
    }),
  );
});

/** Reports of a loss as `STEP LOSS`; a dash stands for no step. Returns the last rule that was met, in words. */
function stoppedAt(startSteps: readonly number[], reports: readonly string[]): string | undefined {
  const rules = startSteps.map((startStep) => ({
    name: "loss",
    value: "0.5",
    comparison: "greater" as const,
    startStep,
    unit: "step" as const,
  }));
  const state = startRules(LOSS, rules);
  const pushed = reports.map((it): Report => {
    const [step = "", value = ""] = it.split(" ");
    return { name: "loss", value, ...(step !== "-" && { step: Number(step) }) };
  });
  const { stopped } = applyReport(state, pushed).state;
  return stopped && describeMet(stopped);
}

const STEP_CASES: Readonly<Record<string, [number[], string[], string | undefined]>> = {
  "at the first step at or beyond the start step": [
    [100],
    ["50 0.9", "99 0.9", "120 0.8", "130 0.7"],
    "loss 0.8 is greater than 0.5, at step 120",
  ],
  "at the start step itself": [[100], ["100 0.9"], "loss 0.9 is greater than 0.5, at step 100"],
  "once, and never again": [[100], ["100 0.4", "100 0.9", "200 0.9"], undefined],
  "not by a report without a step": [[0], ["- 0.9", "- 0.9"], undefined],
  "by the best value so far, also of reports without a step": [
    [10],
    ["- 0.1", "10 0.9"],
    undefined,
  ],
  "not by a value that is no number": [
    [10],
    ["10 high", "11 0.9"],
    "loss 0.9 is greater than 0.5, at step 11",
  ],
  "each of two rules at its own step": [
    [10, 20],
    ["10 0.9", "20 0.8"],
    "loss 0.8 is greater than 0.5, at step 20",
  ],
  "two rules that one step passes": [
    [10, 20],
    ["30 0.9"],
    "loss 0.9 is greater than 0.5, at step 30",
  ],
};

for (const [says, [startSteps, reports, want]] of Object.entries(STEP_CASES)) {
  Deno.test(`\`applyReport()\` tests a rule that counts steps ${says}`, () => {
    assert.equal(stoppedAt(startSteps, reports), want);
  });
}
