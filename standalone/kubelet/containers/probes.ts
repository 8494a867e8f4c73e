/** Container probes: HTTP, TCP and exec, with their periods and thresholds. */
import type { Container } from "../../../platform/kube/kubernetes.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { withDeadline } from "../../../platform/base/deadline.ts";

/** `livenessProbe`, `readinessProbe` or `startupProbe` of a container. */
export type Probe = NonNullable<Container["livenessProbe"]>;

/** The result of a probe. */
export type ProbeResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** Runs a command in the container's environment; returns its exit code and output. */
export type RunCommand = (
  command: readonly string[],
  timeoutMs: number,
) => Promise<{ exitCode: number; output: string }>;

/** Input of probes about the container. */
export interface ProbeTarget {
  /** Address of the pod. */
  readonly address: string;
  readonly ports: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly run: RunCommand;
}

/** Longest part of a response that is kept for a message. */
const MESSAGE_MAX = 200;

/** The number of a port that is given by number or by name. Throws a RangeError for an unknown name. */
function portNumber(
  port: unknown,
  ports: ProbeTarget["ports"],
): number {
  if (typeof port === "number") return port;
  if (typeof port === "string" && /^\d+$/.test(port)) return Number(port);
  const found = ports.find(({ name }) => name === port);
  if (!found) throw new RangeError(`cannot probe port "${String(port)}": no port has that name`);
  return found.containerPort;
}

async function askHttp(
  probe: Probe,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const get = probe.httpGet;
  const scheme = (get?.scheme ?? "HTTP").toLowerCase();
  const host = get?.host || target.address;
  const port = portNumber(get?.port, target.ports);
  const path = get?.path || "/";
  const headers = (get?.httpHeaders ?? []).map((
    { name, value },
  ): [string, string] => [name, value]);
  const url = `${scheme}://${host}:${port}${path.startsWith("/") ? "" : "/"}${path}`;
  const response = await fetch(url, { headers, redirect: "manual", signal });
  await response.body?.cancel();
  if (response.status >= 200 && response.status < 400) return { ok: true };
  return { ok: false, message: `HTTP probe failed with statuscode: ${response.status}` };
}

async function askTcp(
  probe: Probe,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const hostname = probe.tcpSocket?.host || target.address;
  const port = portNumber(probe.tcpSocket?.port, target.ports);
  const connection = await Deno.connect({ hostname, port, signal });
  connection.close();
  return { ok: true };
}

/** Probes once. An error is a failed probe. */
async function askProbe(
  probe: Probe,
  target: ProbeTarget,
  clock: Clock,
): Promise<ProbeResult> {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  const command = probe.exec?.command;
  if (command) {
    const { exitCode, output } = await target.run(command, timeoutMs);
    return exitCode === 0 ? { ok: true } : { ok: false, message: output.slice(0, MESSAGE_MAX) };
  }
  const onDeadline = () => new Error(`no answer within ${timeoutMs} ms`);
  try {
    return await withDeadline({ clock, deadlineMs: timeoutMs, onDeadline }, async (signal) => {
      if (probe.httpGet) return await askHttp(probe, target, signal);
      if (probe.tcpSocket) return await askTcp(probe, target, signal);
      return { ok: true };
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, message: message.slice(0, MESSAGE_MAX) };
  }
}

/** What is probed, and how long. */
export interface Probing {
  readonly target: ProbeTarget;
  readonly clock: Clock;
  /** Aborts when the container ends. */
  readonly signal: AbortSignal;
}

/** Probes periodically until the container ends; yields the first verdict, and each that differs from the one before. */
export async function* verdicts(
  probe: Probe,
  { target, clock, signal }: Probing,
): AsyncGenerator<ProbeResult, void> {
  const good = probe.successThreshold ?? 1;
  const bad = probe.failureThreshold ?? 3;
  let verdict: boolean | undefined;
  let run = { ok: true, length: 0 };
  await clock.sleep((probe.initialDelaySeconds ?? 0) * 1000, signal);
  while (!signal.aborted) {
    const result = await askProbe(probe, target, clock);
    if (signal.aborted) return;
    run = { ok: result.ok, length: run.ok === result.ok ? run.length + 1 : 1 };
    if (run.length >= (result.ok ? good : bad) && verdict !== result.ok) {
      verdict = result.ok;
      yield result;
    }
    await clock.sleep((probe.periodSeconds ?? 10) * 1000, signal);
  }
}
