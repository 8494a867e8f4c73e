/** Tests of hostile text that is spelled out. */
import { equal } from "node:assert/strict";
import fc from "fast-check";
import {
  lastBytes,
  logText,
  spelledOut,
  withoutSequences,
} from "../../../platform/base/hostile_text.ts";

Deno.test("each character that is not seen is escaped as in JSON, also one beyond four digits", () => {
  for (const text of ["\u202e", "\u{e0041}", "\ud800", "\u001b", "\n\t"]) {
    const spelled = spelledOut(`a${text}b`);
    equal(/^a(\\u[0-9a-f]{4})+b$/.test(spelled), true, spelled);
    equal(JSON.parse(`"${spelled}"`), `a${text}b`);
  }
});

Deno.test("characters that are kept stay as they are", () => {
  equal(spelledOut("a\n\tb\u0007", "\n\t"), "a\n\tb\\u0007");
});

Deno.test("sequences that a terminal obeys are left out", () => {
  equal(withoutSequences("\u001b[32mgreen\u001b[0m\u001b]0;title\u0007 text"), "green text");
});

const LOGS: readonly (readonly [text: string, want: string])[] = [
  ["\u001b[32mgreen\u001b[0m", "green"],
  ["a\r\nb", "a\nb"],
  ["10 %\r20 %\r30 %\nend", "30 %\nend"],
  ["\u001b]0;title\u0007text", "text"],
  ["\u0007", "\\u0007"],
];
for (const [text, want] of LOGS) {
  Deno.test(`logText(${JSON.stringify(text)})`, () => equal(logText(text), want));
}

Deno.test("of each line is left what follows its last carriage return that something follows", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "b", "\r", "\n") }), (text) => {
      const want = text.replaceAll("\r\n", "\n").replace(/[^\n]*\r(?=[^\n])/g, "");
      equal(logText(text), want.replaceAll("\r", ""));
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("logText() takes little time for a long line", () => {
  const began = performance.now();
  for (const part of ["a", "\r", "\u001b[", "\u001b]", "\u001b[0"]) {
    logText(part + part.slice(-1).repeat(200_000));
    logText(part.repeat(200_000 / part.length));
  }
  equal(performance.now() - began < 5_000, true);
});

Deno.test("the end of a text is cut between characters", () => {
  for (const [text, want] of [["abc", "abc"], ["aéb", "éb"], ["abéd", "éd"], ["ab😀", ""]]) {
    equal(lastBytes(text ?? "", 3), want);
  }
});
