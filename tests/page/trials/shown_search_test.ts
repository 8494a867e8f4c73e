/** Tests of a search as it is shown: best so far, values, parameters that nobody declared, causes of stops, and bounds. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { readJob, trialsOfJobs } from "../../../page/trials/labelled_jobs.ts";
import type { FoundSearch, FoundTrial } from "../../../page/trials/search.ts";
import { shownSearch, withinAnswer } from "../../../page/trials/shown_search.ts";
import { ruleWords, stopOfJob, stoppedBy } from "../../../page/trials/trial_stop_words.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();

function trial(index: number, more: Partial<FoundTrial> = {}): FoundTrial {
  return {
    name: `t-${index}`,
    state: "Complete",
    created: at(index),
    ended: at(index + 10),
    assignments: [],
    metrics: [],
    ...more,
  };
}
const withLoss = (index: number, loss: string, more: Partial<FoundTrial> = {}) =>
  trial(index, { metrics: [{ name: "loss", min: loss, latest: "9" }], ...more });

function search(trials: readonly FoundTrial[], more: Partial<FoundSearch> = {}): FoundSearch {
  return {
    kind: "k",
    namespace: "ns",
    name: "s",
    state: "Running",
    notes: [],
    strategies: new Map(),
    objective: { metric: "loss", direction: "minimize" },
    parameters: [],
    trials,
    ...more,
  };
}

Deno.test("the best so far is that of the trials that ended, in the order of their ends", () => {
  const { bestSoFar, best, trials } = shownSearch(search([
    withLoss(0, "3"),
    withLoss(2, "1", { ended: at(30) }),
    withLoss(1, "2"),
    withLoss(3, "2.5"),
    withLoss(4, "0.1", { state: "Running", ended: undefined }),
    withLoss(6, "0.2", { state: "Failed" }),
    withLoss(5, "NaN", { metrics: [{ name: "loss", min: "NaN", latest: "NaN" }] }),
  ]));
  assert.deepEqual(bestSoFar.map(({ trial, value }) => [trial, value]), [
    ["t-0", 3],
    ["t-1", 2],
    ["t-2", 1],
  ]);
  assert.equal(best, "t-2");
  assert.deepEqual(trials.map(({ value }) => value), [3, 2, 1, 2.5, 0.1, undefined, 0.2]);
});

Deno.test("trials that were made in the same second are in the order of their numbers", () => {
  const made = [10, 6, 7].map((index) => trial(index, { created: at(0) }));
  assert.deepEqual(shownSearch(search(made)).trials.map(({ name }) => name), [
    "t-6",
    "t-7",
    "t-10",
  ]);
});

Deno.test("values are read as the controller reads them, and one that is not finite is none", () => {
  const texts = ["inf", "0.5", "nan", "-inf", "-Infinity", "-1e999", "1_000"];
  const { best, trials } = shownSearch(search(texts.map((it, index) =>
    withLoss(index, it, {
      metrics: [{ name: "loss", latest: it }],
    })
  )));
  assert.equal(best, "t-1");
  const none = undefined;
  assert.deepEqual(trials.map(({ value }) => value), [none, 0.5, none, none, none, none, 1000]);
});

const choices = {
  "the other direction": { choice: { direction: "maximize" as const }, best: "t-1" },
  "another metric without a direction": { choice: { metric: "acc" }, best: undefined },
  "another metric with one": {
    choice: { metric: "acc", direction: "minimize" as const },
    best: "t-0",
  },
};
for (const [name, { choice, best }] of Object.entries(choices)) {
  Deno.test(`a viewer compares trials by ${name}`, () => {
    const of = (index: number, loss: string, acc: string) =>
      trial(index, {
        metrics: [{ name: "loss", min: loss, max: loss, latest: loss }, {
          name: "acc",
          latest: acc,
        }],
      });
    assert.equal(shownSearch(search([of(0, "1", "0.2"), of(1, "2", "0.9")]), choice).best, best);
  });
}

Deno.test("a search says which value of a trial counts: the newest where it has no other", () => {
  const strategyOf = (metrics: FoundTrial["metrics"]) =>
    shownSearch(search([trial(0, { metrics })])).objective?.strategy;
  assert.equal(strategyOf([{ name: "loss", min: "1", max: "3", latest: "2" }]), "min");
  assert.equal(strategyOf([{ name: "loss", latest: "2" }, { name: "acc", min: "1" }]), "latest");
});

Deno.test("without an objective trials are shown by the metric that most have, and none is the best", () => {
  const { objective: _, ...none } = search([withLoss(0, "1")]);
  const { objective, best } = shownSearch(none);
  assert.deepEqual(objective, { metric: "loss", strategy: "latest" });
  assert.equal(best, undefined);
});

Deno.test("parameters that nobody declared follow those that were, with the axis that fits their values", () => {
  const of = (index: number, lr: string, opt: string, n: string) =>
    trial(index, {
      assignments: [
        { name: "lr", value: lr },
        { name: "__proto__", value: opt },
        { name: "n", value: n },
      ],
    });
  const { parameters, trials } = shownSearch(
    search([of(0, "0.001", "sgd", "1"), of(1, "1", "adam", "4"), trial(2)]),
  );
  assert.deepEqual(
    parameters.map(({ name, scale, min, max, list }) => [name, scale, min, max, list]),
    [
      ["lr", "log", 0.001, 1, undefined],
      ["__proto__", "list", undefined, undefined, ["adam", "sgd"]],
      ["n", "linear", 1, 4, undefined],
    ],
  );
  assert.deepEqual(trials.map(({ values }) => values), [
    ["0.001", "sgd", "1"],
    ["1", "adam", "4"],
    [null, null, null],
  ]);
});

const rules: Record<string, { rule: unknown; want: string }> = {
  "at one report": {
    rule: { name: "loss", value: "2.5", comparison: "greater", startStep: 4 },
    want: "loss above 2.5 at report 4",
  },
  "at any": {
    rule: { name: "acc", value: "0.3", comparison: "less" },
    want: "acc below 0.3 at any report",
  },
  "by steps": {
    rule: { name: "loss", value: "1", comparison: "equal", startStep: 200, unit: "step" },
    want: "loss equal to 1 from step 200 on",
  },
  "odd": { rule: { name: {}, value: [], comparison: "~" }, want: "? ~ ? at any report" },
  "none at all": { rule: null, want: "? ? ? at any report" },
};
for (const [name, { rule, want }] of Object.entries(rules)) {
  Deno.test(`a rule in words: ${name}`, () => assert.equal(ruleWords(rule), want));
}

const job = (status: Record<string, unknown>, spec: object = {}, name = "j") =>
  TRAINJOB.parse({
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: { name, namespace: "ns", uid: "u", creationTimestamp: at(0) },
    spec: { runtimeRef: { name: "r" }, ...spec },
    status,
  });
const stopped = {
  type: "EarlyStopped",
  status: "True",
  reason: "RulesMet",
  message: "loss 3 is greater than 2.5, at report 4",
  lastTransitionTime: at(3),
};

Deno.test("a job says what stopped it: its rules, or who asked for it", () => {
  assert.equal(stopOfJob(TRAINJOB, job({})), undefined);
  assert.deepEqual(stopOfJob(TRAINJOB, job({ conditions: [stopped] })), {
    by: "rules",
    text: "loss 3 is greater than 2.5, at report 4",
  });
  const stop = { reason: "Pruned", message: "worse", time: at(1), user: "ada", graceSeconds: 0 };
  assert.deepEqual(stopOfJob(TRAINJOB, job({ stop })), {
    by: "pruner",
    text: "Pruned: worse",
    user: "ada",
  });
  const byHand = { ...stop, reason: "StoppedByUser" };
  assert.deepEqual(stopOfJob(TRAINJOB, job({ stop: byHand })), {
    by: "request",
    text: "StoppedByUser: worse",
    user: "ada",
  });
});

Deno.test("a trial that was pruned is never the best, whoever pruned it", () => {
  const stop = { by: "pruner" as const, text: "Pruned: worse", user: "ada" };
  const { best } = shownSearch(search([
    withLoss(0, "3"),
    withLoss(1, "1", { state: "EarlyStopped", stop }),
    withLoss(2, "2", { state: "EarlyStopped", stop: { by: "rules" } }),
  ]));
  assert.equal(best, "t-2");
});

Deno.test("trials are put together by what stopped them, the most first", () => {
  const of = (name: string, ...rules: string[]) => ({
    name,
    stop: { by: "rules" as const, rules },
  });
  const text = (it: string) => ({ by: "request" as const, text: it, user: "ada" });
  const pruned = (it: string) => ({ by: "pruner" as const, text: it });
  assert.deepEqual(
    stoppedBy([
      of("a", "r1"),
      { name: "b" },
      of("c", "r2", "r3"),
      of("d", "r2", "r3"),
      { name: "e", stop: text("Pruned: worse than a") },
      { name: "f", stop: text("Pruned: worse than c") },
      { name: "g", stop: { by: "unknown" } },
      { name: "h", stop: pruned("Pruned: loss 2 at step 1") },
      { name: "i", stop: pruned("Pruned: loss 3 at step 1") },
      { name: "j", stop: { ...pruned("Pruned: loss 4"), user: "ada" } },
    ]),
    [
      { text: "r2 and r3", trials: ["c", "d"] },
      { text: "Pruned, asked for by ada", trials: ["e", "f"] },
      { text: "Pruned", trials: ["h", "i"] },
      { text: "r1", trials: ["a"] },
      { text: "Nothing says by what", trials: ["g"] },
      { text: "Pruned by ada", trials: ["j"] },
    ],
  );
});

Deno.test("jobs without Trials are trials, and what differs in their variables is what was tried", () => {
  const env = (lr: string) => ({
    trainer: { env: [{ name: "LR", value: lr }, { name: "EPOCHS", value: "9" }] },
  });
  const jobs = [
    job({ conditions: [stopped, { ...stopped, type: "Complete" }] }, env("1"), "a"),
    job({
      state: "Running",
      trainerStatus: { lastUpdatedTime: at(1), metrics: [{ name: "loss", value: "2" }] },
    }, env("2")),
    job({ state: "Failed", failure: { headline: "node-0 exited 1", time: at(1) } }, env("3"), "f"),
  ];
  const trials = trialsOfJobs(jobs.map((it) => readJob(TRAINJOB, it)));
  assert.deepEqual(trials.map(({ name, state, assignments }) => [name, state, assignments]), [
    ["a", "EarlyStopped", [{ name: "LR", value: "1" }]],
    ["j", "Running", [{ name: "LR", value: "2" }]],
    ["f", "Failed", [{ name: "LR", value: "3" }]],
  ]);
  assert.equal(trials[0]?.ended, at(3));
  assert.deepEqual(trials.map(({ message }) => message), [undefined, undefined, "node-0 exited 1"]);
  assert.equal(trials[0]?.job?.kind, TRAINJOB.id);
});

Deno.test("a parameter of Optuna that is a variable twice is one, and another one by its own variable alone", () => {
  const jobs = [1, 2].map((it) => {
    const named = { LR: it, KUBEFLOW_TRAINER_OPT_LR: it, KUBEFLOW_TRAINER_OPT_LAYERS: 3 - it };
    const env = Object.entries(named).map(([name, value]) => ({ name, value: String(value) }));
    return readJob(TRAINJOB, job({ state: "Running" }, { trainer: { env } }, `j${it}`));
  });
  assert.deepEqual(
    trialsOfJobs(jobs).map(({ assignments = [] }) => assignments.map(({ name }) => name).sort()),
    Array(2).fill(["KUBEFLOW_TRAINER_OPT_LAYERS", "LR"]),
  );
});

Deno.test("an answer without room for all has the best, those that run, and the newest, and says so", () => {
  const text = "x".repeat(200);
  const all = shownSearch(search([
    withLoss(0, "0.5"),
    trial(1, { message: text }),
    trial(2, { message: text, state: "Running" }),
    trial(3, { message: text }),
    trial(4, { message: text }),
  ]));
  const whole = JSON.stringify(all).length;
  assert.equal(withinAnswer(all, whole + 10), all);
  const cut = withinAnswer(all, whole - 400);
  assert.ok(JSON.stringify({ ...cut, isCut: undefined }).length <= whole - 400);
  assert.deepEqual(cut.trials.map(({ name }) => name), ["t-0", "t-2", "t-4"]);
  assert.equal(cut.isCut, true);
  assert.equal(cut.counts.total, 5);
});

Deno.test("long values of trials stay within an answer, and their axis has them as they are shown", () => {
  const longValue = (index: number) => `{"n":${index},"x":"${"y".repeat(5_000)}"}`;
  const trials = Array.from(
    { length: 1_000 },
    (_, index) =>
      withLoss(index, "1", { assignments: [{ name: "config", value: longValue(index) }] }),
  );
  const shown = shownSearch(search(trials));
  const [axis] = shown.parameters;
  assert.equal(axis?.list?.length, 64);
  assert.ok(axis?.list?.includes(shown.trials[0]?.values[0] ?? ""));
  const answer = withinAnswer(shown, 1_000_000);
  assert.ok(JSON.stringify(answer).length <= 1_000_000);
  assert.equal(answer.trials.length, 1_000);
});
