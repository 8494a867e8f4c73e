/** Tests of the state of a search: which trials its pruner stops, by decisions of Optuna 5.0.0. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type PruningRecord,
  pruningRecordText,
  readTrialRecords,
  recordKeys,
} from "../../../crds/trial_records.ts";
import {
  needsLog,
  type PrunedSearch,
  type SearchState,
} from "../../../owner/searches/search_state.ts";
import {
  asText,
  inSeries,
  inTurns,
  prunedOf,
  searchBy,
  stateOf,
  timeAt,
  type Told,
} from "./made_up_search.ts";

/** Losses of 12 trials at the steps 1 to 9. */
const TRACE = `
  .90 .80 .70 .65 .60 .58 .56 .55 .54
  .95 .70 .50 .45 .40 .38 .36 .35 .34
  .85 .80 .75 .70 .68 .66 .65 .64 .63
  .80 .60 .72 .50 .40 .35 .30 .25 .20
  .70 .65 .55 .50 .45 .40 .35 .30 .28
  .99 .50 .30 .20 .10 .10 .10 .10 .10
  .75 .55 .45 .42 .40 .39 .38 .37 .36
  .60 .50 .48 .47 .46 .45 .44 .43 .42
  .65 .40 .20 .19 .18 .17 .16 .15 .14
  NaN .40 .20 .19 .18 .17 .16 .15 .14
  .55 NaN .44 .43 .42 .41 .40 .39 .38
  .60 .50 .40 .35 .30 .29 .28 .27 .26
`.trim().split("\n").map((line) => line.trim().split(" ").map(Number));
const steady = (length: number, ...values: number[]) =>
  values.map((value) => Array.from({ length }, () => value));
/** Trials whose loss does not change, for 9 steps. */
const STEADY = steady(9, .5, .6, .4, .7, .3, .45, .2, .9, .1);

