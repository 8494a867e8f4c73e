/** Tests of what is looked for in a log. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { foundParts, linesWith, MOST_FOUND } from "../../../../page/front/job/log_find.ts";

const cases: Record<string, { text: string; wanted: string; found: string[]; lines: string }> = {
  "nothing": { text: "a\nb", wanted: "", found: [], lines: "a\nb" },
  "another case": {
    text: "Loss 1\nlr\nLOSS 2",
    wanted: "loss",
    found: ["Loss", "LOSS"],
    lines: "Loss 1\nLOSS 2",
  },
  "signs of expressions": {
    text: "a.b*(c)[d]\\{e}|f^$?+/-\naXb",
    wanted: "a.b*(c)[d]\\{e}|f^$?+/-",
    found: ["a.b*(c)[d]\\{e}|f^$?+/-"],
    lines: "a.b*(c)[d]\\{e}|f^$?+/-",
  },
  "letters whose case has another length": {
    text: "İstanbul ıt\nx",
    wanted: "stan",
    found: ["stan"],
    lines: "İstanbul ıt",
  },
  "what is nowhere": { text: "a\nb", wanted: "c", found: [], lines: "" },
};
for (const [name, { text, wanted, found, lines }] of Object.entries(cases)) {
  Deno.test(`a log is looked through for ${name}`, () => {
    const parts = foundParts(text, wanted).filter(({ place }) => place !== undefined);
    assert.deepEqual(parts.map((it) => it.text), found);
    assert.deepEqual(parts.map(({ place }) => place), found.map((_, index) => index));
    assert.equal(linesWith(text, wanted), lines);
  });
}

Deno.test("the parts are the text, whatever is looked for, and so many are marked", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string({ maxLength: 3 }), (text, it) => {
    assert.equal(foundParts(text, it).map(({ text }) => text).join(""), text);
  }));
  assert.equal(foundParts("a".repeat(5_000), "a").length, 2 * MOST_FOUND + 1);
});
