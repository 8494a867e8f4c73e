/** Tests of completion: what the shells are given completes commands and flags. */
import assert from "node:assert/strict";
import { COMMANDS } from "../../../app/commands.ts";
import { COMPLETIONS } from "../../../app/terminal/completion.ts";
import { isInstalled, run } from "../../support/command.ts";

const scriptOf = (shell: string) => COMPLETIONS.get(shell)?.(COMMANDS) ?? "";

/** What bash offers for the words so far, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const script = `${scriptOf("bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _milepost; echo "\${COMPREPLY[@]}"`;
  const { code, stdout, stderr } = await run("bash", { args: ["-c", script, "bash", ...words] });
  assert.equal(code, 0, stderr);
  return stdout.trim().split(" ");
}

Deno.test("bash is offered commands, and the flags of the one that was typed", async () => {
  assert.deepEqual(await offered("milepost", "to"), ["top"]);
  assert.deepEqual(await offered("milepost", "logs", "--fo"), ["--follow"]);
  assert.ok((await offered("milepost", "get", "--")).includes("--context"));
  assert.deepEqual(await offered("milepost", "nothing", "--x"), [""]);
});

for (const shell of ["zsh", "fish"]) {
  Deno.test({
    name: `the script for ${shell} can be read by it`,
    ignore: !await isInstalled(shell),
    async fn() {
      const file = await Deno.makeTempFile();
      try {
        await Deno.writeTextFile(file, scriptOf(shell));
        const { code, stderr } = await run(shell, { args: ["-n", file] });
        assert.equal(code, 0, stderr);
      } finally {
        await Deno.remove(file);
      }
    },
  });
}

Deno.test("the script for fish says what each command and flag is for, whatever marks the words have", () => {
  const lines = scriptOf("fish").trimEnd().split("\n");
  for (const { name } of COMMANDS) {
    assert.ok(lines.some((it) => it.includes(`-a ${name} -d '`)), name);
  }
  for (const line of lines) {
    assert.equal(line.replaceAll(/\\./g, "").split("'").length % 2, 1, line);
  }
});
