/** Tests of the state of the view in the address. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  AXES,
  axisFor,
  type AxisKind,
  FIRST_VIEW,
  jobView,
  listParameters,
  readView,
  SORTS,
  STATES,
  TABS,
  viewFragment,
  WINDOW_SIZES,
} from "../../../page/front/url_state.ts";

const JOB = { kind: "trainjobs.trainer.kubeflow.org", namespace: "a", name: "mnist" };
const FIRST_JOB = jobView(JOB);

const cases: Record<string, { fragment: string; want: ReturnType<typeof readView> }> = {
  "nothing": { fragment: "", want: FIRST_VIEW },
  "another page": { fragment: "#/elsewhere", want: FIRST_VIEW },
  "filters": {
    fragment: "#/jobs?namespace=a&namespace=b&state=Running&text=x+y&offset=50&limit=100",
    want: {
      ...FIRST_VIEW,
      namespaces: ["a", "b"],
      states: ["Running"],
      text: "x y",
      offset: 50,
      limit: 100,
    },
  },
  "wrong values": {
    fragment: "#/jobs?state=Odd&sort=odd&order=up&offset=-1&limit=9999&pick=no-job",
    want: FIRST_VIEW,
  },
  "the order by a metric that is not named": { fragment: "#/jobs?sort=metric", want: FIRST_VIEW },
  "a job": { fragment: "#/job/trainjobs.trainer.kubeflow.org/a/mnist", want: FIRST_JOB },
  "a job without a name": { fragment: "#/job/trainjobs.trainer.kubeflow.org/a", want: FIRST_VIEW },
  "a job and how it is shown": {
    fragment:
      "#/job/trainjobs.trainer.kubeflow.org/a/mnist?tab=logs&scale=log&smooth=0.5&band=no&pod=p&metric=loss",
    want: {
      ...FIRST_JOB,
      tab: "logs",
      isLog: true,
      weight: 0.5,
      band: false,
      pod: "p",
      container: "",
      isPrevious: false,
      metrics: ["loss"],
    },
  },
  "a job over its steps": {
    fragment: "#/job/trainjobs.trainer.kubeflow.org/a/mnist?axis=step",
    want: { ...FIRST_JOB, axis: "step" },
  },
  "a job over an axis that is none": {
    fragment: "#/job/trainjobs.trainer.kubeflow.org/a/mnist?axis=epochs",
    want: FIRST_JOB,
  },
  "a job with others": {
    fragment: "#/job/trainjobs.trainer.kubeflow.org/a/mnist?with=k.g/b/other&with=k.g/b/other",
    want: { ...FIRST_JOB, compared: ["k.g/b/other"] },
  },
  "a job and a part of the time": {
    fragment: `#/job/${JOB.kind}/a/mnist?from=1769904000000&to=1769904060000`,
    want: { ...FIRST_JOB, range: { from: 1_769_904_000_000, to: 1_769_904_060_000 } },
  },
  "a job and a part of the time that is none": {
    fragment: `#/job/${JOB.kind}/a/mnist?from=5&to=5`,
    want: FIRST_JOB,
  },
  "a job and a part of the time in words": {
    fragment: `#/job/${JOB.kind}/a/mnist?from=yesterday&to=1e3`,
    want: FIRST_JOB,
  },
  "a job that is compared with itself": {
    fragment: `#/job/${JOB.kind}/a/mnist?with=${JOB.kind}/a/mnist`,
    want: FIRST_JOB,
  },
  "smoothing of 1, which would show nothing": {
    fragment: `#/job/${JOB.kind}/a/mnist?smooth=1`,
    want: FIRST_JOB,
  },
  "percent signs that mean nothing": {
    fragment: "#/job/k.g/a/%zz",
    want: jobView({ kind: "k.g", namespace: "a", name: "%zz" }),
  },
};
for (const [sentence, { fragment, want }] of Object.entries(cases)) {
  Deno.test(`readView() of ${sentence}`, () => assert.deepEqual(readView(fragment), want));
}

const text = fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" });
const part = text.filter((it) => !it.includes("/"));
const key = fc.tuple(part, part, part).map((parts) => parts.join("/"));
const keys = fc.uniqueArray(key, { maxLength: 7 });

Deno.test("readView() of viewFragment() is the view of a list", () => {
  const views = fc.record({
    page: fc.constant("jobs" as const),
    text: fc.oneof(fc.constant(""), text),
    namespaces: fc.uniqueArray(text, { maxLength: 5 }),
    kinds: fc.uniqueArray(text, { maxLength: 5 }),
    states: fc.uniqueArray(fc.constantFrom(...STATES)),
    experiment: fc.oneof(fc.constant(""), text),
    sort: fc.constantFrom(...SORTS),
    sortMetric: text,
    hasConfiguration: fc.boolean(),
    order: fc.constantFrom("ascending" as const, "descending" as const),
    offset: fc.nat(999_999),
    limit: fc.constantFrom(...WINDOW_SIZES),
    picked: keys,
  });
  fc.assert(fc.property(views, (it) => {
    const view = { ...it, sortMetric: it.sort === "metric" ? it.sortMetric : "" };
    assert.deepEqual(readView(viewFragment(view)), view);
  }));
});

Deno.test("readView() of viewFragment() is the view of a job", () => {
  const views = fc.record({
    page: fc.constant("job" as const),
    kind: part,
    namespace: part,
    name: part,
    tab: fc.constantFrom(...TABS),
    metrics: fc.array(text, { maxLength: 5 }),
    isLog: fc.boolean(),
    weight: fc.constantFrom(0, 0.25, 0.99),
    band: fc.boolean(),
    axis: fc.constantFrom(...AXES),
    compared: keys,
    pod: fc.oneof(fc.constant(""), text),
    container: fc.string(),
    isPrevious: fc.boolean(),
    find: fc.string(),
    isWrapped: fc.boolean(),
  });
  fc.assert(fc.property(views, (it) => {
    const own = `${it.kind}/${it.namespace}/${it.name}`;
    const view = { ...it, compared: it.compared.filter((other) => other !== own) };
    assert.deepEqual(readView(viewFragment(view)), view);
  }));
});

Deno.test("listParameters() has what the server knows, and nothing that it does by itself", () => {
  assert.deepEqual(listParameters(FIRST_VIEW), []);
  const view = { ...FIRST_VIEW, picked: ["a/b/c"], sort: "metric" as const, sortMetric: "loss" };
  assert.deepEqual(listParameters(view), [["sort", "metric"], ["sortMetric", "loss"]]);
});

const axes: [axis: AxisKind | undefined, compared: number, hasSteps: boolean, want: AxisKind][] = [
  [undefined, 0, false, "clock"],
  [undefined, 1, false, "elapsed"],
  [undefined, 0, true, "step"],
  [undefined, 1, true, "step"],
  ["clock", 1, true, "clock"],
  ["step", 0, false, "step"],
];
for (const [axis, count, hasSteps, want] of axes) {
  Deno.test(`a job${hasSteps ? " with steps" : ""} beside ${count} has the axis ${want}, asked for ${axis}`, () => {
    assert.equal(axisFor({ axis, compared: Array(count).fill("k.g/a/b") }, hasSteps), want);
  });
}

Deno.test("a part of the axis in a link that names none is one of time, also of a job with steps", () => {
  const range = { from: 1_769_904_000_000, to: 1_769_904_060_000 };
  assert.equal(axisFor({ axis: undefined, compared: [], range }, true), "clock");
  assert.equal(axisFor({ axis: "step", compared: [], range }, true), "step");
});
