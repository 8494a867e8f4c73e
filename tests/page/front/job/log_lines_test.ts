/** Tests of lines of a log: each one once, however its stream is cut and breaks off, and only so many. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { KeptLines, LOG_BOUNDS, LogLines } from "../../../../page/front/job/log_lines.ts";
import { HOLE } from "../../../../platform/base/resumed_log.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
/** Lines of a log whose times are those of a container runtime: several may have one. */
function stamped(gaps: readonly number[]): { line: string; ms: number }[] {
  let nanos = 0;
  return gaps.map((gap, index) => {
    nanos += gap;
    const ms = START + Math.floor(nanos / 1e6);
    const second = new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19);
    return { line: `${second}.${String(nanos % 1e9).padStart(9, "0")}Z line ${index}\n`, ms };
  });
}

const gaps = fc.array(fc.constantFrom(0, 1, 999, 1_000_000, 700_000_000), {
  minLength: 1,
  maxLength: 60,
});
Deno.test("LogLines has each line once, wherever streams are cut and break off", () => {
  fc.assert(fc.property(gaps, fc.array(fc.nat(3_000), { maxLength: 6 }), (given, breaks) => {
    const all = stamped(given);
    const lines = new LogLines();
    for (const at of [...breaks, Infinity]) {
      const since = lines.resume();
      // The API server takes whole seconds, and gives lines from that one on.
      const from = since === undefined ? -Infinity : Math.floor(Date.parse(since) / 1000) * 1000;
      const text = all.filter(({ ms }) => ms >= from).map(({ line }) => line).join("");
      const part = text.slice(0, at);
      lines.add(part.slice(0, 7));
      lines.add(part.slice(7));
    }
    assert.deepEqual(lines.text.split("\n"), given.map((_, index) => `line ${index}`));
    assert.equal(lines.taken, given.length);
  }));
});

Deno.test("LogLines says that lines may be missing if the last known one does not come again", () => {
  const lines = new LogLines();
  lines.add("2026-01-01T00:00:01Z one\n2026-01-01T00:00:01.5Z two\n");
  assert.equal(lines.resume(), "2026-01-01T00:00:01.500Z");
  lines.add("2026-01-01T00:09:00.1Z ten\n");
  assert.equal(lines.text, `one\ntwo\n${HOLE}\nten`);
  assert.equal(lines.resume(), "2026-01-01T00:09:00.100Z");
  lines.add("2026-01-01T00:09:00.1Z ten\n2026-01-01T00:09:00.2Z eleven\n");
  assert.equal(lines.text, `one\ntwo\n${HOLE}\nten\neleven`);
});

Deno.test("LogLines puts times of other zones in order, and lines without a time where they come", () => {
  const lines = new LogLines();
  lines.add("2026-01-01T02:00:01+02:00 one\nno time\n");
  assert.equal(lines.resume(), "2026-01-01T00:00:01.000Z");
  lines.add("2026-01-01T02:00:01+02:00 one\n2026-01-01T00:00:02Z two\n");
  assert.equal(lines.text, "one\nno time\ntwo");
});

Deno.test("LogLines shows a line that has no end yet, and drops it where the stream is read anew", () => {
  const lines = new LogLines();
  lines.add("2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z two");
  assert.equal(lines.text, "one\ntwo");
  lines.resume();
  lines.add("2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z two and more\n");
  assert.equal(lines.text, "one\ntwo and more");
});

Deno.test("LogLines keeps the end of a long log, and counts what gave way", () => {
  const lines = new LogLines();
  for (let index = 0; index < LOG_BOUNDS.lines + 100; index++) lines.add(`line ${index}\n`);
  assert.equal(lines.kept.dropped, 100);
  assert.equal(lines.text.split("\n").length, LOG_BOUNDS.lines);
  assert.match(lines.text, /^line 100\n/);
  lines.add(`${"a".repeat(10_000_000)}\n`);
  assert.ok(lines.text.length <= LOG_BOUNDS.characters);
  lines.add("b".repeat(10_000_000));
  assert.ok(lines.text.length <= LOG_BOUNDS.characters + LOG_BOUNDS.lineCharacters);
});

Deno.test("lines of several logs stand in the order of their times, each behind its own before it", () => {
  const kept = new KeptLines();
  const [one, other] = [new LogLines(kept, "[0] "), new LogLines(kept, "[1] ")];
  one.add("2026-01-01T00:00:01Z a\n2026-01-01T00:00:03Z c\nmore of c\n2026-01-01T00:00:04Z no end");
  other.add("2026-01-01T00:00:01Z a\n2026-01-01T00:00:02.5Z b\n2026-01-01T00:00:03Z c\n");
  one.resume();
  one.add("2026-01-01T00:00:03Z c\n2026-01-01T00:00:04Z d\n");
  assert.equal(kept.text, "[0] a\n[1] a\n[1] b\n[0] c\n[0] more of c\n[1] c\n[0] d");
  for (let index = 0; index < LOG_BOUNDS.lines; index++) other.add("2026-01-01T00:00:05Z e\n");
  assert.equal(kept.text.split("\n").length, LOG_BOUNDS.lines);
  assert.equal(kept.dropped, 7);
});