const TABLE: readonly (readonly [string, PrunedSearch, readonly Told[], string])[] = [
  ["median", searchBy({ median: {} }), inSeries(TRACE), "5@1 6@7 7@5 9@1 10@6"],
  [
    "median from two trials on",
    searchBy({ median: { n_startup_trials: 2 } }),
    inSeries(TRACE),
    "2@2 4@5 5@1 6@6 7@5 9@1 10@5",
  ],
  [
    "median of trials side by side",
    searchBy({ median: { n_startup_trials: 0 } }),
    inTurns(TRACE),
    "2@9 6@9 7@9 10@9 11@9",
  ],
  [
    "rungs, in series",
    searchBy({ asha: { min_resource: 1, reduction_factor: 3 } }),
    inSeries(TRACE),
    "1@1 2@3 3@3 5@1 6@9 7@9 9@1 10@9",
  ],
  [
    "rungs, side by side",
    searchBy({ asha: { min_resource: 1, reduction_factor: 3 } }),
    inTurns(TRACE),
    "1@1 2@3 3@3 5@1 6@9 7@9 9@1 10@9",
  ],
  [
    "rungs of half, side by side",
    searchBy({ asha: { min_resource: 1, reduction_factor: 2 } }),
    inTurns(TRACE.slice(0, 8)),
    "1@1 2@4 4@8 5@1 6@8 7@8",
  ],
  [
    "steady trials",
    searchBy({ asha: { min_resource: 1, reduction_factor: 3 } }),
    inSeries(STEADY),
    "1@1 3@1 5@1 7@1",
  ],
  [
    "steady trials, a later lowest rung",
    searchBy({ asha: { min_resource: 1, reduction_factor: 3, min_early_stopping_rate: 1 } }),
    inSeries(STEADY),
    "1@3 3@3 5@3 7@3",
  ],
  [
    "steady trials, the first two of each rung stop",
    searchBy({ asha: { min_resource: 1, reduction_factor: 3, bootstrap_count: 2 } }),
    inSeries(STEADY),
    "0@1 1@1 2@3 3@1 4@3 5@1 6@9 7@1 8@9",
  ],
  [
    "steady trials, the largest is the best",
    searchBy({ asha: { min_resource: 1, reduction_factor: 3 } }, false),
    inSeries(STEADY),
    "2@1 4@1 5@1 6@1 8@1",
  ],
  [
    "ties go on",
    searchBy({ asha: { min_resource: 1, reduction_factor: 2 } }),
    inSeries([[.5, .4, .3, .2], [.5, .4, .3, .2], [.6, .4], [NaN, .1], [.5, .35, .25, .1]]),
    "2@1 3@1",
  ],
  [
    "the lowest rung by the first complete trial",
    searchBy({ asha: {} }),
    inSeries(steady(250, .5, .6, .4, .45)),
    "3@2",
  ],
  [
    "the lowest rung, while others have come past it",
    searchBy({ asha: { reduction_factor: 2 } }),
    inTurns([[.5, .4], [.6, .5, .45, .44], [.3, .3, .2, .2], [.2, .9, .1, .1], [.7, .7, .3, .3]]),
    "3@2 4@2",
  ],
  [
    "the first report of an interval, wherever it is",
    searchBy({ median: { n_startup_trials: 1, interval_steps: 3 } }),
    [...inSeries([[.5, .5, .5]]), { trial: 1, step: 2, value: .9 }],
    "1@2",
  ],
  [
    "no trial that failed, or was stopped, is compared with",
    searchBy({ median: { n_startup_trials: 1 } }),
    [{ trial: 0, step: 1, value: .1 }, { trial: 0, end: "failed" }, {
      trial: 1,
      step: 1,
      value: .9,
    }],
    "",
  ],
  [
    "a complete trial whose last value is no number is none to compare with",
    searchBy({ median: { n_startup_trials: 1 } }),
    inSeries([[.1, NaN], [.9, .9]]),
    "",
  ],
  [
    "the first value of a step counts",
    searchBy({ asha: { min_resource: 2, reduction_factor: 2 } }),
    [
      { trial: 0, step: 2, value: .5 },
      { trial: 1, step: 1, value: .1 },
      { trial: 1, step: 2, value: .4 },
      { trial: 1, step: 2, value: .9 },
      { trial: 2, step: 2, value: .45 },
    ],
    "2@2",
  ],
  [
    "too few trials with that step",
    searchBy({ median: { n_startup_trials: 1, n_min_trials: 2 } }),
    [...inSeries([[.1]]), { trial: 1, step: 1, value: .9 }],
    "",
  ],
];

for (const [name, search, told, expected] of TABLE) {
  Deno.test(`a pruner decides as Optuna: ${name}`, () => {
    assert.equal(asText(prunedOf(search, told).pruned), expected);
  });
}

/** What a new owner has: records by the text that is kept, and all that logs have, each at its place. */
function afterOwner(
  search: PrunedSearch,
  told: readonly (readonly [number, Told])[],
  before: Pick<SearchState, "records">,
): SearchState {
  const data = Object.fromEntries(
    [...before.records()].map(([index, it]) => [recordKeys.pruning(index), pruningRecordText(it)]),
  );
  const { pruning } = readTrialRecords(data);
  const state = stateOf(search, pruning);
  for (const trial of new Set(told.map(([, { trial }]) => trial))) {
    if (!needsLog(pruning.get(trial), true)) continue;
    const reports = told.flatMap(([place, event]) =>
      event.trial !== trial || "end" in event ? [] : [{ ...event, time: timeAt(place) }]
    );
    state.read(trial, reports);
  }
  state.judgeRead(() => "2026-01-01T00:00:00.000Z");
  for (const [, event] of told) {
    if ("end" in event) state.end(event.trial, event.end === "complete");
  }
  return state;
}

