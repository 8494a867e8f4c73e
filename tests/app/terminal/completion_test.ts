/** Tests of completion: what the shells are given completes commands and flags. */
import assert from "node:assert/strict";
import { COMMANDS } from "../../../app/commands.ts";
import { COMPLETIONS } from "../../../app/terminal/completion.ts";
import { isInstalled, run } from "../../support/command.ts";

const scriptOf = (shell: string) => COMPLETIONS.get(shell)?.(COMMANDS) ?? "";

/** A milepost that lists jobs, and says with which arguments it was asked. */
const LISTS = `milepost() {
  echo "$@" >> "$ASKED"
  printf '%s\\n' 'NAME     STATE' 'softmax  Running' 'soft-2   Failed' '$(touch "$ASKED.bad")  Failed' '-rf  Failed'
}`;
const asked = await Deno.makeTempFile();
Deno.test.afterAll(() => Deno.remove(asked));

/** What bash offers for the words so far, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const script = `${scriptOf("bash")}
${LISTS}
ASKED=${asked}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _milepost; echo "\${COMPREPLY[@]}"`;
  const { code, stdout, stderr } = await run("bash", { args: ["-c", script, "bash", ...words] });
  assert.equal(code, 0, stderr);
  return stdout.trim().split(" ");
}

Deno.test("bash is offered commands, and the flags of the one that was typed", async () => {
  assert.deepEqual(await offered("milepost", "to"), ["top"]);
  assert.deepEqual(await offered("milepost", "logs", "--fo"), ["--follow"]);
  assert.ok((await offered("milepost", "get", "--")).includes("--context"));
  assert.deepEqual(await offered("milepost", "completion", "z"), ["zsh"]);
  assert.deepEqual(await offered("milepost", "nothing", "--x"), [""]);
});

const NAMES: Readonly<Record<string, readonly [words: readonly string[], get: string]>> = {
  "at once": [["logs", "soft"], ""],
  "behind a switch": [["logs", "-f", "soft"], ""],
  "of the place that is named": [
    ["get", "-n", "ml", "--context", "lab", "soft"],
    " -n ml --context lab",
  ],
  "behind another flag with a value": [["stop", "--reason", "Enough", "soft"], ""],
};
for (const [what, [words, place]] of Object.entries(NAMES)) {
  Deno.test(`bash is offered names of jobs: ${what}`, async () => {
    await Deno.writeTextFile(asked, "");
    assert.deepEqual(await offered("milepost", ...words), ["softmax", "soft-2"]);
    assert.equal(await Deno.readTextFile(asked), `get${place}\n`);
  });
}

Deno.test("no job is asked for where none is meant, and no name runs as a command", async () => {
  await Deno.writeTextFile(asked, "");
  for (
    const words of [["logs", "--rank", "s"], ["logs", "--s"], ["top", "s"], ["get"], ["s"]] as const
  ) {
    assert.ok(!(await offered("milepost", ...words)).includes("softmax"), words.join(" "));
  }
  assert.equal(await Deno.readTextFile(asked), "");
  assert.deepEqual(await offered("milepost", "get", ""), ["softmax", "soft-2"]);
  await assert.rejects(Deno.stat(`${asked}.bad`), Deno.errors.NotFound);
});

Deno.test("bash completes both names", async () => {
  const script = `${scriptOf("bash")}\ncomplete -p milepost kubectl-milepost`;
  const { code, stdout, stderr } = await run("bash", { args: ["-c", script] });
  assert.deepEqual([code, stdout.trim().split("\n").length], [0, 2], stderr);
});

/** What proves, in a shell that has nothing but the script, that it completes. */
const PROOFS: Readonly<Record<string, { readonly asks: string; readonly says: RegExp }>> = {
  zsh: {
    asks: 'print -r -- "${_comps[milepost]}" "${_comps[kubectl-milepost]}"',
    says: /_milepost.*_milepost/,
  },
  fish: {
    asks: `complete -C "milepost to"; complete -C "kubectl-milepost lo"
      function milepost; printf '%s\\n' NAME $argv; end
      complete -C "milepost get -n team-b te"; complete -C "milepost logs -f so"`,
    says: /^top\tshow jobs as they train\nlogs\t.*\nteam-b\n$/m,
  },
};
for (const [shell, { asks, says }] of Object.entries(PROOFS)) {
  Deno.test({
    name: `${shell} completes with its script`,
    ignore: !await isInstalled(shell),
    async fn() {
      const home = await Deno.makeTempDir();
      try {
        await Deno.writeTextFile(`${home}/script`, scriptOf(shell));
        const { code, stdout, stderr } = await run(shell, {
          args: ["-c", `. ${home}/script; ${asks}`],
          env: { HOME: home, ZDOTDIR: home },
        });
        assert.equal(code, 0, stderr);
        assert.match(stdout, says);
      } finally {
        await Deno.remove(home, { recursive: true });
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
