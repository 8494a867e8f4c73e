/** Tests of the signals that stop a command. */
import assert from "node:assert/strict";
import { run } from "../support/command.ts";

const PROGRAM = `
  import { stopSignal } from "${new URL("../../app/signals.ts", import.meta.url)}";
  const signal = stopSignal();
  signal.addEventListener("abort", () => {
    console.log("asked to stop");
    Deno.exit(0);
  });
  Deno.kill(Deno.pid, "SIGHUP");
  setTimeout(() => console.log("goes on"), 500);
  setTimeout(() => Deno.exit(0), 500);
`;

/** Runs the program from a shell that does `before`; returns its exit code and what it printed. */
async function hangUp(before: string) {
  const script = `${before} exec "$0" eval --no-check "$1"`;
  const { code, stdout } = await run("sh", { args: ["-c", script, Deno.execPath(), PROGRAM] });
  return { code, stdout };
}

Deno.test("`stopSignal()` takes the end of the terminal for a request to stop", async () => {
  assert.deepEqual(await hangUp(""), { code: 0, stdout: "asked to stop\n" });
});

Deno.test("`stopSignal()` lets a program of nohup outlive its terminal", async () => {
  assert.deepEqual(await hangUp("trap '' HUP;"), { code: 0, stdout: "goes on\n" });
});

Deno.test("`stopSignal()` takes the end of a wrapper for a request to stop", async () => {
  // The shell is the wrapper: it ends, and what it has started hears of that.
  const program = PROGRAM.replace('Deno.kill(Deno.pid, "SIGHUP");', "").replaceAll("500", "20_000");
  const script = `MILEPOST_WRAPPER_PID=$$ "$0" eval --no-check "$1" &`;
  const { stdout } = await run("sh", { args: ["-c", script, Deno.execPath(), program] });
  assert.equal(stdout, "asked to stop\n");
});
