/** Tests of recording: times and values of rows, and retries. */
import assert from "node:assert/strict";
import { sortableTime } from "../../../trials/recording/row_time.ts";
import { record, type RecordState, startRecord } from "../../../trials/recording/record.ts";
import { replay } from "../../../trials/recording/replay.ts";
import type { RecordScope } from "../../../trials/recording/pod_sample.ts";
import { REMEMBERED_MIN } from "../../../trials/recording/window.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";

const SCOPE: RecordScope = {
  objective: { name: "loss", type: "minimize" },
  names: new Set(["loss", "acc", "grad"]),
};
/** A moment of the tests' minute, such as `10.5`. */
const at = (seconds: string) => `2026-01-02T03:04:${seconds}Z`;

/** A sample as it is written in a case. */
interface Given {
  /** Seconds of the minute. */
  t: string;
  /** `loss 0.5, acc 0.1`. */
  says: string;
  pod?: string;
  sequence?: number;
  /** Before it was clamped. */
  sent?: string;
}

const metricsOf = (says: string) =>
  says.split(", ").map((one) => {
    const [name = "", value = ""] = one.split(" ");
    return { name, value };
  });

function give(state: RecordState, { t, says, pod = "p", sequence, sent }: Given) {
  return record(state, {
    pod,
    time: at(t),
    metrics: metricsOf(says),
    ...(sequence !== undefined && { sequence }),
    ...(sent !== undefined && { sentTime: at(sent) }),
  });
}

const shown = (rows: readonly ObservationRow[]) =>
  rows.map(({ time, name, value }) => `${time.slice(17, -1)} ${name} ${value}`).join(", ");

const byTime = (one: ObservationRow, other: ObservationRow) =>
  (sortableTime(one.time) ?? "") < (sortableTime(other.time) ?? "") ? -1 : 1;

/** Samples in their order, with the rows of each, or `retry`. */
type Story = ([Given, string] | "another owner")[];

/** So many samples after half of the minute, each at a time of its own. */
const others = (count: number): Story =>
  Array.from({ length: count }, (_, index) => {
    const t = String((3000 + index) / 100);
    return [{ t, says: `grad ${index}` }, `${t} grad ${index}`];
  });

