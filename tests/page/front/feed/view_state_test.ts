/** Tests of what news of the stream make of the view: its answers, its state, its connection. */
import assert from "node:assert/strict";
import {
  type ListNews,
  readCurves,
  readList,
} from "../../../../page/front/feed/view_answers_read.ts";
import { statusMessage } from "../../../../page/front/feed/answer_fields.ts";
import { backoffMs } from "../../../../platform/base/backoff.ts";
import {
  type Connection,
  connectionAfterFailure,
  curvesAfter,
  type CurveState,
  joinedNews,
  listAfter,
  type ListState,
  newsOfFrame,
  RETRY,
} from "../../../../page/front/feed/view_state.ts";

const row = (uid: string, name = uid) => ({
  uid,
  kind: "k.g",
  namespace: "a",
  name,
  state: "Running",
});

Deno.test("listAfter() keeps rows that did not change, and drops those that left the window", () => {
  const first = listAfter(
    undefined,
    readList({ rows: [row("1"), row("2")], total: 2, states: {} }),
  );
  const second = listAfter(
    first,
    readList({ rows: [row("3")], order: ["3", "1"], total: 2, states: { Running: 2 } }),
  );
  assert.deepEqual(second.rows.map(({ uid }) => uid), ["3", "1"]);
  assert.equal(second.rows[1], first.rows[0]);
  assert.deepEqual([...second.states], [["Running", 2]]);
});

Deno.test("listAfter() leaves out a row that was announced and never came", () => {
  const list = listAfter(undefined, readList({ rows: [], order: ["1"], total: 1 }));
  assert.deepEqual(list.rows, []);
});

const answers: Record<string, unknown> = {
  "nothing": undefined,
  "a list": [],
  "a text": "jobs",
  "fields of other types": { rows: 1, order: {}, total: "2", states: [], denied: null },
  "rows of other types": { rows: [null, 1, "a", { metrics: [null], name: {} }], total: 1 },
};
for (const [sentence, answer] of Object.entries(answers)) {
  Deno.test(`readList() takes ${sentence} without harm`, () => {
    for (const { name, metrics } of readList(answer).rows) {
      assert.equal(typeof name, "string");
      for (const metric of metrics) assert.equal(typeof metric.value, "string");
    }
  });
}

Deno.test("readList() reads a state named __proto__ as any other", () => {
  const { states } = readList(JSON.parse('{"rows":[],"total":0,"states":{"__proto__":3}}'));
  assert.deepEqual([...states], [["__proto__", 3]]);
});

const JOB = { kind: "k.g", namespace: "a", name: "b", uid: "1" };
Deno.test("readCurves() leaves out points without a value, and knows times of marks", () => {
  const { jobs, missing } = readCurves({
    curves: [{
      job: JOB,
      metrics: [{ name: "loss", points: [[1, 2, 3, 4], [5, null, null, 6], [7], "x"] }],
      marks: [{ time: "1970-01-01T00:00:01Z", kind: "gap", text: "t" }],
    }],
    missing: [{ kind: "k.g", namespace: "a", name: "c" }],
  });
  assert.deepEqual(jobs, [{
    key: "k.g/a/b",
    sinceMs: undefined,
    curves: [{
      name: "loss",
      isProgress: false,
      isStep: false,
      isNonFinite: false,
      points: [[1, 2, 3, 4], [5, 6, 6, 6]],
    }],
    marks: [{ timeMs: 1000, kind: "gap", text: "t" }],
  }]);
  assert.deepEqual(missing, ["k.g/a/c"]);
});

Deno.test("curvesAfter() keeps jobs that did not change, and drops those that are gone", () => {
  const first = curvesAfter(
    undefined,
    readCurves({ curves: [{ job: JOB }, { job: { ...JOB, name: "c" } }] }),
  );
  const second = curvesAfter(
    first,
    readCurves({ curves: [], missing: [{ kind: "k.g", namespace: "a", name: "c" }] }),
  );
  assert.deepEqual([...second.byJob.keys()], ["k.g/a/b"]);
  assert.equal(second.byJob.get("k.g/a/b"), first.byJob.get("k.g/a/b"));
});

