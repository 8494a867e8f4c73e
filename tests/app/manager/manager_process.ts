/** The manager as a Deployment runs it: a process of its own, configured by flags and environment. */
import { until } from "../../support/until.ts";
import { ELECTION } from "./replicas.ts";
import { freePort } from "../../support/free_port.ts";

const main = new URL("../../../main.ts", import.meta.url).pathname;

/** Options of a manager's process. */
export interface ManagerProcessOptions {
  readonly kubeconfig: string;
  /** Stands for the pod's name. */
  readonly name: string;
  readonly flags?: readonly string[];
  /** The program, with Deno's arguments. Default: this version, from its source. */
  readonly program?: readonly string[];
}

/** A manager that runs. */
export interface ManagerProcess {
  readonly name: string;
  readonly pid: number;
  /** Base URL of the status endpoint. */
  readonly status: string;
  /** Returns the answer of `/readyz`. */
  readyz(): Promise<{ code: number; text: string }>;
  /** All series. */
  metrics(): Promise<string>;
  /** Sends a signal and waits for the end. Returns code and time. */
  stop(signal: Deno.Signal): Promise<{ code: number; tookMs: number }>;
  /** Its output on standard error. */
  log(): string;
}

async function textOf(url: string): Promise<{ code: number; text: string }> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  return { code: answer.status, text: (await answer.text()).trim() };
}

/** Starts it, and resolves when it answers for its health; ready it may become later. */
export async function startManagerProcess(options: ManagerProcessOptions): Promise<ManagerProcess> {
  const [status, health, metrics, webhook, forward] = Array.from({ length: 5 }, freePort);
  const flags = {
    "kubeconfig": options.kubeconfig,
    "bind-address": "127.0.0.1",
    "status-port": status,
    "health-port": health,
    "metrics-port": metrics,
    "webhook-port": webhook,
    "forward-port": forward,
    "webhook-base-url": `https://127.0.0.1:${webhook}`,
    "status-base-url": `https://127.0.0.1:${status}`,
    "feature-gates": "TrainJobProgress=true",
    "lease-duration": ELECTION.leaseDuration,
    "renew-deadline": ELECTION.renewDeadline,
    "retry-period": ELECTION.retryPeriod,
  };
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...options.program ?? ["run", "-A", "--no-check", main],
      "manager",
      ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      ...options.flags ?? [],
    ],
    env: { NO_COLOR: "1", POD_NAME: options.name, POD_UID: `uid-${options.name}` },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let log = "";
  const reading = (async () => {
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) log += part;
  })();
  const readyz = () => textOf(`http://127.0.0.1:${health}/readyz`);
  async function stop(signal: Deno.Signal) {
    const began = performance.now();
    child.kill(signal);
    const { code } = await child.status;
    await reading;
    return { code, tookMs: performance.now() - began };
  }
  try {
    await until("the manager answers for its health", async () => (await readyz()).code > 0);
  } catch (error) {
    await stop("SIGKILL").catch(() => {});
    throw new Error(`the manager did not start: ${log}`, { cause: error });
  }
  return {
    name: options.name,
    pid: child.pid,
    status: `https://127.0.0.1:${status}`,
    readyz,
    metrics: async () => (await textOf(`http://127.0.0.1:${metrics}/metrics`)).text,
    stop,
    log: () => log,
  };
}
