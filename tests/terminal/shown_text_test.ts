/** Tests of text on a terminal: nothing of what others wrote steers it, and widths are its own. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { columnsOf, cut, fit, logLine, safeJson, safeText } from "../../terminal/shown_text.ts";

// deno-lint-ignore no-control-regex
const STEERS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

const SHOWN: Readonly<Record<string, string>> = {
  "loss": "loss",
  "\x1b[2J": "\\u001b[2J",
  "\x9b2J": "\\u009b2J",
  "a\r\nb\tc": "a b c",
  "\u202egnp.exe": "\\u202egnp.exe",
  "准确率 👍": "准确率 👍",
  "\ud800": "\\ud800",
  [`e${"\u0301".repeat(50)}`]: "e\u0301\u0301\u0301",
};

for (const [text, want] of Object.entries(SHOWN)) {
  Deno.test(`safeText() shows ${JSON.stringify(text).slice(0, 24)} as such`, () => {
    assert.equal(safeText(text), want);
  });
}

Deno.test("no text of others steers a terminal", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assert.doesNotMatch(safeJson({ [text]: text }), STEERS);
    assert.deepEqual(JSON.parse(safeJson({ [text]: text })), { [text]: text });
    assert.doesNotMatch(safeText(text), STEERS);
    assert.doesNotMatch(logLine(text), STEERS);
  }));
});

const LINES: Readonly<Record<string, string>> = {
  "plain": "plain",
  "\x1b[1;31mred\x1b[0m": "red",
  " 10%\r 55%\r100%\r": "100%",
  "a\tb": "a       b",
  "12345678\tb": "12345678        b",
  "\x1b]0;title\x07text": "text",
  "bell\x07": "bell\\u0007",
};

for (const [line, want] of Object.entries(LINES)) {
  Deno.test(`logLine() shows ${JSON.stringify(line)} as a terminal would`, () => {
    assert.equal(logLine(line), want);
  });
}

Deno.test("logLine() takes little time for a line of carriage returns", () => {
  const began = performance.now();
  assert.equal(logLine(`${"\r".repeat(200_000)}x`), "x");
  assert.ok(performance.now() - began < 5_000);
});

Deno.test("cut() and fit() count columns, and split no character", () => {
  assert.equal(cut("mnist", 5), "mnist");
  assert.equal(cut("mnist-large", 6), "mnist…");
  assert.equal(cut("任务一二三", 5), "任务…");
  assert.equal(cut("👩‍🔬👩‍🔬👩‍🔬", 5), "👩‍🔬👩‍🔬…");
  assert.equal(cut("abc", 0), "");
  assert.equal(fit("mnist-large", 6, "..."), "mni...");
  assert.equal(fit("任务", 6, "…"), "任务  ");
  assert.equal(fit("7 %", 5, "…", "right"), "  7 %");
});

Deno.test("fit() has its width, whatever is in it", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, columns) => {
    assert.equal(columnsOf(fit(safeText(text), columns, "…")), columns);
  }));
});

Deno.test("cut() ends each style that it has begun", () => {
  const bold = "\x1b[1mabcdef\x1b[0m";
  assert.equal(cut(bold, 4), "\x1b[1mabc…\x1b[0m");
  assert.equal(cut(bold, 6), bold);
});
