/** Tests of the marks of a job, and of their bounds. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { MARK_LIMITS, MarkList } from "../../../owner/curves/marks.ts";
import type { CurveMark } from "../../../crds/wire/shown_curves.ts";

const mark = (second: number, kind: CurveMark["kind"] = "pod", text = "t"): CurveMark => ({
  timeMs: second * 1000,
  kind,
  text,
});

function listOf(marks: readonly CurveMark[]): MarkList {
  const list = new MarkList();
  for (const it of marks) list.add(it);
  return list;
}

Deno.test("MarkList has marks by time, each once", () => {
  const list = listOf([mark(3), mark(1), mark(2), mark(1), mark(1, "gap")]);
  assert.deepEqual(list.all.map(({ timeMs, kind }) => [timeMs, kind]), [
    [1_000, "pod"],
    [1_000, "gap"],
    [2_000, "pod"],
    [3_000, "pod"],
  ]);
  assert.equal(list.add(mark(2)), undefined);
});

Deno.test("a mark that is seen again at another moment of its second is the same", () => {
  const list = listOf([mark(1.2, "restarted")]);
  assert.equal(list.add(mark(1.999, "restarted")), undefined);
  assert.ok(list.add(mark(2, "restarted")));
  assert.ok(list.add(mark(1.999, "restarted", "another one")));
});

Deno.test("of two marks of a stop the earlier one stays, whichever comes first", () => {
  for (const order of [[1.2, 1.999], [1.999, 1.2]]) {
    const list = listOf(order.map((second) => mark(second, "stopped", String(second))));
    assert.deepEqual(list.all.map(({ timeMs }) => timeMs), [1_200]);
  }
});

Deno.test("MarkList lets the oldest change of pod give way, and the oldest mark where there is none", () => {
  const { marks } = MARK_LIMITS;
  const restarts = Array.from({ length: marks - 2 }, (_, index) => mark(index, "restarted"));
  const list = listOf([...restarts, mark(500), mark(600)]);
  list.add(mark(700, "stopped"));
  assert.equal(list.all.length, marks);
  assert.deepEqual(list.all.slice(-2).map(({ timeMs }) => timeMs), [600_000, 700_000]);
  list.add(mark(800, "gap"));
  assert.deepEqual(list.all[0], mark(0, "restarted"));
  list.add(mark(900, "gap"));
  assert.deepEqual(list.all[0], mark(1, "restarted"));
  assert.equal(list.all.length, marks);
});

Deno.test("MarkList cuts long texts between characters", () => {
  const [kept] = listOf([mark(1, "stopped", "ü".repeat(10_000))]).all;
  assert.equal(kept?.text, "ü".repeat(MARK_LIMITS.textBytes / 2));
});

Deno.test("MarkList keeps its bounds and counts its bytes, whatever comes and goes", () => {
  const kinds = fc.constantFrom<CurveMark["kind"]>("restarted", "pod", "stopped");
  const any = fc.record({
    timeMs: fc.nat({ max: 200_000 }),
    kind: kinds,
    text: fc.string({ unit: "binary" }),
  });
  fc.assert(fc.property(fc.array(any, { maxLength: 150 }), (marks) => {
    const list = listOf(marks);
    assert.ok(list.all.length <= MARK_LIMITS.marks);
    assert.equal(list.bytes, listOf(list.all).bytes);
    const times = list.all.map(({ timeMs }) => timeMs);
    assert.deepEqual(times, times.toSorted((one, other) => one - other));
    const empty = new MarkList().bytes;
    for (const it of [...list.all]) list.remove(it);
    assert.deepEqual([list.all, list.bytes], [[], empty]);
  }));
});
