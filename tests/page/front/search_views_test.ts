/** Tests of a search's page without a browser: its address, axes, order, chosen parts, and hostile answers. */
import assert from "node:assert/strict";
import { axisOf, listAxis, numberAxis } from "../../../page/front/charts/axis_scale.ts";
import {
  chosenTrials,
  MOST_CURVES,
  readSearch,
  readSearches,
} from "../../../page/front/searches/search_answer.ts";
import {
  FIRST_SEARCHES,
  type SearchView,
  searchView,
} from "../../../page/front/searches/search_view.ts";
import { isWithin, trialAxes } from "../../../page/front/searches/trial_axes.ts";
import { sortedTrials, stopWords } from "../../../page/front/searches/trial_order.ts";
import { readView, type View, viewFragment } from "../../../page/front/url_state.ts";
import { HOSTILE_TEXTS } from "../../browser/hostile_corpus.ts";

const SEARCH = searchView({ kind: "experiments.kubeflow.org", namespace: "ns", name: "digits" });

const views: Record<string, View> = {
  "the list": FIRST_SEARCHES,
  "the list with filters": { ...FIRST_SEARCHES, namespaces: ["a", "b"], text: "dig & its" },
  "a search as it is first opened": SEARCH,
  "a search with everything": {
    ...SEARCH,
    metric: "val/acc&x=1",
    direction: "maximize",
    isLog: true,
    sort: "p:~lr~",
    isDescending: true,
    trial: "digits-1",
    brushes: [{ axis: "p:a~0.1~0.2", from: 0.25, to: 0.5 }, {
      axis: "objective",
      from: 0,
      to: 0.1,
    }],
  },
  ...Object.fromEntries(HOSTILE_TEXTS.map((text) => [
    `a search of ${JSON.stringify(text.slice(0, 20))}`,
    { ...SEARCH, namespace: text, name: text, brushes: [{ axis: `p:${text}`, from: 0, to: 0.5 }] },
  ])),
};
for (const [name, view] of Object.entries(views)) {
  Deno.test(`an address gives back ${name}`, () =>
    assert.deepEqual(readView(viewFragment(view)), view));
}

const odd: Record<string, { fragment: string; want: Partial<SearchView> | { page: "jobs" } }> = {
  "a search without a name": { fragment: "#/search/k/ns/", want: { page: "jobs" } },
  "parts that are none": {
    fragment: "#/search/k/ns/n?brush=a~0.5~0.5&brush=b~x~1&brush=~0~1&direction=up",
    want: { brushes: [], direction: "" },
  },
  "a part beyond the axis": {
    fragment: "#/search/k/ns/n?brush=a~0.5~7",
    want: { brushes: [{ axis: "a", from: 0.5, to: 1 }] },
  },
};
for (const [name, { fragment, want }] of Object.entries(odd)) {
  Deno.test(`an address is read as well as it can be: ${name}`, () => {
    const view = readView(fragment);
    assert.deepEqual({ ...view, ...want }, view);
  });
}

Deno.test("numbers stand on a linear, a logarithmic and a list's axis", () => {
  const linear = numberAxis([0, 10], { isLog: false });
  assert.deepEqual(linear.ticks.map(({ text }) => text), ["0", "2", "4", "6", "8", "10"]);
  assert.deepEqual(["5", "20", "", "x", undefined].map((it) => linear.placeOf(it)), [
    0.5,
    1,
    undefined,
    undefined,
    undefined,
  ]);
  const log = numberAxis([0.001, 10], { isLog: true });
  assert.deepEqual(log.ticks.map(({ text }) => text), ["0.001", "0.01", "0.1", "1", "10"]);
  assert.ok(Math.abs((log.placeOf(0.1) ?? 0) - 0.5) < 1e-9);
  assert.equal(log.placeOf(0), undefined);
  assert.equal(log.textAt(0.5), "0.1");
  const list = listAxis(["sgd", "adam"]);
  assert.deepEqual([list.placeOf("sgd"), list.placeOf("adam"), list.placeOf("x")], [
    0.25,
    0.75,
    undefined,
  ]);
  assert.equal(list.textAt(1), "adam");
});

for (const [least, most] of [[3, 3], [0, 0], [-1e300, 1e300], [1e-300, 1e300]] as const) {
  for (const isLog of [false, true]) {
    Deno.test(`an axis from ${least} to ${most}${isLog ? ", logarithmic," : ""} has few ticks within it`, () => {
      const { ticks, placeOf } = numberAxis([least, most], { isLog });
      assert.ok(ticks.length <= 40, `${ticks.length}`);
      assert.ok(ticks.every(({ at }) => at > -0.01 && at < 1.01));
      if (least === most) assert.ok(Math.abs((placeOf(least) ?? 0) - 0.5) < 1e-9);
    });
  }
}

Deno.test("an axis has room for values beyond its space, and for those that its list lacks", () => {
  const shape = { scale: "linear" as const, min: 0, max: 1, list: [] };
  assert.equal(axisOf(shape, ["2", "odd", undefined]).placeOf("1"), 0.5);
  const list = axisOf({ ...shape, scale: "list", list: ["a"] }, ["b", "__proto__"]);
  assert.deepEqual(list.ticks.map(({ text }) => text), ["a", "b", "__proto__"]);
});

