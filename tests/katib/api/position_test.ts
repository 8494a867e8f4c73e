/** Tests of positions in a log: tables, and pages that add up to the whole log. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { behind, partOf } from "../../../owner/observations/log_parts.ts";
import { laterOf, positionOf, positionText } from "../../../katib/api/position.ts";
import type { Position } from "../../../crds/wire/observation.ts";

const at = (time: string, seen: number): Position => ({ time, seen });
const T = "2026-01-01T00:00:00.000001Z";

const texts: Readonly<Record<string, { text: string; want: Position | undefined }>> = {
  "a time and rows": { text: "1767225600000001.2", want: at(T, 2) },
  "the beginning of time as Katib writes it": {
    text: "-62135596800000000.1",
    want: at("0001-01-01T00:00:00.000000Z", 1),
  },
  "a fraction before 1970": { text: "-1.0", want: at("1969-12-31T23:59:59.999999Z", 0) },
  "more than RFC 3339 can write is the end of it": {
    text: "999999999999999999.0",
    want: at("9999-12-31T23:59:59.999999Z", 0),
  },
  "less is the beginning": {
    text: "-999999999999999999.0",
    want: at("0000-01-01T00:00:00.000000Z", 0),
  },
  "nothing": { text: "", want: undefined },
  "no rows": { text: "17", want: undefined },
  "a fraction of rows": { text: "17.1.1", want: undefined },
  "too many digits": { text: "1234567890123456789.1", want: undefined },
  "too many rows": { text: "1.1234567890", want: undefined },
  "another line": { text: "1.1\n", want: undefined },
  "digits of another script": { text: "١.١", want: undefined },
  "an exponent": { text: "1e5.1", want: undefined },
  "JSON": { text: '{"time":"x"}', want: undefined },
};

for (const [what, { text, want }] of Object.entries(texts)) {
  Deno.test(`\`positionOf()\` reads ${what}`, () => assert.deepEqual(positionOf(text), want));
}

Deno.test("`positionText()` is read as what was written", () => {
  fc.assert(fc.property(
    fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
    fc.nat(999),
    fc.nat(1000),
    (date, micros, seen) => {
      const time = `${date.toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
      assert.deepEqual(positionOf(positionText({ time, seen })), { time, seen });
    },
  ));
});

Deno.test("`laterOf()` takes the later time, and of one time the more rows", () => {
  const [early, late] = [at("2026-01-01T00:00:00.000000Z", 9), at(T, 1)];
  assert.deepEqual(laterOf(early, undefined), early);
  assert.deepEqual(laterOf(early, late), late);
  assert.deepEqual(laterOf(late, early), late);
  assert.deepEqual(laterOf(late, at(T, 5)), at(T, 5));
});

const row = (second: number, value: number) => ({
  time: `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`,
  name: "loss",
  value: String(value),
});

Deno.test("pages of any size put a log together again, also while it grows", () => {
  const steps = fc.array(fc.tuple(fc.nat(3), fc.boolean()), { maxLength: 40 });
  fc.assert(fc.property(steps, fc.integer({ min: 1, max: 7 }), (steps, limit) => {
    const log: ReturnType<typeof row>[] = [];
    const read: { readonly time: string; readonly value: string }[] = [];
    let from: Position | undefined;
    let second = 0;
    const readPage = () => {
      from = from && positionOf(positionText(from));
      const rows = partOf(log, { since: from?.time, seen: from?.seen, limit });
      read.push(...rows);
      from = behind(rows, from);
      return rows.length > 0;
    };
    for (const [ahead, reads] of steps) {
      second = Math.min(59, second + ahead);
      log.push(row(second, log.length));
      if (reads) readPage();
    }
    // Until there is no more; one page a row is the most there can be.
    for (let pages = 0; pages <= 40 && readPage(); pages++);
    assert.deepEqual(read, log);
  }));
});

Deno.test("`partOf()` hides no row of a log that has lost those that were seen", () => {
  const from = { since: "2026-01-01T00:00:05.000000Z", seen: 2 };
  assert.deepEqual(partOf([row(6, 1), row(7, 2)], from), [row(6, 1), row(7, 2)]);
  assert.deepEqual(partOf([row(5, 1), row(7, 2)], from), [row(7, 2)]);
  assert.deepEqual(partOf([row(5, 1), row(5, 2), row(5, 3)], from), [row(5, 3)]);
  assert.deepEqual(partOf([row(5, 1), row(5, 2)], from), []);
  assert.deepEqual(partOf([row(5, 1)], {}), [row(5, 1)]);
});
