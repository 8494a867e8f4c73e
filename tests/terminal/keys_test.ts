/** Tests of the keys of a terminal: whole ones, those that come in parts, and what is pasted. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { KeyReader } from "../../terminal/keys.ts";

const keysIn = (...reads: readonly string[]) => {
  const reader = new KeyReader();
  return [...reads.flatMap((it) => reader.read(it)), ...reader.end()];
};
const namesIn = (...reads: readonly string[]) => keysIn(...reads).map(({ key }) => key);

Deno.test("keys are known by what terminals send, and what is no key is left out", () => {
  assert.deepEqual(namesIn("\x1b[A\x1bOBj\x1b[6~\r\x7f\x03"), [
    "up",
    "down",
    "j",
    "page down",
    "enter",
    "backspace",
    "interrupt",
  ]);
  assert.deepEqual(namesIn("\x1b[<0;1;1M\x00\x1b[99~任"), ["任"]);
  assert.deepEqual(namesIn("\x1bq"), ["escape", "q"]);
  assert.deepEqual(namesIn("\x04\x06\x1b[200~\x04\x1b[201~"), ["ctrl-d", "ctrl-f"]);
});

Deno.test("keys are the same in whatever parts they come", () => {
  const text = "\x1b[A\x1bOBj\x1b[6~\x1b[200~ab\x1b[B\r\x1b[201~任\x1b";
  const whole = keysIn(text);
  assert.deepEqual(whole.map(({ key, isPasted }) => isPasted ? `pasted ${key}` : key), [
    "up",
    "down",
    "j",
    "page down",
    "pasted a",
    "pasted b",
    "任",
    "escape",
  ]);
  fc.assert(fc.property(fc.array(fc.nat(text.length)), (places) => {
    const at = [0, ...places.sort((one, other) => one - other), text.length];
    assert.deepEqual(keysIn(...at.map((from, index) => text.slice(from, at[index + 1]))), whole);
  }));
});

Deno.test("Esc is a key when nothing follows it; Ctrl-C is one also in what is pasted", () => {
  const reader = new KeyReader();
  assert.deepEqual([reader.read("\x1b"), reader.hasBegun], [[], true]);
  assert.deepEqual(reader.end(), [{ key: "escape", isPasted: false }]);
  assert.equal(reader.hasBegun, false);
  assert.deepEqual(namesIn("\x1b[200~\x03"), ["interrupt"]);
});
