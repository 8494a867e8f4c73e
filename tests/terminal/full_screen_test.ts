/** Tests of the full screen: what is drawn, and that it is given back. */
import assert from "node:assert/strict";
import { takeScreen } from "../../terminal/full_screen.ts";
import { atTerminal } from "../support/terminal.ts";

function fakeTerminal() {
  const written: string[] = [];
  const raw: boolean[] = [];
  const terminal = {
    write: (text: string) => void written.push(text),
    setRaw: (isRaw: boolean) => void raw.push(isRaw),
  };
  return { terminal, written, raw };
}

Deno.test("only the lines that differ are drawn, and all of them after a change of the size", () => {
  const { terminal, written } = fakeTerminal();
  const screen = takeScreen(terminal);
  screen.draw(["one", "two"]);
  written.length = 0;
  screen.draw(["one", "three"]);
  assert.deepEqual(written, ["\x1b[2;1H\x1b[2Kthree\x1b[0m"]);
  screen.draw(["one", "three"]);
  assert.equal(written.length, 1);
  screen.forget();
  screen.draw(["one", "three"]);
  assert.match(written.at(-1) ?? "", /one.*three/s);
});

Deno.test("the screen is given back once, and nothing is drawn after that", () => {
  const { terminal, written, raw } = fakeTerminal();
  const screen = takeScreen(terminal);
  screen[Symbol.dispose]();
  screen[Symbol.dispose]();
  screen.draw(["late"]);
  assert.deepEqual(raw, [true, false]);
  assert.equal(written.length, 2);
  assert.ok(written[1]?.endsWith("\x1b[?25h\x1b[?1049l"));
});

const crash = (how: string) => `
import { takeScreen } from "${new URL("../../terminal/full_screen.ts", import.meta.url)}";
import { processTerminal } from "${new URL(
  "../../terminal/process_terminal.ts",
  import.meta.url,
)}";
const screen = takeScreen(processTerminal);
processTerminal.onCrash(() => screen[Symbol.dispose](), new AbortController().signal);
screen.draw(["about to fail"]);
setTimeout(() => { ${how} }, 100);
`;

for (const how of ["throw new Error('x')", "Promise.reject(new Error('x'))", "Deno.exit(3)"]) {
  Deno.test(`the screen is given back by a program that ends by ${how}`, async () => {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    const root = new URL("../../deno.json", import.meta.url).pathname;
    try {
      await Deno.writeTextFile(file, crash(how));
      const command = `${Deno.execPath()} run -A --no-check --config ${root} ${file}`;
      await using screen = atTerminal(command, {});
      assert.notEqual(await screen.ended(), 0);
      const text = screen.text();
      assert.ok(text.indexOf("\x1b[?1049l") > text.indexOf("about to fail"), text);
    } finally {
      await Deno.remove(file);
    }
  });
}
