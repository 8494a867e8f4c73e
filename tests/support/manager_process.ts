/** The manager as a process of its own, against any API server, on ports that stay the same. */
import { freePort } from "./free_port.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

/** A manager process. */
export interface ManagerProcess {
  readonly pid: number;
  readonly log: () => string;
  /** Sends a signal, waits for the end, and returns the exit code. */
  end(signal: Deno.Signal): Promise<number>;
}

/** Runs the sources. */
const FROM_SOURCE = [Deno.execPath(), "run", "-A", "--no-check", main];

/**
 * Starts managers with the same ports again and again. `program` is the program and its arguments before
 * the command.
 */
export function managerLauncher(
  kubeconfig: string,
  flags: readonly string[] = [],
  [program = "", ...before]: readonly string[] = FROM_SOURCE,
) {
  const [webhook, status, metrics, health] = [freePort(), freePort(), freePort(), freePort()];
  const args = [
    "manager",
    "--kubeconfig",
    kubeconfig,
    "--bind-address=127.0.0.1",
    `--webhook-port=${webhook}`,
    `--status-port=${status}`,
    `--metrics-port=${metrics}`,
    `--health-port=${health}`,
    `--forward-port=${freePort()}`,
    `--webhook-base-url=https://127.0.0.1:${webhook}`,
    `--status-base-url=https://127.0.0.1:${status}`,
    "--feature-gates=TrainJobProgress=true",
    "--log-format=json",
    ...flags,
  ];
  function start(): ManagerProcess {
    const child = new Deno.Command(program, {
      args: [...before, ...args],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let text = "";
    const reading = (async () => {
      for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) text += part;
    })();
    return {
      pid: child.pid,
      log: () => text,
      async end(signal) {
        try {
          child.kill(signal);
        } catch (error) {
          if (!(error instanceof TypeError)) throw error; // It has ended already.
        }
        const limit = setTimeout(() => child.kill("SIGKILL"), 30_000);
        const { code } = await child.status;
        clearTimeout(limit);
        await reading;
        return code;
      },
    };
  }
  async function isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${health}/readyz`);
    await answer.body?.cancel();
    return answer.ok;
  }
  return { start, isReady, ports: { webhook, status, metrics, health } };
}