const stories: Record<string, Story> = {
  "records all metrics of a sample at its own time": [
    [{ t: "10", says: "loss 0.5, acc 0.1" }, "10 loss 0.5, 10 acc 0.1"],
    [{ t: "10.25", says: "loss 0.4" }, "10.25 loss 0.4"],
  ],
  "cuts what is finer than a microsecond": [
    [{ t: "10.1234567", says: "loss 0.5" }, "10.123456 loss 0.5"],
  ],
  "leaves out what the scope does not name": [
    [{ t: "10", says: "loss 0.5, speed 3" }, "10 loss 0.5"],
    [{ t: "11", says: "speed 3" }, ""],
    [{ t: "12", says: "loss 0.5" }, "12 loss 0.5"],
  ],
  "leaves out what is no number": [
    [{ t: "10", says: "loss high, acc 0x1p1, grad 1" }, "10 grad 1"],
  ],
  "records NaN and infinity of the objective as the worst finite number": [
    [{ t: "10", says: "loss NaN" }, "10 loss 1.7976931348623157e+308"],
    [{ t: "11", says: "loss -inf" }, "11 loss 1.7976931348623157e+308"],
    [{ t: "12", says: "loss 1e400" }, "12 loss 1.7976931348623157e+308"],
    [{ t: "13", says: "grad NaN, acc 1e400" }, "13 grad NaN, 13 acc 1e400"],
  ],
  "takes the last of a metric that comes twice": [
    [{ t: "10", says: "loss 1, acc 1, loss 2" }, "10 loss 2, 10 acc 1"],
  ],
  "takes the same time and metrics for a retry": [
    [{ t: "10", says: "loss 0.5, acc 0.1" }, "10 loss 0.5, 10 acc 0.1"],
    [{ t: "10", says: "loss 0.5, acc 0.1" }, "retry"],
    [{ t: "11", says: "loss 0.5, acc 0.1" }, "11 loss 0.5, 11 acc 0.1"],
    [{ t: "10", says: "loss 0.5, acc 0.1" }, "retry"],
  ],
  "moves the same time with other metrics behind the pod's last row": [
    [{ t: "10", says: "loss 0.5" }, "10 loss 0.5"],
    [{ t: "10", says: "loss 0.4" }, "10.000001 loss 0.4"],
    [{ t: "10", says: "loss 0.3" }, "10.000002 loss 0.3"],
    [{ t: "10", says: "loss 0.4" }, "retry"],
  ],
  "moves an earlier time behind the pod's last row": [
    [{ t: "10", says: "loss 0.5" }, "10 loss 0.5"],
    [{ t: "20.999999", says: "loss 0.4" }, "20.999999 loss 0.4"],
    [{ t: "15", says: "loss 0.3" }, "21 loss 0.3"],
    [{ t: "15", says: "loss 0.3" }, "retry"],
    [{ t: "16", says: "loss 0.3" }, "21.000001 loss 0.3"],
    [{ t: "22", says: "loss 0.2" }, "22 loss 0.2"],
  ],
  "distinguishes pushes of the same time and metrics by their sequence": [
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "10 loss 0.5"],
    [{ t: "10", says: "loss 0.5", sequence: 2 }, "10.000001 loss 0.5"],
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "retry"],
    [{ t: "10", says: "loss 0.5", sequence: 2 }, "retry"],
  ],
  "distinguishes pushes of one time also by metrics that are not recorded": [
    [{ t: "10", says: "loss 0.5, speed 1" }, "10 loss 0.5"],
    [{ t: "10", says: "loss 0.5, speed 2" }, "10.000001 loss 0.5"],
    [{ t: "10", says: "loss 0.5, speed 1" }, "retry"],
  ],
  "takes the same of another pod for a sample of its own": [
    [{ t: "10", says: "loss 0.5", pod: "a" }, "10 loss 0.5"],
    [{ t: "10", says: "loss 0.5", pod: "b" }, "10.000001 loss 0.5"],
    [{ t: "10", says: "loss 0.5", pod: "b" }, "retry"],
  ],
  "keeps a pod's own times, whatever another's last row is": [
    [{ t: "20", says: "loss 0.5", pod: "a" }, "20 loss 0.5"],
    [{ t: "10", says: "loss 0.4", pod: "b" }, "10 loss 0.4"],
    [{ t: "11", says: "loss 0.3", pod: "b" }, "11 loss 0.3"],
    [{ t: "11", says: "loss 0.2", pod: "b" }, "11.000001 loss 0.2"],
  ],
  "recognizes a retry by the time that was sent, to whatever time it was clamped": [
    [{ t: "10", sent: "30", says: "loss 0.5" }, "10 loss 0.5"],
    [{ t: "11", sent: "30", says: "loss 0.5" }, "retry"],
    [{ t: "12", sent: "32", says: "loss 0.5" }, "12 loss 0.5"],
    [{ t: "30", says: "loss 0.5" }, "retry"],
    [{ t: "31", says: "loss 0.5" }, "31 loss 0.5"],
    [{ t: "40", sent: "02", says: "loss 0.5" }, "40 loss 0.5"],
    [{ t: "40", sent: "03", says: "loss 0.5" }, "40.000001 loss 0.5"],
    [{ t: "40", sent: "02", says: "loss 0.5" }, "retry"],
  ],
  "knows a retry as another owner, by the log alone": [
    [{ t: "10", says: "loss 0.5, acc 1" }, "10 loss 0.5, 10 acc 1"],
    [{ t: "11", says: "loss 0.4, speed 2", sequence: 8 }, "11 loss 0.4"],
    "another owner",
    [{ t: "11", says: "loss 0.4, speed 2", sequence: 8 }, "retry"],
    [{ t: "10", says: "acc 1, loss 0.5" }, "retry"],
    [{ t: "11", says: "loss 0.3" }, "11.000001 loss 0.3"],
    [{ t: "12", says: "loss 0.3" }, "12 loss 0.3"],
  ],
  "knows a retry of NaN as another owner": [
    [{ t: "10", says: "loss NaN" }, "10 loss 1.7976931348623157e+308"],
    "another owner",
    [{ t: "10", says: "loss NaN" }, "retry"],
  ],
  "knows a retry of what was moved, as another owner": [
    [{ t: "10", says: "loss 0.5" }, "10 loss 0.5"],
    [{ t: "10", says: "loss 0.4" }, "10.000001 loss 0.4"],
    [{ t: "09", says: "loss 0.3" }, "10.000002 loss 0.3"],
    "another owner",
    [{ t: "09", says: "loss 0.3" }, "retry"],
    [{ t: "10", says: "loss 0.4" }, "retry"],
    [{ t: "10", says: "loss 0.5" }, "retry"],
    [{ t: "10", says: "loss 0.2" }, "10.000003 loss 0.2"],
  ],
  "leaves a new pod that is behind its own times, as another owner": [
    [{ t: "20", says: "loss 0.7", pod: "a" }, "20 loss 0.7"],
    [{ t: "21", says: "loss 0.6", pod: "a" }, "21 loss 0.6"],
    "another owner",
    [{ t: "10", says: "loss 0.5", pod: "b" }, "10 loss 0.5"],
    [{ t: "11", says: "loss 0.5", pod: "b" }, "11 loss 0.5"],
    "another owner",
    [{ t: "11", says: "loss 0.5", pod: "b" }, "retry"],
    [{ t: "12", says: "loss 0.5", pod: "b" }, "12 loss 0.5"],
    [{ t: "21", says: "loss 0.5", pod: "b" }, "21.000001 loss 0.5"],
    "another owner",
    [{ t: "22", says: "loss 0.5", pod: "b" }, "22 loss 0.5"],
  ],
  "moves an earlier time behind a row that a retry showed to be the pod's, as another owner": [
    [{ t: "20", says: "loss 0.5" }, "20 loss 0.5"],
    "another owner",
    [{ t: "20", says: "loss 0.5" }, "retry"],
    [{ t: "15", says: "loss 0.4" }, "20.000001 loss 0.4"],
  ],
  "takes a replayed row for one sample's only": [
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "10 loss 0.5"],
    "another owner",
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "retry"],
    [{ t: "10", says: "loss 0.5", sequence: 2 }, "10.000001 loss 0.5"],
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "retry"],
  ],
  "knows samples one microsecond apart as another owner": [
    [{ t: "10.000001", says: "loss 0.5" }, "10.000001 loss 0.5"],
    [{ t: "10.000002", says: "loss 0.4" }, "10.000002 loss 0.4"],
    "another owner",
    [{ t: "10.000002", says: "loss 0.4" }, "retry"],
    [{ t: "10.000001", says: "loss 0.5" }, "retry"],
    [{ t: "10.000003", says: "loss 0.4" }, "10.000003 loss 0.4"],
  ],
  "knows old samples as another owner, whatever came after them": [
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "10 loss 0.5"],
    [{ t: "10", says: "loss 0.4" }, "10.000001 loss 0.4"],
    [{ t: "09", says: "loss 0.3" }, "10.000002 loss 0.3"],
    ...others(200),
    "another owner",
    [{ t: "09", says: "loss 0.3" }, "retry"],
    [{ t: "10", says: "loss 0.4" }, "retry"],
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "retry"],
    // Each row is one sample's only, also then.
    [{ t: "10", says: "loss 0.5", sequence: 2 }, "10.000003 loss 0.5"],
    [{ t: "10", says: "loss 0.5", sequence: 1 }, "retry"],
    [{ t: "10", says: "loss 0.5", sequence: 2 }, "retry"],
    [{ t: "30", says: "grad 0" }, "retry"],
    [{ t: "30.6", says: "grad 60" }, "retry"],
    [{ t: "30.61", says: "grad 61" }, "retry"],
    [{ t: "31.99", says: "grad 199" }, "retry"],
  ],
};