Deno.test("curvesAfter() keeps the points before those that are new, and drops curves that are not named any more", () => {
  const point = (time: number) => [time, 1, 1, 1];
  const news = (sinceMs: number | undefined, metrics: readonly object[]) =>
    readCurves({ curves: [{ job: JOB, since: sinceMs, metrics, marks: [] }] });
  const loss = (...times: number[]) => ({ name: "loss", points: times.map(point) });
  const progress = (...times: number[]) => ({
    name: "progress",
    isProgress: true,
    points: times.map(point),
  });
  const shown = (state: CurveState) =>
    state.byJob.get("k.g/a/b")?.curves.map((
      { name, points },
    ) => [name, ...points.map(([at]) => at)]);
  const first = curvesAfter(undefined, news(undefined, [loss(1, 2, 3), progress(1, 3)]));
  const step = { ...loss(4), isStep: true };
  const second = curvesAfter(
    first,
    news(3, [loss(3, 4), progress(), { name: "new", points: [] }, step]),
  );
  assert.deepEqual(shown(second), [["loss", 1, 2, 3, 4], ["progress", 1], ["new"], ["loss", 4]]);
  const third = curvesAfter(second, news(4, [progress(4)]));
  assert.deepEqual(shown(third), [["progress", 1, 4]]);
  assert.deepEqual(shown(curvesAfter(third, news(undefined, [loss(9)]))), [["loss", 9]]);
  assert.equal(curvesAfter(undefined, news(3, [loss(3)])).byJob.size, 0, "all are about to come");
});

Deno.test("connectionAfterFailure() is down since the first failure", () => {
  const live: Connection = { phase: "live" };
  const first = connectionAfterFailure(live, 100, "a");
  assert.deepEqual(first, { phase: "down", sinceMs: 100, reason: "a" });
  assert.deepEqual(connectionAfterFailure(first, 200, "b"), {
    phase: "down",
    sinceMs: 100,
    reason: "b",
  });
});

Deno.test("tries are half a second apart at first, twenty seconds at most, and vary by half of it", () => {
  assert.deepEqual([1, 2, 3, 10, 1000].map((it) => backoffMs(it, RETRY, () => 1)), [
    500,
    1000,
    2000,
    20_000,
    20_000,
  ]);
  assert.equal(backoffMs(3, RETRY, () => 0), 1000);
});

Deno.test("statusMessage() is the message of a Status, or what stands in for it", () => {
  assert.equal(statusMessage('{"kind":"Status","message":"no"}', "other"), "no");
  assert.equal(statusMessage("<html>", "other"), "other");
  assert.equal(statusMessage('{"message":{}}', "other"), "other");
});

Deno.test("newsOfFrame() shows a few changed rows in each frame, and new ones at once", () => {
  const uids = Array.from({ length: 30 }, (_, index) => String(index));
  const news = (names: readonly string[], order = uids) =>
    readList({ rows: names.map((uid) => row(uid, `${uid}-new`)), order, total: 30, states: {} });
  const first = listAfter(undefined, readList({ rows: uids.map((uid) => row(uid)), total: 30 }));
  assert.equal(newsOfFrame(undefined, news(uids)).later, undefined, "the first rows come at once");
  const changed = (list: ListState) => list.rows.filter(({ name }) => name.endsWith("-new")).length;
  let list = first;
  let left: ListNews | undefined = news([...uids, "30"], [...uids, "30"]);
  const counts = [];
  while (left !== undefined) {
    const { now, later } = newsOfFrame(list, left);
    list = listAfter(list, now);
    counts.push(changed(list));
    left = later;
  }
  assert.deepEqual(counts, [6, 11, 16, 21, 26, 31]);
});

Deno.test("newsOfFrame() needs no more frames for many rows", () => {
  const all = Array.from({ length: 200 }, (_, index) => row(String(index)));
  const list = listAfter(undefined, readList({ rows: all, total: 200 }));
  const frames = function* (news: ListNews | undefined) {
    for (; news !== undefined; news = newsOfFrame(list, news).later) yield news;
  };
  assert.ok([...frames(readList({ rows: all, total: 200 }))].length <= 32);
});

Deno.test("joinedNews() keeps what was not shown yet, and of each row the newest", () => {
  const older = readList({ rows: [row("1", "old"), row("2", "old")], order: ["1", "2"], total: 2 });
  const newer = readList({ rows: [row("2", "new")], order: ["2", "1"], total: 5 });
  const joined = joinedNews(older, newer);
  assert.deepEqual(joined.rows.map(({ uid, name }) => [uid, name]), [["2", "new"], ["1", "old"]]);
  assert.deepEqual([joined.order, joined.total], [["2", "1"], 5]);
  const left = joinedNews(joined, readList({ rows: [], order: ["1"], total: 1 }));
  assert.deepEqual(left.rows.map(({ uid }) => uid), ["1"], "what has left the window is dropped");
  assert.deepEqual(joinedNews(undefined, newer), newer);
});
