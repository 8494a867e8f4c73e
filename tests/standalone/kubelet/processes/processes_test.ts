/** Tests of the end of programs and their descendants, with real processes. */
import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../../../platform/base/clock.ts";
import { findProcesses } from "../../../../standalone/kubelet/processes/process_table.ts";
import {
  createProcesses,
  type Processes,
  type ProcessesOptions,
} from "../../../../standalone/kubelet/processes/processes.ts";
import { until } from "../../../support/fake_clock.ts";
import { lives } from "../rig.ts";

async function withProcesses(
  options: Partial<ProcessesOptions>,
  test: (processes: Processes) => Promise<void>,
): Promise<void> {
  const bookFolder = await Deno.makeTempDir();
  const markPrefix = `${crypto.randomUUID()}/`;
  const processes = createProcesses({ clock: systemClock, bookFolder, markPrefix, ...options });
  try {
    await test(processes);
  } finally {
    await processes.close(0);
    await Deno.remove(bookFolder, { recursive: true });
  }
}

/** Starts a shell script; `text()` is its output so far. */
function startScript(processes: Processes, script: string, mark = "no/mark") {
  let text = "";
  const process = processes.start({
    command: ["/bin/sh", "-c", script],
    cwd: "/",
    env: { PATH: Deno.env.get("PATH") ?? "" },
    mark,
    onOutput: (_stream, chunk) => {
      text += new TextDecoder().decode(chunk);
    },
  });
  return { process, text: () => text };
}

Deno.test("`ended` comes when the last process is gone, however long that takes", async () => {
  const gone = 2 ** 30; // No process has this id.
  let rounds = 0;
  const find = () => ++rounds > 300 ? [] : [gone];
  const clock = { ...systemClock, sleep: () => Promise.resolve() };
  await withProcesses({ clock, find }, async (processes) => {
    assert.equal(await startScript(processes, "exit 3").process.ended, 3);
    assert.equal(rounds, 301);
  });
});

Deno.test("`close()` gives up a process that survives SIGKILL", async () => {
  const find = () => [2 ** 30];
  const clock: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(0, signal) };
  await withProcesses({ clock, find }, async (processes) => {
    const { process, text } = startScript(processes, "echo $$; exit 3");
    await until("it has ended itself", () => text() !== "" && !lives(Number(text())));
    await processes.close(0);
    assert.equal(await process.ended, 3);
  });
});

Deno.test("a daemon that left session and environment ends with its container", () =>
  withProcesses({}, async (processes) => {
    const script = "env -i setsid sleep 300 & echo $!; sleep 300";
    const { process, text } = startScript(processes, script);
    await until("it printed", () => text() !== "");
    const daemon = Number(text());
    await until("it is a daemon", () => {
      const traits = { sessions: new Set([daemon]), isMine: () => false, pipes: new Set<string>() };
      return findProcesses(traits).includes(daemon);
    });
    await process.stop(0);
    assert.equal(lives(daemon), false);
  }));

Deno.test("`killAll()` ends everything without waiting", () =>
  withProcesses({ markPrefix: "of-this-test/" }, async (processes) => {
    const script = "trap '' TERM; setsid sleep 300 & echo $!; sleep 300 & wait";
    const { process, text } = startScript(processes, script, "of-this-test/a");
    await until("it printed", () => text() !== "");
    processes.killAll();
    assert.equal(await process.ended, 137);
    assert.equal(lives(Number(text())), false);
  }));