for (const [sentence, story] of Object.entries(stories)) {
  Deno.test(`\`record()\` ${sentence}`, () => {
    let state = startRecord(SCOPE);
    const log: ObservationRow[] = [];
    for (const [index, one] of story.entries()) {
      if (one === "another owner") {
        state = replay(SCOPE, log.toSorted(byTime));
        continue;
      }
      const [given, want] = one;
      const recorded = give(state, given);
      state = recorded.state;
      log.push(...recorded.rows);
      const got = recorded.verdict === "retry" ? "retry" : shown(recorded.rows);
      assert.equal(got, want, `sample ${index + 1}`);
      if (recorded.verdict === "retry") assert.deepEqual(recorded.rows, []);
    }
  });
}

Deno.test("`record()` gives rules the values as they were pushed", () => {
  const { rows, reports } = give(startRecord(SCOPE), { t: "10", says: "loss NaN, acc 1, x 1" });
  assert.deepEqual(reports, [{ name: "loss", value: "NaN" }, { name: "acc", value: "1" }]);
  assert.deepEqual(rows.map(({ name }) => name), ["loss", "acc"]);
});

Deno.test("`record()` warns about metrics that it changes or leaves out, also for a retry", () => {
  const given = { t: "10", says: "loss 1e400, acc high, grad 1, grad 2, x high" };
  const first = give(startRecord(SCOPE), given);
  assert.deepEqual(first.warnings, [
    "metric grad was sent more than once: its last value is recorded",
    "metric loss: 1e400 counts as the worst value and is recorded as 1.7976931348623157e+308",
    'metric acc: "high" is not a number and is not recorded',
  ]);
  const retry = give(first.state, given);
  assert.equal(retry.verdict, "retry");
  assert.deepEqual(retry.warnings, first.warnings);
});

