/** Tests that rows which are kept in order as jobs change stand as those that are sorted anew. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { type JobRow, SORT_KEYS } from "../../../crds/wire/row.ts";
import { OrderedRows } from "../../../views/list/ordered_rows.ts";
import { sortedRows } from "./window_of_rows.ts";

const value = fc.option(fc.constantFrom("0", "1", "1.5", "-1", "NaN", "x"), { nil: undefined });
const change = fc.record({
  uid: fc.integer({ min: 0, max: 12 }).map(String),
  isGone: fc.boolean(),
  name: fc.constantFrom("a", "b", "c"),
  progress: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  created: fc.constantFrom("", "never", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
  metric: value,
});
const order = fc.record({
  sort: fc.constantFrom(...SORT_KEYS),
  sortMetric: fc.constant("loss"),
  order: fc.constantFrom("ascending" as const, "descending" as const, undefined),
});

type Changed = typeof change extends fc.Arbitrary<infer T> ? T : never;

function rowOf({ uid, name, progress, created, metric }: Changed): JobRow {
  return {
    uid,
    kind: TRAINJOB.id,
    namespace: "ml",
    name,
    state: "Running",
    created,
    ...(progress !== undefined && { progress }),
    ...(metric !== undefined && { metrics: [{ name: "loss", value: metric }] }),
  };
}

Deno.test("`OrderedRows` stands as rows that are sorted anew, whatever changes", () => {
  fc.assert(
    fc.property(
      order,
      fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 6 }),
      (by, all) => {
        const now = new Map<string, JobRow>();
        const rows = new OrderedRows([], by);
        for (const batch of all) {
          for (const it of batch) {
            const row = rowOf(it);
            if (it.isGone) now.delete(it.uid);
            else now.set(it.uid, row);
            rows.change(it.uid, it.isGone ? undefined : { kind: TRAINJOB, row });
          }
          assert.deepEqual(rows.rows().map(({ row }) => row), sortedRows(now.values(), by));
        }
        const anew = new OrderedRows([...now.values()].map((row) => ({ kind: TRAINJOB, row })), by);
        assert.deepEqual(anew.rows(), rows.rows());
      },
    ),
  );
});
