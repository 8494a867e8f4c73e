/** Tests of the parser of server-sent events: pieces, and bounds. */
import assert from "node:assert/strict";
import { createEventParser } from "../../../platform/base/event_parser.ts";

const TEXT =
  "event: jobs\nid: 1\ndata: {\n\ndata: }\n\n: alive\nevent: curves\r\ndata: a\r\ndata:b\r\n\r\n\n";
const PARTS = [
  { kind: "event", event: "jobs", data: "{" },
  { kind: "event", event: "", data: "}" },
  { kind: "comment", text: "alive" },
  { kind: "event", event: "curves", data: "a\nb" },
];
Deno.test("createEventParser() finds the same parts wherever the text is cut", () => {
  for (let at = 0; at <= TEXT.length; at++) {
    const parse = createEventParser(8_000_000);
    assert.deepEqual([...parse(TEXT.slice(0, at)), ...parse(TEXT.slice(at))], PARTS, `at ${at}`);
  }
});

Deno.test("createEventParser() refuses an event without an end", () => {
  const parse = createEventParser(8_000_000);
  assert.throws(() => parse(`data: ${"a".repeat(8_000_001)}`), RangeError);
});

Deno.test("createEventParser() bounds a line, not what came before it", () => {
  const parse = createEventParser(10);
  assert.deepEqual(parse("data: 12345678901\n\n: abcde"), [
    { kind: "event", event: "", data: "12345678901" },
  ]);
  assert.deepEqual(parse("f\n"), [{ kind: "comment", text: "abcdef" }]);
  parse("data: 1234");
  assert.throws(() => parse("5"), RangeError);
});

Deno.test("createEventParser() refuses an event without an end that comes in many lines", () => {
  for (const line of ["data: 123\n", "data\n"]) {
    const parse = createEventParser(10);
    assert.throws(() => {
      for (let lines = 0; lines < 20; lines++) parse(line);
    }, RangeError);
  }
  const parse = createEventParser(10);
  for (let events = 0; events < 20; events++) {
    assert.deepEqual(parse("data: 1234\n"), []);
    assert.deepEqual(parse("data: 56\n\n"), [{ kind: "event", event: "", data: "1234\n56" }]);
  }
});

Deno.test("createEventParser() takes a field without a colon, and one blank after it, as the standard says", () => {
  const parse = createEventParser(100);
  assert.deepEqual(parse("event:a:b\ndata\ndata:  two\nid: 1\n\n"), [
    { kind: "event", event: "a:b", data: "\n two" },
  ]);
});
