/**
 * The quick tests: every test file that cannot touch the machine, by what it imports. They run with
 * leave to read files and variables alone, so that the choice proves itself.
 */
import { findTests } from "./support/pure_tests.ts";

const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    ...["test", "--no-check", "--no-prompt", "--parallel", "--allow-read", "--allow-env"],
    ...findTests().pure,
  ],
  cwd: new URL("../", import.meta.url),
  stdout: "inherit",
  stderr: "inherit",
}).output();
Deno.exit(code);