for (const [name, search, told, expected] of TABLE) {
  for (const isRecorded of [true, false]) {
    // Without its last record a report was not answered, and is sent again.
    const what = isRecorded ? "after each report" : "before each record";
    Deno.test(`a pruner decides the same under a new owner ${what}: ${name}`, () => {
      const heard: [number, Told][] = [];
      const pruned = new Set<number>();
      let before: ReadonlyMap<number, PruningRecord> = new Map();
      const { pruned: all, state } = prunedOf(search, told, (state, place) => {
        const event = told[place];
        if (event !== undefined && !pruned.has(event.trial)) heard.push([place, event]);
        const kept = isRecorded ? state.records() : before;
        // Of the longest trials not each step: a state of thousands of reports would be built for each.
        const isNext = told.length <= 500 || place % 50 === 0;
        const next = isNext ? afterOwner(search, heard, { records: () => kept }) : state;
        if (event !== undefined && !("end" in event)) {
          if (!next.isJudged(event.trial)) next.judge(event.trial, "2026-01-01T00:00:00.000Z");
        }
        before = next.records();
        for (const [trial, record] of before) if (record.pruned) pruned.add(trial);
        return next;
      });
      assert.equal(asText(all), expected);
      const byTrial = ({ state }: { readonly state: Pick<SearchState, "records"> }) =>
        [...state.records()].sort(([a], [b]) => a - b);
      assert.deepEqual(byTrial({ state }), byTrial(prunedOf(search, told)));
    });
  }
}

Deno.test("the values of rungs, and the lowest rung, are recorded", () => {
  const asha = searchBy({ asha: { min_resource: 1, reduction_factor: 3 } });
  const { state } = prunedOf(asha, inSeries(TRACE));
  const third = [...state.records()].flatMap(([trial, { rungs, pruned }]) =>
    pruned === undefined && rungs?.[2] !== undefined ? [`T${trial} ${rungs[2]}`] : []
  );
  assert.deepEqual(third, ["T0 0.54", "T4 0.28", "T8 0.14", "T11 0.26"]);
  const single = prunedOf(searchBy({ asha: { min_resource: 1, reduction_factor: 2 } }), [
    { trial: 0, step: 5, value: .3 },
  ]);
  assert.deepEqual(single.state.records().get(0), { rungs: [.3, .3, .3] });
  const found = prunedOf(searchBy({ asha: {} }), inSeries(steady(250, .5, .6)));
  assert.deepEqual([...found.state.records()].map(([, it]) => it.resource), [undefined, 2]);
});

Deno.test("a verdict says value, step, rung and place in words", () => {
  const words = (search: PrunedSearch) => [...prunedOf(search, inSeries(TRACE)).words.values()];
  assert.deepEqual(words(searchBy({ median: {} })).slice(0, 4), [
    "pruner median: the best loss so far, 0.99, is number 6 of 6 at step 1, where the median is 0.85",
    "pruner median: the best loss so far, 0.38, is number 4 of 6 at step 7, where the median is 0.36",
    "pruner median: the best loss so far, 0.46, is number 4 of 6 at step 5, where the median is 0.45",
    "pruner median: loss is not a number at step 1",
  ]);
  assert.deepEqual(
    words(searchBy({ asha: { min_resource: 1, reduction_factor: 3 } })).slice(0, 2),
    [
      "pruner asha: loss 0.95 is number 2 of 2 at step 1, rung 0, where 0.9 goes on",
      "pruner asha: loss 0.75 is number 2 of 2 at step 3, rung 1, where 0.7 goes on",
    ],
  );
  const bootstrap = searchBy({ asha: { min_resource: 1, bootstrap_count: 1 } });
  assert.deepEqual(words(bootstrap).slice(0, 1), [
    "pruner asha: loss 0.9 is number 1 of 1 at step 1, rung 0, where none goes on yet",
  ]);
});

