/** Tests of the list of jobs: filters, order and window. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { JobRow } from "../../../crds/wire/row.ts";
import { type ListQuery, listQuery } from "../../../crds/wire/list_query.ts";
import { windowOf } from "./window_of_rows.ts";

function row(name: string, more: Partial<JobRow> = {}): JobRow {
  return {
    uid: `u-${more.namespace ?? "ml"}-${name}`,
    kind: "trainjobs.trainer.kubeflow.org",
    namespace: "ml",
    name,
    state: "Running",
    created: "2026-01-01T00:00:00Z",
    ...more,
  };
}

function query(text: string): ListQuery {
  const read = listQuery(new URLSearchParams(text));
  assert.ok("query" in read, JSON.stringify(read));
  return read.query;
}

const loss = (value: string) => ({ metrics: [{ name: "loss", value }] });
const ROWS = [
  row("b", { progress: 10, created: "2026-01-02T00:00:00Z", ...loss("0.5") }),
  row("a", { progress: 90, state: "Complete", remainingSeconds: 0, ...loss("0.10") }),
  row("c", { namespace: "vision", kind: "pytorchjobs.kubeflow.org", ...loss("NaN") }),
  row("d", { state: "Failed", created: "2026-01-03T00:00:00Z", experiment: "e" }),
];

const CASES: Readonly<Record<string, readonly string[]>> = {
  "": ["d", "b", "a", "c"],
  "sort=name": ["a", "b", "d", "c"].sort(),
  "sort=name&order=descending": ["d", "c", "b", "a"],
  "sort=namespace": ["a", "b", "d", "c"],
  "sort=progress": ["a", "b", "d", "c"],
  "sort=progress&order=ascending": ["b", "a", "d", "c"],
  "sort=remaining": ["a", "b", "d", "c"],
  "sort=metric&sortMetric=loss": ["a", "b", "d", "c"],
  "sort=metric&sortMetric=loss&order=descending": ["b", "a", "d", "c"],
  "sort=metric&sortMetric=none": ["a", "b", "d", "c"],
  "sort=name&namespace=vision": ["c"],
  "sort=name&namespace=vision&namespace=ml": ["a", "b", "c", "d"],
  "sort=name&kind=pytorchjobs.kubeflow.org": ["c"],
  "sort=name&state=Failed&state=Complete": ["a", "d"],
  "sort=name&experiment=e": ["d"],
  "sort=name&text=ML%2F": ["a", "b", "d"],
  "sort=name&offset=1&limit=2": ["b", "c"],
  "sort=name&offset=9": [],
};

Deno.test("jobs that make no progress are counted and found beside their state", () => {
  const stalled = row("e", { stalledSince: "2026-01-01T00:00:00Z" });
  const { rows, states } = windowOf([...ROWS, stalled], query("state=Stalled"));
  assert.deepEqual(rows, [stalled]);
  assert.deepEqual(states, { Running: 3, Complete: 1, Failed: 1, Stalled: 1 });
  assert.equal(windowOf([...ROWS, stalled], query("state=Running")).total, 3);
});

for (const [text, want] of Object.entries(CASES)) {
  Deno.test(`\`windowOf()\` for "${text}"`, () => {
    assert.deepEqual(windowOf(ROWS, query(text)).rows.map(({ name }) => name), want);
  });
}

Deno.test("`windowOf()` counts all rows, and states whatever state is asked for", () => {
  const { total, states } = windowOf(ROWS, query("state=Failed&limit=1"));
  assert.equal(total, 1);
  assert.deepEqual(states, { Running: 2, Complete: 1, Failed: 1 });
});

Deno.test("`windowOf()` names the kinds that there are, whatever kind and state is asked for", () => {
  const all = ["pytorchjobs.kubeflow.org", "trainjobs.trainer.kubeflow.org"];
  for (const text of ["", "limit=1", "kind=pytorchjobs.kubeflow.org", "state=Failed"]) {
    assert.deepEqual(windowOf(ROWS, query(text)).kinds, all, text);
  }
  assert.deepEqual(windowOf(ROWS, query("namespace=vision")).kinds, all.slice(0, 1));
});

Deno.test("`windowOf()` pages without a gap and without a repetition", () => {
  const rows = fc.array(
    fc.record({ progress: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }) }),
    { maxLength: 30 },
  );
  fc.assert(fc.property(rows, fc.integer({ min: 1, max: 7 }), (all, limit) => {
    const made = all.map(({ progress }, index) =>
      row(`j${index}`, progress === undefined ? {} : { progress })
    );
    const pages = [];
    for (let offset = 0; offset < made.length; offset += limit) {
      pages.push(...windowOf(made, query(`sort=progress&offset=${offset}&limit=${limit}`)).rows);
    }
    assert.deepEqual(new Set(pages.map(({ uid }) => uid)), new Set(made.map(({ uid }) => uid)));
    assert.equal(pages.length, made.length);
  }));
});

const WRONG: Readonly<Record<string, string>> = {
  "limit=0": "limit",
  "limit=201": "limit",
  "limit=1e2": "limit",
  "limit=": "limit",
  "offset=-1": "offset",
  "offset=1.5": "offset",
  "sort=uid": "sort",
  "sort=metric": "sortMetric",
  "state=Done": "state",
  "order=up": "order",
  "namespace=Not_one": "namespace",
  "namespace=": "namespace",
  "sort=name&sort=state": "sort",
  "who=me": "who",
  [`text=${"x".repeat(129)}`]: "text",
  [Array.from({ length: 21 }, (_, index) => `namespace=n${index}`).join("&")]: "namespace",
};

for (const [text, field] of Object.entries(WRONG)) {
  Deno.test(`\`listQuery()\` refuses "${text.slice(0, 40)}" by its name`, () => {
    const read = listQuery(new URLSearchParams(text));
    assert.ok("causes" in read);
    assert.deepEqual([...new Set(read.causes.map((it) => it.field))], [field]);
  });
}
