/** Tests of what is looked for in a log. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { foundParts } from "../../../../page/front/job/log_find.ts";

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
    const parts = foundParts(text, wanted);
    assert.deepEqual(parts.filter((_, place) => place % 2 === 1), found);
    assert.equal(parts.join(""), lines);
  });
}

Deno.test("the parts are the lines that have it, whatever is looked for, and so many are marked", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string({ maxLength: 3 }), (text, it) => {
    const lines = foundParts(text, it).join("").split("\n");
    assert.ok(lines.every((line) => line === "" || text.split("\n").includes(line)));
    assert.ok(!text.includes(it) || it.includes("\n") || lines.join("\n").includes(it));
  }));
  const parts = foundParts("a".repeat(5_000), "a");
  assert.deepEqual([parts.length, parts.join("").length], [4_001, 5_000]);
});