const answer = (trials: unknown[]) =>
  readSearch({
    objective: { metric: "loss", direction: "minimize", strategy: "min" },
    parameters: [{ name: "lr", scale: "log", min: 0.01, max: 1 }, { name: "opt", scale: "list" }],
    metrics: ["loss", "acc"],
    trials,
    counts: { total: trials.length, states: [] },
    best: "t-2",
  });
const trial = (index: number, more: object = {}) => ({
  name: `t-${index}`,
  state: "Complete",
  created: new Date(Date.UTC(2026, 0, 31, 12, index)).toISOString(),
  job: { kind: "k", namespace: "ns", name: `t-${index}` },
  values: [["0.01", "0.1", "1"][index % 3], "sgd"],
  metrics: ["1", String(index)],
  ...more,
});

Deno.test("trials are sorted by any column, and those without a value come last in each order", () => {
  const search = answer([
    trial(0, { value: 3 }),
    trial(1),
    trial(2, { value: 1 }),
    trial(10, { value: 2 }),
  ]);
  const order = (sort: string, isDescending = false) =>
    sortedTrials(search, { sort, isDescending }).map(({ name }) => name.slice(2)).join();
  assert.equal(order("value"), "2,10,0,1");
  assert.equal(order("value", true), "0,10,2,1");
  assert.equal(order("name"), "0,1,2,10");
  assert.equal(order("p:lr"), "0,1,10,2");
  assert.equal(order("m:acc", true), "10,2,1,0");
  assert.equal(order("p:none"), "0,1,2,10");
  const { objective } = readSearch({ objective: { metric: "acc", direction: "maximize" } });
  const best = sortedTrials({ ...search, objective }, { sort: "value", isDescending: false });
  assert.equal(best[0]?.name, "t-0");
});

Deno.test("a trial is within the chosen parts of axes if all its values are", () => {
  const search = answer([trial(0), trial(1), trial(2), trial(3, { values: [null, "sgd"] })]);
  const axes = trialAxes(search, false);
  assert.deepEqual(axes.map(({ id }) => id), ["p:lr", "p:opt", "objective"]);
  const within = (from: number, to: number) =>
    search.trials.filter((it) => isWithin(it, axes, [{ axis: "p:lr", from, to }]))
      .map(({ name }) => name);
  assert.deepEqual(within(0.4, 1), ["t-1", "t-2"]);
  assert.deepEqual(within(0, 1), ["t-0", "t-1", "t-2"]);
  assert.equal(isWithin(search.trials[3] ?? fail(), axes, []), true);
  assert.equal(
    isWithin(search.trials[3] ?? fail(), axes, [{ axis: "p:gone", from: 0, to: 0.1 }]),
    true,
  );
});

const fail = (): never => assert.fail("there is no such trial");

Deno.test("of many trials the curves of the marked, the best, the running and the newest are shown", () => {
  const search = answer([
    ...Array.from({ length: 150 }, (_, index) => trial(index)),
    trial(150, { job: undefined }),
    trial(-1, { state: "Running" }),
  ]);
  const names = chosenTrials(search, "t-5").map(({ name }) => name);
  assert.equal(names.length, MOST_CURVES);
  assert.deepEqual(names.slice(0, 5), ["t-5", "t-2", "t--1", "t-149", "t-148"]);
});

const stops: Record<string, { stop: object; seen?: string; want: string }> = {
  "a rule and the report that met it": {
    stop: { by: "rules", text: "loss 3 is greater than 2.5, at report 4", rules: ["r"] },
    want: "Its rule: loss 3 is greater than 2.5, at report 4",
  },
  "a rule, and a curve that says the rest": {
    stop: { by: "rules", rules: ["r"] },
    seen: "loss 3",
    want: "Its rule: loss 3",
  },
  "a rule whose job is gone": {
    stop: { by: "rules", rules: ["loss above 2.5 at report 4"] },
    want: "Its rule: loss above 2.5 at report 4",
  },
  "several rules": {
    stop: { by: "rules", text: "x", rules: ["a", "b"] },
    want: "All of its rules: a and b. Last: x",
  },
  "somebody": {
    stop: { by: "request", text: "Pruned: worse", user: "ada" },
    want: "ada: Pruned: worse",
  },
  "somebody whom the text names": {
    stop: { by: "request", text: "StoppedByUser: asked for by ada", user: "ada" },
    want: "StoppedByUser: asked for by ada",
  },
  "somebody unknown": { stop: { by: "request", text: "Bad" }, want: "a request: Bad" },
  "nobody": { stop: { by: "unknown" }, want: "Unknown" },
};
for (const [name, { stop, seen = "", want }] of Object.entries(stops)) {
  Deno.test(`why a trial was stopped: ${name}`, () => {
    const [read] = answer([trial(0, { stop })]).trials;
    assert.ok(read?.stop !== undefined);
    assert.equal(stopWords(read.stop, seen), want);
  });
}

for (
  const value of [null, 3, [], { trials: 7 }, { trials: [null, 3], parameters: ["x"], stops: [1] }]
) {
  Deno.test(`an odd answer becomes what can be shown of it: ${JSON.stringify(value)}`, () => {
    const search = readSearch(value);
    assert.ok(Array.isArray(search.trials));
    assert.deepEqual(readSearches(value).rows, []);
    sortedTrials(search, SEARCH);
    trialAxes(search, true);
  });
}
