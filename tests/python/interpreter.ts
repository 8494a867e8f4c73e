/** The machine's own Python, for the tests of the client, which needs no packages. */
import { run } from "../support/command.ts";
import { type Environment, failureOf } from "../support/python_environment.ts";
import { testWith } from "../training/seen_training.ts";

/** Folder of the client. */
export const CLIENT = new URL("../../clients/python/", import.meta.url).pathname;
/** Folder of its modules. */
export const SOURCES = `${CLIENT}src`;

/** Where the interpreter is, or the reason why the client cannot run in it. */
async function systemPython(): Promise<Environment> {
  const question = "import os, sys; assert sys.version_info >= (3, 10), 'it is older than 3.10'; " +
    "print(os.path.dirname(sys.executable))";
  const answer = await run("python3", { args: ["-c", question] }).catch(() => undefined);
  if (answer === undefined) return { missing: "python3 is not installed" };
  return answer.code === 0 ? { bin: answer.stdout.trim() } : {
    missing: failureOf("python3", answer),
  };
}

const python = await systemPython();

/** Registers a test that needs Python: without one it is skipped, with the reason in its name. */
export function testWithPython(name: string, test: (bin: string) => Promise<void>): void {
  testWith(python, name, test);
}
