/** Conformance cases for every implementation of `ObservationSink`. */
import assert from "node:assert/strict";
import { partOf } from "../../../owner/observations/log_parts.ts";
import {
  type LogRange,
  type ObservationSink,
  SinkError,
} from "../../../owner/observations/sink.ts";
import type { LogKey, ObservationRow } from "../../../trials/recording/observation_row.ts";

/** A sink under test, and its server or file. */
export interface SinkUnderTest {
  readonly sink: ObservationSink;
  /** Ends the server or removes the file, after the sink was closed. */
  end(): Promise<void>;
}

/** Bound of a call, for a machine under load. */
const long = () => AbortSignal.timeout(60_000);

/** A trial's key. */
export const trial = (name: string): LogKey => ({
  kind: "trial",
  namespace: "ml",
  name,
  uid: `uid-of-${name}`,
});
const job = (name: string, uid = `uid-of-${name}`): LogKey => ({
  kind: "job",
  namespace: "ml",
  name,
  uid,
});

const at = (second: number, fraction = "") =>
  `2026-01-01T00:00:${String(second).padStart(2, "0")}${fraction}Z`;
const row = (time: string, value: string, name = "loss") => ({ time, name, value });

type Case = (sink: ObservationSink) => Promise<void>;

async function refuses(work: Promise<unknown>, kind: SinkError["kind"]): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof SinkError, String(error));
    assert.equal(error.kind, kind, error.message);
    assert.ok(error.retryAfterMs > 0);
    return true;
  });
}

/** Rows of one append, none equal. */
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => {
    const n = from + index;
    return row(new Date(Date.UTC(2026, 0, 1) + n * 10).toISOString(), String(n));
  });