Deno.test("a trial that may not be stopped has its rungs all the same", () => {
  const state = stateOf(searchBy({ asha: { min_resource: 1 } }));
  for (const trial of [0, 1]) {
    state.add(trial, { step: 1, value: trial, time: "" });
    state.judge(trial, undefined);
  }
  assert.deepEqual([...state.changes()], [[0, { rungs: [0] }], [1, { rungs: [1] }]]);
  assert.equal(state.changes().size, 0);
});

Deno.test("the end of a trial is recorded once, unless its verdict says enough", () => {
  const state = stateOf(searchBy({ asha: { min_resource: 1, reduction_factor: 2 } }));
  for (const trial of [0, 1]) {
    state.add(trial, { step: 1, value: trial, time: "" });
    state.judge(trial, "2026-01-01T00:00:00.000Z");
  }
  assert.equal(state.changes().size, 2);
  for (const trial of [0, 0, 1, 2]) state.end(trial, false);
  assert.deepEqual([...state.changes()], [[0, { rungs: [0], values: [] }], [2, { values: [] }]]);
});

Deno.test("reports without a step are counted by pod, also on from those whose pod is not known", () => {
  const search = searchBy({ median: { n_startup_trials: 1 } });
  const state = stateOf(search);
  for (const value of [.9, .8]) state.add(0, { value, time: "" });
  state.add(0, { value: .7, pod: "a", time: "" });
  state.add(0, { value: .6, pod: "b", time: "" });
  state.add(0, { value: .5, pod: "a", time: "" });
  state.end(0, true);
  assert.deepEqual(state.records().get(0)?.values, [[1, .9], [2, .8], [3, .7], [4, .5]]);
});

Deno.test("after 4,096 steps of complete trials the median stops none, while rungs have no bound", () => {
  const told = (step: number): Told[] => [
    ...Array.from({ length: 4_100 }, (_, it): Told => ({ trial: 0, step: it + 1, value: .1 })),
    { trial: 0, end: "complete" },
    { trial: 1, step, value: .9 },
  ];
  const median = searchBy({ median: { n_startup_trials: 1 } });
  assert.equal(asText(prunedOf(median, told(4_096)).pruned), "1@4096");
  assert.equal(asText(prunedOf(median, told(4_097)).pruned), "");
  const asha = searchBy({ asha: { min_resource: 4_097, reduction_factor: 2 } });
  assert.equal(asText(prunedOf(asha, told(4_097)).pruned), "1@4097");
});

Deno.test("records that somebody has changed are left out, or do no harm", () => {
  const read = (text: string) => readTrialRecords({ "pruning.1": text }).pruning.get(1);
  for (const text of ["", "[]", '{"rungs": [{}]}', '{"resource": 0}', '{"values": [["a", 1]]}']) {
    assert.equal(read(text), undefined, text);
  }
  assert.equal(read(JSON.stringify({ pruned: "x".repeat(2_000) })), undefined);
  const odd = read('{"rungs": ["NaN", 1], "reports": 1, "hasCompleted": true}');
  const state = stateOf(searchBy({ asha: { min_resource: 1 } }), new Map([[1, odd ?? {}]]));
  state.add(1, { step: 1, value: 1, time: "" });
  state.judge(1, undefined);
  assert.deepEqual(state.records().get(1), { rungs: [NaN, 1] });
});

Deno.test("records are read as they were written", () => {
  const number = fc.double();
  const record = fc.record({
    rungs: fc.array(number, { minLength: 1 }),
    pruned: fc.string(),
    resource: fc.integer({ min: 1 }),
    values: fc.array(fc.tuple(fc.nat(), number)),
  }, { requiredKeys: [] });
  fc.assert(fc.property(record, (record) => {
    const data = { "pruning.7": pruningRecordText(record) };
    const written = JSON.stringify(record, (_, it) => Object.is(it, -0) ? 0 : it);
    const read = readTrialRecords(data).pruning.get(7);
    assert.equal(JSON.stringify(read, (_, it) => Object.is(it, -0) ? 0 : it), written);
  }));
});
