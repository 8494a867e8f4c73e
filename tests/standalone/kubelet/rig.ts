/** A kubelet on an API server in memory, and builders of pods for it. */
import { KINDS } from "../../../crds/kinds.ts";
import type { Container, Pod, PodSpec } from "../../../platform/kube/kubernetes.ts";
import { type Kubelet, startKubelet } from "../../../standalone/kubelet/kubelet.ts";
import type { KubeletOptions } from "../../../standalone/kubelet/kubelet_options.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import { runScheduler } from "../../../standalone/kubelet/scheduler.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { until } from "../../support/fake_clock.ts";
import { MemoryServer } from "./memory_client.ts";

export const NODE = "test-node";

/** A container that runs a shell script. */
export function shell(script: string, more: Partial<Container> = {}): Container {
  return { name: "main", image: "none", command: ["sh", "-c", script], ...more };
}

/** A pod of namespace `ns`, bound to the test's node, that is never restarted. */
export function pod(name: string, containers: Container[], spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name, namespace: "ns" },
    spec: { containers, restartPolicy: "Never", nodeName: NODE, ...spec },
  };
}

/** Context of a test. */
export interface Rig {
  readonly server: MemoryServer;
  readonly kubelet: Kubelet;
  readonly events: { reason: string; message: string }[];
  create(pod: Pod): void;
  read(name: string): Pod | undefined;
  /** Resolves with the pod when `condition` holds for it. */
  wait(name: string, what: string, condition: (pod: Pod) => boolean): Promise<Pod>;
  phase(name: string, phase: string): Promise<Pod>;
  logs(name: string, options?: Parameters<Kubelet["readLogs"]>[2]): Promise<string>;
  /** Stops the kubelet. */
  stop(): Promise<void>;
}

/** Runs `test` with a kubelet that rewrites paths and names, and a scheduler where `schedule` is set. */
export async function withKubelet(
  test: (rig: Rig) => Promise<void>,
  options: Partial<KubeletOptions> & { server?: MemoryServer; schedule?: boolean } = {},
): Promise<void> {
  const server = options.server ?? new MemoryServer();
  const events: { reason: string; message: string }[] = [];
  const client = server.client();
  const dataDir = await Deno.makeTempDir({ prefix: "milepost-kubelet-" });
  const kubelet = await startKubelet({
    client,
    dataDir,
    nodeName: NODE,
    hostIP: "192.0.2.1",
    mountNamespaces: false,
    backOff: { firstMs: 20, longestMs: 100 },
    refreshMs: 100,
    closeGraceMs: 500,
    events: { record: (_about, event) => events.push(event) },
    ...options,
  });
  const abort = new AbortController();
  const loops = [kubelet.run(abort.signal)];
  if (options.schedule) {
    const recorder = { record: (_about: unknown, event: EventText) => void events.push(event) };
    const scheduling = { client, clock: systemClock, node: kubelet.node, events: recorder };
    loops.push(runScheduler(scheduling, abort.signal));
  }
  const read = (name: string) => {
    const stored = server.read(KINDS.pod, { namespace: "ns", name });
    return stored && KINDS.pod.parse(structuredClone(stored));
  };
  const wait = async (name: string, what: string, condition: (pod: Pod) => boolean) => {
    let found: Pod | undefined;
    try {
      await until(`${name}: ${what}`, () => {
        found = read(name);
        return found !== undefined && condition(found);
      }, 20_000);
    } catch (cause) {
      throw new Error(`${cause}; status: ${JSON.stringify(found?.status)}`, { cause });
    }
    if (!found) throw new Error("unreachable");
    return found;
  };
  const stop = async () => {
    abort.abort();
    await Promise.all(loops);
  };
  try {
    await test({
      server,
      kubelet,
      events,
      create: (object) => void server.put(KINDS.pod, { ...object }),
      read,
      wait,
      phase: (name, phase) => wait(name, `phase ${phase}`, (one) => one.status?.phase === phase),
      logs: (name, logOptions) =>
        new Response(kubelet.readLogs({ namespace: "ns", name }, "main", logOptions)).text(),
      stop,
    });
  } finally {
    await stop();
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Whether a process of that id lives. */
export function lives(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}
