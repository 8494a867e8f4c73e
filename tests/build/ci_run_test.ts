/** Tests of `.ci/run` with a stand-in for Deno: which failures a second run may excuse, and what was skipped. */
import assert from "node:assert/strict";
import { run } from "../support/command.ts";

const SCRIPT = new URL("../../.ci/run", import.meta.url);

/** Prints what the runners of `deno task test` print, and what the second run of files counts. */
const NPX = `#!/bin/sh
case "$*" in
  *"task check") echo "ok | 1 passed | 0 failed (1ms)" ;;
  *"task test") cat "$STAND_IN/test.log"; exit 1 ;;
  *"task test:python "*) cat "$STAND_IN/browser.log" ;;
  *" test -A --no-check "*) echo "second run: $*"; echo "ok | $PASSED_AGAIN passed | 0 failed (1ms)" ;;
esac
`;

const OK = "ok | 5 passed (2 steps) | 0 failed (1s)";
const ONE_FAILED = "FAILED | 7 passed | 1 failed (1s)";
const TWO_FAILED = "FAILED | 6 passed | 2 failed (1s)";
const UNSTEADY = "a test => ./tests/kube/some_test.ts:12:6";

/** Runs the script where the runners print these lines. Returns its exit code and its output. */
async function runWith(
  lines: readonly string[],
  { passedAgain = 3, browserLines = [] }: { passedAgain?: number; browserLines?: string[] } = {},
) {
  const folder = await Deno.makeTempDir({ prefix: "milepost-ci-" });
  try {
    const [bin, ci] = [`${folder}/bin`, `${folder}/repository/.ci`];
    for (const path of [bin, ci]) await Deno.mkdir(path, { recursive: true });
    await Deno.copyFile(SCRIPT, `${ci}/run`);
    await Deno.writeTextFile(`${folder}/test.log`, `${lines.join("\n")}\n`);
    await Deno.writeTextFile(`${folder}/browser.log`, `${browserLines.join("\n")}\n`);
    // Nothing can be installed: the tests of the real control plane do not run.
    const programs = { npx: NPX, python3: "#!/bin/sh\nexit 1\n", id: "#!/bin/sh\necho 1000\n" };
    for (const [name, text] of Object.entries(programs)) {
      await Deno.writeTextFile(`${bin}/${name}`, text, { mode: 0o755 });
    }
    const { code, stdout } = await run("bash", {
      args: [`${ci}/run`],
      env: {
        PATH: `${bin}:/usr/bin:/bin`,
        STAND_IN: folder,
        PASSED_AGAIN: `${passedAgain}`,
        TMPDIR: folder,
      },
    });
    return { code, stdout, last: stdout.trimEnd().split("\n").at(-1) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test(".ci/run excuses a failure that passes when its file runs alone", async () => {
  const { code, stdout, last } = await runWith([OK, UNSTEADY, ONE_FAILED]);
  assert.match(stdout, /second run: .* \.\/tests\/kube\/some_test\.ts$/m);
  assert.match(stdout, /UNSTEADY, passed on the second run: \.\/tests\/kube\/some_test\.ts$/m);
  assert.deepEqual({ code, last }, { code: 0, last: "14 passed, 0 failed" });
});

Deno.test(".ci/run names the tests that were skipped, and counts them", async () => {
  const { stdout } = await runWith([OK, "./tests/a_test.ts => one of root ... ignored (0ms)", OK], {
    browserLines: ["a journey (no node) ... ignored (0ms)", "ok | 0 passed | 0 failed | 1 ignored"],
  });
  assert.match(stdout, / 2 skipped:\na journey \(no node\)\none of root\n/);
});

const STAY: Record<string, { lines: string[]; passedAgain?: number; last: string }> = {
  "a module that loads tests did not start": {
    lines: ["../milepost-quick-1/part_1.ts (uncaught error)", UNSTEADY, TWO_FAILED, OK],
    last: "12 passed, 2 failed",
  },
  "the failed test is defined in a module without tests of its own": {
    lines: [OK, "a test => ./tests/status/hostile/case.ts:12:6", ONE_FAILED],
    last: "13 passed, 1 failed",
  },
  "a runner ended without its counts": {
    lines: [UNSTEADY, ONE_FAILED, "error: Module not found"],
    last: "8 passed, 1 failed",
  },
  "the second run has fewer tests than failed": {
    lines: [OK, UNSTEADY, ONE_FAILED],
    passedAgain: 0,
    last: "13 passed, 1 failed",
  },
};
for (const [sentence, { lines, passedAgain, last }] of Object.entries(STAY)) {
  Deno.test(`.ci/run excuses nothing if ${sentence}`, async () => {
    const found = await runWith(lines, { passedAgain });
    assert.doesNotMatch(found.stdout, /UNSTEADY/);
    assert.deepEqual({ code: found.code, last: found.last }, { code: 1, last });
  });
}