Deno.test("`record()` records every metric if no scope names them", () => {
  const { rows } = give(startRecord({}), { t: "10", says: "a NaN, b 2, c high" });
  assert.equal(shown(rows), "10 a NaN, 10 b 2");
});

Deno.test("`record()` takes times with an offset and in any year", () => {
  const state = startRecord({});
  const metrics = [{ name: "a", value: "1" }];
  const times: [string, string][] = [
    ["2026-01-02T03:04:05+01:00", "2026-01-02T02:04:05Z"],
    ["0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001Z"],
    ["1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"],
    ["9999-12-31T23:59:59.123Z", "9999-12-31T23:59:59.123Z"],
  ];
  for (const [time, want] of times) {
    const first = record(state, { pod: "p", time, metrics });
    assert.equal(first.rows[0]?.time, want);
    const other = record(first.state, { pod: "p", time, metrics: [{ name: "a", value: "2" }] });
    assert.notEqual(other.rows[0]?.time, want);
  }
  assert.throws(() => record(state, { pod: "p", time: "today", metrics }), RangeError);
});

Deno.test("`record()` does not change the state before the rows are in the log", () => {
  const before = give(startRecord(SCOPE), { t: "10", says: "loss 0.5" }).state;
  const first = give(before, { t: "11", says: "loss 0.4" });
  assert.deepEqual(give(before, { t: "11", says: "loss 0.4" }), first);
  assert.equal(give(before, { t: "11", says: "loss 0.4" }).verdict, "new");
});

Deno.test("the longest history is recognized as a whole when it is retried, also after others", () => {
  let state = startRecord(SCOPE);
  const count = REMEMBERED_MIN - 200;
  const sample = (index: number): Given => ({
    t: `${10 + Math.floor(index / 100)}.${String(index % 100).padStart(2, "0")}`,
    says: `loss ${index}`,
  });
  for (let index = 0; index < count + 100; index++) state = give(state, sample(index)).state;
  for (const index of [0, 1, 63, 64, count - 1]) {
    assert.equal(give(state, sample(index)).verdict, "retry", `sample ${index}`);
  }
});

