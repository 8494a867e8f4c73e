/** Tests of pruners beside slow readings of their rules. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { readPruner } from "../../../crds/pruner.ts";
import { ashaVerdict, autoResource } from "../../../trials/pruning/asha.ts";
import { medianOf, medianVerdict } from "../../../trials/pruning/median.ts";
import { createTrialReports, type ObjectiveReport } from "../../../trials/pruning/trial_reports.ts";

const MEDIANS: readonly (readonly [readonly number[], number])[] = [
  [[], NaN],
  [[NaN], NaN],
  [[3], 3],
  [[1, 2], 1.5],
  [[3, 1, 2], 2],
  [[NaN, 2, 1, NaN], 1.5],
  // As NumPy 2.4.6 has it.
  [[1, Infinity], NaN],
  [[1, 2, Infinity], NaN],
  [[1, 2, 3, Infinity], 2.5],
  [[-Infinity, 1, 2], 1],
  [[-Infinity, 1], -Infinity],
  [[Infinity], NaN],
];
for (const [values, expected] of MEDIANS) {
  Deno.test(`the median of ${values.join(" ") || "nothing"} is ${expected}`, () => {
    assert.equal(medianOf(values), expected);
  });
}

Deno.test("auto is a hundredth of the longest complete trial, and at least one step", () => {
  const of = (...steps: number[]) => autoResource(steps.map((lastStep) => ({ lastStep })));
  assert.deepEqual([of(), of(-1), of(0), of(5, 99), of(250, 199)], [undefined, undefined, 1, 1, 2]);
});

Deno.test("infinite values are compared, and no loop over rungs is endless", () => {
  const settings = ashaSettings({ min_resource: 1, reduction_factor: 2 });
  const judged = (valueAtLast: number, others: readonly number[]) =>
    ashaVerdict(
      {
        reports: { lastStep: Number.MAX_SAFE_INTEGER, valueAtLast },
        rungs: 0,
        othersAt: () => others,
        resource: 1,
      },
      settings,
      true,
    );
  assert.equal(judged(Infinity, [1]).verdict?.rung, 0);
  assert.deepEqual(judged(-Infinity, [1]), { reached: 53 });
});

const pruner = (given: object) => {
  const read = readPruner(JSON.stringify(given));
  assert(read.ok);
  return read.value;
};

/** The settings of the pruners, with defaults. */
function medianSettings(given: object) {
  const { kind, settings } = pruner({ median: given });
  assert(kind === "median");
  return settings;
}
function ashaSettings(given: object) {
  const { kind, settings } = pruner({ asha: given });
  assert(kind === "asha");
  return settings;
}

const value = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc.constantFrom(NaN, Infinity, -Infinity),
);
const reports = fc.array(fc.record({ step: fc.integer({ min: 0, max: 12 }), value }));

/** The first value of each step. */
const firstOf = (all: readonly ObjectiveReport[]) => {
  const first = new Map<number, number>();
  for (const { step = -1, value } of all) if (!first.has(step)) first.set(step, value);
  return first;
};

function reportsOf(all: readonly ObjectiveReport[]) {
  const made = createTrialReports();
  all.forEach(made.add);
  return made;
}

Deno.test("reports are summed up as those who look at all of them do", () => {
  fc.assert(fc.property(reports, (all) => {
    const first = firstOf(all);
    const steps = [...first.keys()].sort((a, b) => b - a);
    const numbers = [...first.values()].filter((it) => !Number.isNaN(it));
    const made = reportsOf(all);
    assert.deepEqual(made.values, first);
    assert.deepEqual([made.lastStep, made.stepBefore], [steps[0] ?? -1, steps[1] ?? -1]);
    assert.equal(made.valueAtLast, first.get(steps[0] ?? -1) ?? NaN);
    assert.equal(made.best(true), numbers.length > 0 ? Math.min(...numbers) : NaN);
    assert.equal(made.best(false), numbers.length > 0 ? Math.max(...numbers) : NaN);
    assert.equal(made.newest, all.at(-1)?.value);
    const brief = createTrialReports(0);
    all.forEach(brief.add);
    assert.equal(brief.values.size, 0, "without values the last one is the same");
    assert.deepEqual([brief.lastStep, brief.valueAtLast], [made.lastStep, made.valueAtLast]);
  }));
});

