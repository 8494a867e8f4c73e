/** A manager as a process of its own over an embedded control plane, and jobs with their tokens. */
import { startControlPlane } from "../../app/standalone/control_plane.ts";
import { KINDS } from "../../crds/kinds.ts";
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { CA_KEY, childNames, LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { managerLauncher } from "../../tests/support/manager_process.ts";
import { requestToken, shellRuntime, trainJob } from "../../tests/support/standalone.ts";
import { until } from "../../tests/support/until.ts";
import { buildGenerator } from "../generator/generator.ts";
import type { LoadTarget } from "../generator/plan.ts";

/** What is pushed to. */
export interface Endpoint {
  /** Of the manager. */
  readonly pid: number;
  readonly caPem: string;
  /** A job each, with the token of its pod. */
  readonly targets: readonly LoadTarget[];
  /** Of the API server, as its administrator. */
  readonly client: KubeClient;
  /** Ports of the manager. */
  readonly ports: ReturnType<typeof managerLauncher>["ports"];
  /** `host:port` where connections are accepted and closed, and nothing else is done. */
  readonly elsewhere: string;
}

const NAMESPACE = "default";
/** A runtime whose pods do nothing. */
const IDLE_RUNTIME = "idle";

async function tokenOf(client: KubeClient, namespace: string, job: string): Promise<string> {
  const labelSelector = `${LABELS.trainJobName}=${job}`;
  const pod = await until(`a pod of ${job}`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace, labelSelector });
    return items[0];
  }, { timeoutMs: 60_000 });
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace, name: "default" };
  return await requestToken(client, account, { audience: PUSH_AUDIENCE, pod: { name, uid } });
}

const jobName = (index: number) => `job-${index}`;

/** Creates `count` TrainJobs in a namespace. Returns where their pods push, with the tokens of these. */
export async function createTargets(
  client: KubeClient,
  { base, namespace, count }: {
    /** Of the status endpoint. */
    readonly base: string;
    readonly namespace: string;
    readonly count: number;
  },
): Promise<LoadTarget[]> {
  const jobs = Array.from({ length: count }, (_, index) => jobName(index));
  for (const job of jobs) {
    await client.create(KINDS.trainJob, trainJob(job, IDLE_RUNTIME, { namespace }));
  }
  const targets: LoadTarget[] = [];
  for (const job of jobs) {
    targets.push({
      url: `${base}${statusPath(TRAINJOB, namespace, job)}`,
      token: await tokenOf(client, namespace, job),
    });
  }
  return targets;
}

/** Starts a program of low priority that closes every connection. Returns its address. */
async function startClosing(cleanup: AsyncDisposableStack): Promise<string> {
  // A balancer whose one backend is nowhere.
  const child = new Deno.Command("nice", {
    args: ["-n", "10", await buildGenerator(), "balance", "127.0.0.1:0", "127.0.0.1:1"],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream());
  cleanup.defer(async () => {
    child.kill("SIGTERM");
    await child.status;
    await lines.cancel();
  });
  const reader = lines.getReader();
  const { value = "" } = await reader.read();
  reader.releaseLock();
  return value.trim();
}

/** The manager's program: by default its sources, without further flags. */
export interface EndpointProgram {
  /** Program and arguments before those of the manager. */
  readonly program: readonly string[];
  readonly flags: readonly string[];
}

/** Runs `work` with a manager, and `count` TrainJobs that have a pod each, which nothing runs. */
export async function withEndpoint<T>(
  count: number,
  work: (endpoint: Endpoint) => Promise<T>,
  { program, flags }: Partial<EndpointProgram> = {},
): Promise<T> {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, kubelet: false });
  cleanup.defer(() => plane.stop());
  const { client } = plane;
  const launcher = managerLauncher(plane.kubeconfig, flags, program);
  const manager = launcher.start();
  cleanup.defer(async () => void await manager.end("SIGTERM"));
  await until("the manager is ready", launcher.isReady, { timeoutMs: 60_000 });
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime(IDLE_RUNTIME, "sleep 600"));
  const base = `https://127.0.0.1:${launcher.ports.status}`;
  const targets = await createTargets(client, { base, namespace: NAMESPACE, count });
  const name = childNames.tlsConfig(jobName(0));
  const config = await client.get(KINDS.configMap, { namespace: NAMESPACE, name });
  const caPem = config.data?.[CA_KEY] ?? "";
  const elsewhere = await startClosing(cleanup);
  return await work({ pid: manager.pid, caPem, targets, client, ports: launcher.ports, elsewhere });
}