/** The cases by their names. */
export const SINK_CASES: Readonly<Record<string, Case>> = {
  "a text beside a log is the last one, and goes with the log, where any is kept": async (sink) => {
    const [key, other] = [job("a"), trial("b")];
    const keep = (text: string) => sink.history?.keep([{ key, text, endedMs: 1 }], long());
    assert.ok(["", undefined].includes(await sink.history?.read(key, long())));
    await keep("one");
    await keep("two\u{1f600}");
    const text = await sink.history?.read(key, long());
    assert.equal(text, sink.traits.name === "katib" ? undefined : "two\u{1f600}");
    if (text === undefined) return;
    assert.equal(await sink.history?.read(other, long()), "");
    await sink.delete(key, long());
    assert.equal(await sink.history?.read(key, long()), "");
  },
  "a log without rows is empty": async (sink) => {
    assert.deepEqual(await sink.read(trial("a"), long()), []);
    await sink.delete(trial("a"), long());
  },
  "rows are read from a time on, to the microsecond, in any spelling": async (sink) => {
    const rows = [row(at(1), "1"), row(at(2, ".000001"), "2"), row(at(2, ".000002"), "3")];
    await sink.append(trial("since"), rows, long());
    const since = async (time: string) =>
      (await sink.read(trial("since"), long(), { since: time })).map(({ value }) => value);
    assert.deepEqual(await since(at(1, ".000001")), ["2", "3"]);
    assert.deepEqual(await since(at(2, ".000001")), ["2", "3"]);
    assert.deepEqual(await since("2026-01-01T01:00:02.000002+01:00"), ["3"]);
    assert.deepEqual(await since(at(3)), []);
    assert.deepEqual(await since("0001-01-01T00:00:00.000000Z"), ["1", "2", "3"]);
  },
  "any part of a log is read as it stands in the whole": async (sink) => {
    const rows = Array.from({ length: 700 }, (_, n) => {
      const second = Math.floor(n / 7) * 3;
      const time = new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
      return row(time, String(n), ["loss", "accuracy", "lr"][n % 3]);
    });
    await sink.append(trial("a"), rows, long());
    const whole = await sink.read(trial("a"), long());
    assert.equal(whole.length, rows.length);
    const minute = (n: number) => `2026-01-01T00:0${n}:00Z`;
    const ranges: readonly LogRange[] = [
      { limit: 1 },
      { limit: 250 },
      { metric: "loss", limit: 40 },
      { since: minute(1), until: minute(2) },
      { since: minute(1), until: minute(2), limit: 130 },
      { since: minute(1), until: minute(1), metric: "lr" },
      { since: minute(1), seen: 3, limit: 5 },
      { since: minute(1), seen: 2, metric: "accuracy", limit: 5 },
      { since: minute(1), seen: 9, limit: 5 },
      { since: "2026-01-01T00:00:59.999999Z", seen: 9, limit: 5 },
      { since: minute(2), until: minute(1) },
      { metric: "none" },
      { since: minute(9) },
    ];
    for (const range of ranges) {
      const part = await sink.read(trial("a"), long(), range);
      assert.deepEqual(part, partOf(whole, range), JSON.stringify(range));
    }
  },
  "parts of any size put a log together again, also one that has lost rows since": async (sink) => {
    await sink.append(trial("a"), many(1_000), long());
    const readAll = async (limit: number, metric?: string) => {
      const all: ObservationRow[] = [];
      let since: string | undefined;
      for (let seen = 0;;) {
        const part = await sink.read(trial("a"), long(), { since, seen, limit, metric });
        all.push(...part);
        if (part.length < limit) return all;
        since = part.at(-1)?.time;
        seen = all.filter(({ time }) => time === since).length;
      }
    };
    for (const limit of [1, 7, 100, 333, 999, 1_000, 1_001]) {
      assert.deepEqual(await readAll(limit), await expected(many(1_000)), String(limit));
    }
    assert.deepEqual(await readAll(70, "loss"), await expected(many(1_000)));
    await sink.delete(trial("a"), long());
    await sink.append(trial("a"), many(30, 5), long());
    assert.deepEqual(await readAll(7), await expected(many(30, 5)));
    await sink.append(trial("a"), many(400, 35), long());
    assert.deepEqual(await readAll(60), await expected(many(430, 5)));
  },
  "rows are read by time, those of one time as they were written": async (sink) => {
    await sink.append(trial("a"), [row(at(5), "5"), row(at(5), "7", "accuracy")], long());
    await sink.append(trial("a"), [row(at(1), "1"), row(at(5), "6", "zeta")], long());
    const read = await sink.read(trial("a"), long());
    assert.deepEqual(read[0], row(at(1), "1"));
    assert.deepEqual(read.slice(1), [
      row(at(5), "5"),
      row(at(5), "7", "accuracy"),
      row(at(5), "6", "zeta"),
    ]);
  },
  "times keep their microseconds, and what no log holds is cut off": async (sink) => {
    await sink.append(trial("a"), [
      row(at(1, ".123456"), "a"),
      row(at(1, ".1234567"), "b"),
      row(at(2, ".500000"), "c"),
      row("2026-01-01T02:00:03+02:00", "d"),
    ], long());
    assert.deepEqual(await sink.read(trial("a"), long()), [
      row(at(1, ".123456"), "a"),
      row(at(1, ".123456"), "b"),
      row(at(2, ".5"), "c"),
      row(at(3), "d"),
    ]);
  },
  "values and names are kept to the letter": async (sink) => {
    const odd = [
      "",
      " 1 ",
      "NaN",
      "1e400",
      "0x10",
      "ü🚂",
      "a\nb",
      "'; DROP TABLE rows",
      "x".repeat(300),
    ];
    const rows = odd.map((value, index) => row(at(index), value, `eval/${value.slice(0, 9)}.p-99`));
    await sink.append(trial("a"), rows, long());
    assert.deepEqual(await sink.read(trial("a"), long()), rows);
  },
  "the same rows twice in one append are there once": async (sink) => {
    await sink.append(trial("a"), [row(at(1), "1"), row(at(1), "1")], long());
    assert.deepEqual(await sink.read(trial("a"), long()), [row(at(1), "1")]);
  },
  "the same rows appended at the same time are there once": async (sink) => {
    const rows = many(20);
    await Promise.all(Array.from({ length: 8 }, () => sink.append(trial("a"), rows, long())));
    assert.deepEqual(await sink.read(trial("a"), long()), await expected(rows));
  },
  "rows given again after their caller went away are there once": async (sink) => {
    const rows = many(5);
    const gone = new AbortController();
    const first = sink.append(trial("a"), rows, gone.signal);
    gone.abort();
    await first.catch(() => {});
    await sink.append(trial("a"), rows, long());
    assert.deepEqual(await sink.read(trial("a"), long()), await expected(rows));
  },
  "appends of many logs at the same time are all there": async (sink) => {
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await Promise.all(
      names.flatMap((name) =>
        Array.from({ length: 10 }, (_, part) => sink.append(trial(name), many(3, part * 3), long()))
      ),
    );
    for (const name of names) {
      assert.deepEqual(await sink.read(trial(name), long()), await expected(many(30)), name);
    }
  },
  "a long history is taken whole": async (sink) => {
    const rows = many(6000);
    await sink.append(trial("a"), rows, long());
    assert.equal((await sink.read(trial("a"), long())).length, 6000);
  },
  "logs of jobs are apart by UID, and from a trial's of the same name": async (sink) => {
    await sink.append(job("a", "one"), [row(at(1), "1")], long());
    await sink.append(job("a", "two"), [row(at(1), "2")], long());
    await sink.append(trial("a"), [row(at(1), "3")], long());
    assert.deepEqual(await sink.read(job("a", "one"), long()), [row(at(1), "1")]);
    assert.deepEqual(await sink.read(job("a", "two"), long()), [row(at(1), "2")]);
    assert.deepEqual(await sink.read(trial("a"), long()), [row(at(1), "3")]);
  },
  "a log that was deleted is empty, and can be written again": async (sink) => {
    await sink.append(trial("a"), [row(at(1), "1")], long());
    await sink.append(trial("b"), [row(at(1), "1")], long());
    await sink.delete(trial("a"), long());
    assert.deepEqual(await sink.read(trial("a"), long()), []);
    assert.equal((await sink.read(trial("b"), long())).length, 1);
    await sink.append(trial("a"), [row(at(1), "1")], long());
    assert.deepEqual(await sink.read(trial("a"), long()), [row(at(1), "1")]);
  },
  "what no log can hold is refused, and the log stays usable": async (sink) => {
    const wrong = [
      row("yesterday", "1"),
      row("2026-02-30T00:00:00Z", "1"),
      row("2026-01-01 00:00:00Z", "1"),
      row(at(1), "1", ""),
      row(at(1), "1", "n".repeat(256)),
      row(at(1), "v".repeat(65_536)),
      row(at(1), "a\0b"),
    ];
    for (const it of wrong) await refuses(sink.append(trial("a"), [it], long()), "refused");
    await sink.append(trial("a"), [row(at(1), "1", "n".repeat(255))], long());
    assert.equal((await sink.read(trial("a"), long())).length, 1);
  },
  "rows keep their run and step in logs that say so": async (sink) => {
    const rows = [
      { ...row(at(1), "1"), run: "pod-1", step: 0 },
      { ...row(at(1), "2", "acc"), run: "pod-1", step: 0 },
      { ...row(at(2), "3"), run: "pod-2" },
      row(at(3), "4"),
    ];
    await sink.append(trial("a"), rows, long());
    await sink.append(trial("a"), rows.slice(0, 2), long());
    const kept = sink.traits.keepsRuns
      ? rows
      : rows.map(({ time, name, value }) => row(time, value, name));
    assert.deepEqual(await sink.read(trial("a"), long()), kept);
  },
  "no rows are no work": async (sink) => {
    await sink.append(trial("a"), [], long());
    assert.deepEqual(await sink.read(trial("a"), long()), []);
  },
  "a call past its deadline does nothing": async (sink) => {
    const over = AbortSignal.abort();
    await refuses(sink.append(trial("a"), [row(at(1), "1")], over), "unavailable");
    await refuses(sink.read(trial("a"), over), "unavailable");
    await refuses(sink.delete(trial("a"), over), "unavailable");
    assert.deepEqual(await sink.read(trial("a"), long()), []);
  },
  "a sink that was closed takes nothing": async (sink) => {
    await sink.close();
    await refuses(sink.append(trial("a"), [row(at(1), "1")], long()), "unavailable");
    await refuses(sink.read(trial("a"), long()), "unavailable");
  },
};

/** Rows as every sink reads them. */
async function expected(rows: readonly { time: string; name: string; value: string }[]) {
  const { shortTime, sortableTime } = await import("../../../trials/recording/row_time.ts");
  return rows.map(({ time, ...rest }) => ({ time: shortTime(sortableTime(time) ?? ""), ...rest }));
}