Deno.test("what is remembered of a log is bounded", () => {
  let state = startRecord({});
  const start = Date.parse("2026-01-02T03:04:05Z");
  for (let index = 0; index < 3 * REMEMBERED_MIN; index++) {
    const time = new Date(start + index).toISOString();
    const pod = `p${index % 100}`;
    state = record(state, { pod, time, metrics: [{ name: "a", value: "1" }] }).state;
  }
  const { packs, loose } = state.window;
  const remembered = packs.reduce((sum, pack) => sum + pack.digest.length, loose.length);
  assert.ok(remembered >= REMEMBERED_MIN && remembered < REMEMBERED_MIN + 100, String(remembered));
  assert.equal(state.pods.size, 16);
});

Deno.test("a pod that was forgotten still records behind its last row", () => {
  let state = startRecord({});
  const say = (pod: string, seconds: string, value: string) =>
    record(state, { pod, time: at(seconds), metrics: [{ name: "a", value }] });
  state = say("first", "30", "1").state;
  for (let index = 10; index < 30; index++) state = say(`p${index}`, `${index}`, "1").state;
  const [row] = say("first", "20.5", "2").rows;
  assert.match(row?.time ?? "", /T03:04:30\.00000\dZ$/);
});

Deno.test("`replay()` finishes a sample of which the log has only a part", () => {
  const given = { t: "10", says: "loss 0.5, acc 0.1, grad 3" };
  const { rows } = give(give(startRecord(SCOPE), { t: "09", says: "loss 1" }).state, given);
  const before = { time: at("09"), name: "loss", value: "1" };
  const state = replay(SCOPE, [before, ...rows.slice(0, 1)]);
  const rest = give(state, given);
  assert.equal(shown(rest.rows), "10 acc 0.1, 10 grad 3");
  assert.deepEqual(rest.reports, [{ name: "acc", value: "0.1" }, { name: "grad", value: "3" }]);
  assert.equal(give(rest.state, given).verdict, "retry");
  assert.equal(shown(give(rest.state, { t: "10", says: "loss 9" }).rows), "10.000001 loss 9");
});

Deno.test("what is finished late keeps its pod's other rows where they are", () => {
  const part = { time: at("10"), name: "loss", value: "0.5" };
  const newer = give(replay(SCOPE, [part]), { t: "20", says: "loss 0.4" });
  const rest = give(newer.state, { t: "10", says: "loss 0.5, acc 0.1" });
  assert.equal(shown(rest.rows), "10 acc 0.1");
  assert.equal(shown(give(rest.state, { t: "15", says: "loss 0.3" }).rows), "20.000001 loss 0.3");
});

Deno.test("`replay()` does not complete a sample with other values", () => {
  const state = replay(SCOPE, [{ time: at("10"), name: "loss", value: "0.5" }]);
  const other = give(state, { t: "10", says: "loss 0.6, acc 0.1" });
  assert.equal(shown(other.rows), "10.000001 loss 0.6, 10.000001 acc 0.1");
});

Deno.test("`replay()` uses no time among the rows that it does not remember", () => {
  const start = Date.parse(at("00"));
  const rows = Array.from({ length: REMEMBERED_MIN + 2 }, (_, index) => {
    const time = new Date(start + index).toISOString().replace(/\.?0*Z$/, "Z");
    return { time, name: "loss", value: "1" };
  });
  const state = replay(SCOPE, rows);
  assert.equal(shown(give(state, { t: "00", says: "loss 2" }).rows), "00.001001 loss 2");
  assert.equal(shown(give(state, { t: "00.0015", says: "loss 2" }).rows), "00.0015 loss 2");
});

Deno.test("`replay()` leaves out rows that belong to no sample", () => {
  const state = replay(SCOPE, [
    { time: "0001-01-01T00:00:00Z", name: "loss", value: "unavailable" },
    { time: at("10"), name: "loss", value: "0.5" },
    { time: at("10"), name: "acc", value: "unavailable" },
    { time: at("20"), name: "speed", value: "3" },
    { time: "yesterday", name: "loss", value: "3" },
  ]);
  assert.equal(give(state, { t: "10", says: "loss 0.5" }).verdict, "retry");
  assert.equal(shown(give(state, { t: "11", says: "loss 0.5" }).rows), "11 loss 0.5");
});
