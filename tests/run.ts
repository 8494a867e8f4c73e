/**
 * Runs the tests that need no real control plane, or with `quick` those of them that cannot touch the
 * machine. What follows are flags of `deno test`.
 */
import { findTests } from "./support/pure_tests.ts";

/** The quick tests may read files and variables and nothing else, so that the choice proves itself. */
const MAY = { quick: ["--no-prompt", "--allow-read", "--allow-env"], all: ["--allow-all"] };

const [which, ...rest] = Deno.args;
const quick = which === "quick";
const { all, pure } = findTests();
const isPure = new Set(pure);
// Those that start servers and wait for them come first, so that the short ones fill the gaps.
const impure = all.filter((path) => !isPure.has(path) && !path.startsWith("tests/cluster/"));
// Half of their time the others wait: for a lease to run out, or a process to start.
const jobs = navigator.hardwareConcurrency * (quick ? 1 : 1.5);
const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    ...["test", "--no-check", "--parallel", ...MAY[quick ? "quick" : "all"]],
    ...(quick ? rest : Deno.args),
    ...(quick ? pure : [...impure, ...pure]),
  ],
  cwd: new URL("../", import.meta.url),
  env: { DENO_JOBS: Deno.env.get("DENO_JOBS") ?? `${Math.ceil(jobs)}` },
  stdout: "inherit",
  stderr: "inherit",
}).output();
Deno.exit(code);
