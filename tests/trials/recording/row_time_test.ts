/** Tests of the times of rows: parsing, and text of fixed width. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { shortTime, sortableTime } from "../../../trials/recording/row_time.ts";

const times: Record<string, { text: string; want: string | undefined }> = {
  "whole seconds": { text: "2026-01-02T03:04:05Z", want: "2026-01-02T03:04:05.000000Z" },
  "a short fraction": { text: "2026-01-02T03:04:05.1Z", want: "2026-01-02T03:04:05.100000Z" },
  "nanoseconds, cut off": {
    text: "2026-01-02T03:04:05.123456789Z",
    want: "2026-01-02T03:04:05.123456Z",
  },
  "another zone": { text: "2026-01-02T03:04:05+02:30", want: "2026-01-02T00:34:05.000000Z" },
  "small letters": { text: "2026-01-02t03:04:05z", want: "2026-01-02T03:04:05.000000Z" },
  "the last day of a long month": {
    text: "2026-01-31T23:59:59Z",
    want: "2026-01-31T23:59:59.000000Z",
  },
  "a leap day": { text: "2028-02-29T00:00:00Z", want: "2028-02-29T00:00:00.000000Z" },
  "an invalid leap day": { text: "2026-02-29T00:00:00Z", want: undefined },
  "an invalid month": { text: "2026-13-01T00:00:00Z", want: undefined },
  "an invalid hour": { text: "2026-01-01T24:00:00Z", want: undefined },
  "a point without a fraction": { text: "2026-01-01T00:00:00.Z", want: undefined },
  "a date": { text: "2026-01-01", want: undefined },
  "words": { text: "now", want: undefined },
};
for (const [sentence, { text, want }] of Object.entries(times)) {
  Deno.test(`\`sortableTime()\` reads ${sentence}`, () => {
    assert.equal(sortableTime(text), want);
  });
}

const part = (max: number, width: number) =>
  fc.integer({ min: 0, max }).map((it) => String(it).padStart(width, "0"));
const fraction = fc.oneof(fc.constant(""), fc.stringMatching(/^\.\d{0,9}$/));

Deno.test("`sortableTime()` reads UTC as it reads the zone that is the same", () => {
  const parts = [part(9999, 4), part(13, 2), part(32, 2), part(25, 2), part(61, 2), part(61, 2)];
  fc.assert(
    fc.property(fc.tuple(...parts), fraction, (all, fraction) => {
      const [year, month, day, hour, minute, second] = all;
      const local = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}`;
      assert.equal(sortableTime(`${local}Z`), sortableTime(`${local}+00:00`));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("`shortTime()` leaves out zeros at the end of the fraction, and no others", () => {
  assert.equal(shortTime("2026-01-02T03:04:10.000000Z"), "2026-01-02T03:04:10Z");
  assert.equal(shortTime("2026-01-02T03:04:10.100000Z"), "2026-01-02T03:04:10.1Z");
  assert.equal(shortTime("2026-01-02T03:04:10.000100Z"), "2026-01-02T03:04:10.0001Z");
});
