/** Tests of searches without an Experiment: which are read, and how the list says that they are. */
import assert from "node:assert/strict";
import {
  readableSearches,
  rowOfTrials,
  searchOfTrials,
} from "../../../page/trials/labelled_searches.ts";
import { type FoundSearch, type FoundTrial, SEARCH_LIMITS } from "../../../page/trials/search.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();
const trial = (index: number, loss: string, state: FoundTrial["state"] = "Complete") => ({
  name: `t-${index}`,
  state,
  created: at(index),
  ended: at(index + 10),
  assignments: [],
  metrics: [{ name: "loss", latest: loss }],
});
function rowOf(trials: readonly FoundTrial[], objective?: FoundSearch["objective"]) {
  const { objective: own = objective, ...found } = searchOfTrials(trials, { read: [], jobs: [] });
  return rowOfTrials({
    kind: "k",
    namespace: "ns",
    name: "s",
    ...found,
    trials,
    ...(own !== undefined && { objective: own }),
  });
}

const THREE = [trial(0, "2"), trial(1, "1", "EarlyStopped"), trial(2, "0", "Failed")];
const rows: Record<string, { got: object; want: object }> = {
  "what is better, so that there is a best": {
    got: rowOf(THREE, { metric: "loss", direction: "maximize" }),
    want: {
      state: "Complete",
      created: at(0),
      objective: { metric: "loss", direction: "maximize", strategy: "latest" },
      counts: { total: 3, states: [["Complete", 1], ["EarlyStopped", 1], ["Failed", 1]] },
      best: { trial: "t-0", value: "2" },
    },
  },
  "not what is better, so that there are two": {
    got: rowOf(THREE),
    want: {
      state: "Complete",
      created: at(0),
      objective: { metric: "loss", strategy: "latest" },
      counts: { total: 3, states: [["Complete", 1], ["EarlyStopped", 1], ["Failed", 1]] },
      bestBy: {
        minimize: { trial: "t-1", value: "1" },
        maximize: { trial: "t-0", value: "2" },
      },
    },
  },
  "nothing that has ended well": {
    got: rowOf([trial(0, "1", "Failed")]),
    want: {
      state: "Failed",
      created: at(0),
      objective: { metric: "loss", strategy: "latest" },
      counts: { total: 1, states: [["Failed", 1]] },
    },
  },
  "no metric yet": {
    got: rowOf([{ ...trial(0, ""), state: "Created", metrics: [] }]),
    want: { state: "Running", created: at(0), counts: { total: 1, states: [["Created", 1]] } },
  },
};
for (const [name, { got, want }] of Object.entries(rows)) {
  Deno.test(`the row of a search whose trials say ${name}`, () =>
    assert.deepEqual(got, { kind: "k", namespace: "ns", name: "s", ...want }));
}

Deno.test("the newest searches are read, as many as one answer may read the trials of", () => {
  const search = (index: number, total: number) => ({
    namespace: "ns",
    name: `s-${index}`,
    total,
    created: at(index),
  });
  const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);
  const many = Array.from({ length: 80 }, (_, index) => search(index, 2));
  assert.equal(readableSearches(many).length, SEARCH_LIMITS.summed);
  assert.equal(readableSearches(many)[0]?.name, "s-79");
  assert.deepEqual(
    names(readableSearches([search(0, 10), search(1, SEARCH_LIMITS.trials), search(2, 1)])),
    ["s-2", "s-0"],
  );
});