Deno.test("the median pruner decides as a slow reading of its rules", () => {
  const given = fc.record({
    n_startup_trials: fc.nat(3),
    n_warmup_steps: fc.nat(4),
    interval_steps: fc.integer({ min: 1, max: 4 }),
    n_min_trials: fc.integer({ min: 1, max: 3 }),
  });
  const world = fc.record({ given, trial: reports, complete: fc.array(reports, { maxLength: 6 }) });
  fc.assert(
    fc.property(world, fc.boolean(), ({ given, trial, complete }, isMinimized) => {
      const own = firstOf(trial);
      const slow = () => {
        if (complete.length === 0 || complete.length < given.n_startup_trials) return false;
        const step = Math.max(-1, ...own.keys());
        if (step < given.n_warmup_steps || step < 0) return false;
        let begin = given.n_warmup_steps;
        while (begin + given.interval_steps <= step) begin += given.interval_steps;
        if ([...own.keys()].some((it) => it !== step && it >= begin)) return false;
        const numbers = [...own.values()].filter((it) => !Number.isNaN(it));
        if (numbers.length === 0) return true;
        const others = complete.map(firstOf).filter((it) => it.has(step)).map((it) =>
          it.get(step) ?? NaN
        );
        if (others.length < given.n_min_trials) return false;
        const limit = medianOf(others);
        return isMinimized ? Math.min(...numbers) > limit : Math.max(...numbers) < limit;
      };
      const settings = medianSettings(given);
      const verdict = medianVerdict(
        reportsOf(trial),
        complete.map(reportsOf),
        settings,
        isMinimized,
      );
      assert.equal(verdict !== undefined, slow());
    }),
    { numRuns: 500 },
  );
});

Deno.test("successive halving decides as a slow reading of its rules", () => {
  const given = fc.record({
    min_resource: fc.integer({ min: 1, max: 3 }),
    reduction_factor: fc.integer({ min: 2, max: 4 }),
    min_early_stopping_rate: fc.nat(2),
    bootstrap_count: fc.nat(3),
  });
  const world = fc.record({
    given,
    step: fc.integer({ min: -1, max: 40 }),
    value,
    rungs: fc.nat(2),
    others: fc.array(fc.array(value.filter((it) => !Number.isNaN(it)), { maxLength: 6 }), {
      minLength: 8,
      maxLength: 8,
    }),
  });
  fc.assert(
    fc.property(world, fc.boolean(), ({ given, step, value, rungs, others }, isMinimized) => {
      const { min_resource: resource, reduction_factor: factor, bootstrap_count } = given;
      const slow = () => {
        const had = rungs;
        for (let rung = had;; rung++) {
          let need = resource;
          for (let time = 0; time < given.min_early_stopping_rate + rung; time++) need *= factor;
          if (step < need) return { reached: rung - had, isPruned: false };
          if (Number.isNaN(value)) return { reached: rung - had, isPruned: true };
          const all = [...others[rung] ?? [], value];
          const better = all.filter((it) => isMinimized ? it < value : it > value).length;
          const goOn = Math.max(1, Math.floor(all.length / factor));
          if (all.length <= bootstrap_count || better >= goOn) {
            return { reached: rung + 1 - had, isPruned: true };
          }
        }
      };
      const { reached, verdict } = ashaVerdict(
        {
          reports: { lastStep: step, valueAtLast: value },
          rungs,
          othersAt: (rung) => others[rung] ?? [],
          resource,
        },
        ashaSettings(given),
        isMinimized,
      );
      assert.deepEqual({ reached, isPruned: verdict !== undefined }, slow());
    }),
    { numRuns: 500 },
  );
});
