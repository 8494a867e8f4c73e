/**
 * `deno task bench viewers [--apart]`: what a thousand viewers of `milepost ui --in-cluster` cost the pushes and the page's
 * server. With `--apart` that gives way to the manager, as if it had processors of its own: what is left is the manager's.
 */
import { parseArgs } from "node:util";
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import {
  CA_KEY,
  childNames,
  LABELS,
  OBSERVATION_AUDIENCE,
  PUSH_AUDIENCE,
} from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { progress, requestToken, shellRuntime, trainJob } from "../../tests/support/standalone.ts";
import type { StandaloneProcess } from "../../tests/support/milepost_process.ts";
import { until } from "../../tests/support/until.ts";
import { cpuSeconds, peakRssMb } from "../process_stats.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { inFolder, withStandaloneIn } from "../standalone_folder.ts";

const NAMESPACE = "default";
const [VIEWERS, JOBS, PAIRS] = [1_000, 20, 5];
/** Of each job, and how long a half of a pair takes. */
const [PUSHES_PER_SECOND, SECONDS] = [4, 10];
/** After streams were opened or ended, so that what that costs is over. */
const REST_MS = 5_000;

/** Niceness of what runs only where nothing else does. */
const LEAST = 19;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A pod that pushes. */
interface Pusher {
  readonly url: string;
  readonly token: string;
}

async function pusherOf(client: KubeClient, status: string, name: string): Promise<Pusher> {
  await client.create(KINDS.trainJob, trainJob(name, "idle"));
  const pod = await until(`a pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE, labelSelector });
    return items.find(({ status }) => status?.phase === "Running");
  });
  const { name: podName = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: NAMESPACE, name: "default" };
  const bound = { audience: PUSH_AUDIENCE, pod: { name: podName, uid } };
  const token = await requestToken(client, account, bound);
  return { url: `${status}${statusPath(TRAINJOB, NAMESPACE, name)}`, token };
}

/** Pushes at a steady rate. Returns how long each push took, from when it was due, in milliseconds. */
async function pushFor(pushers: readonly Pusher[], http: Deno.HttpClient): Promise<number[]> {
  const times: number[] = [];
  const every = 1_000 / PUSHES_PER_SECOND;
  await Promise.all(pushers.map(async ({ url, token }, place) => {
    const begin = performance.now() + place * every / pushers.length;
    for (let count = 0; count < SECONDS * PUSHES_PER_SECOND; count++) {
      const dueMs = begin + count * every;
      await sleep(Math.max(0, dueMs - performance.now()));
      const loss = String(Math.exp(-count / 20) + Math.random() / 100);
      const answer = await fetch(url, {
        method: "POST",
        client: http,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(progress(count, { loss, accuracy: "0.5" })),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`a push got ${answer.status}`);
      times.push(performance.now() - dueMs);
    }
  }));
  return times;
}

/** Starts a process of Deno, and stops it when it is disposed of. */
function start(args: readonly string[], env: Record<string, string> = {}, niceness = 0) {
  const child = new Deno.Command("nice", {
    args: ["-n", String(niceness), Deno.execPath(), "run", "-A", "--no-check", ...args],
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  return {
    child,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGTERM");
      } catch {
        // It has ended.
      }
      await child.stdout.cancel().catch(() => {});
      await child.status;
    },
  };
}

const path = (name: string) => new URL(name, import.meta.url).pathname;

/** Opens the streams of all viewers in another process; resolves when each has had its first news. */
async function openViewers(url: string, token: string, query: string) {
  const input = JSON.stringify({ url, token, query, viewers: VIEWERS });
  // Browsers have processors of their own: here theirs give way to what is measured.
  const driver = start([path("viewers_driver.ts")], { VIEWERS: input }, LEAST);
  let text = "";
  const reader = driver.child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("open\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the viewers ended: ${text}`);
    text += value;
  }
  return {
    /** Ends them. Throws if any has ended before. */
    async end() {
      const isLost = await Promise.race([driver.child.status.then(() => true), sleep(0)]);
      await reader.cancel();
      if (isLost === true) throw new Error("a viewer's stream ended meanwhile");
      driver.child.kill("SIGTERM");
      await driver.child.status;
    },
  };
}

async function measure(
  folder: string,
  { ready }: StandaloneProcess,
  { say, isApart }: { readonly say: (text: string) => void; readonly isApart: boolean },
): Promise<Measure[]> {
  const client = createClient({ connection: loadKubeconfig(ready.kubeconfig) });
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "exec sleep 3600"));
  const names = Array.from({ length: JOBS }, (_, index) => `train-${index}`);
  const pushers = await Promise.all(names.map((it) => pusherOf(client, ready.status, it)));
  const config = { namespace: NAMESPACE, name: childNames.tlsConfig("train-0") };
  const ca = (await client.get(KINDS.configMap, config)).data?.[CA_KEY] ?? "";
  using http = Deno.createHttpClient({ caCerts: [ca], poolMaxIdlePerHost: JOBS });

  // One account stands for the page's and for the viewers': rights are not what is measured.
  const account = { namespace: NAMESPACE, name: "default" };
  await client.read("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "viewers" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ kind: "ServiceAccount", ...account }],
    }),
  });
  const observing = await requestToken(client, account, { audience: OBSERVATION_AUDIENCE });
  const viewing = await requestToken(client, account, {
    audience: "https://kubernetes.default.svc.cluster.local",
  });
  await Deno.writeTextFile(`${folder}/token`, observing);
  await Deno.writeTextFile(`${folder}/ca.crt`, ca);
  const [port, health] = [freePort(), freePort()];
  await using page = start(
    [
      path("../../main.ts"),
      "ui",
      "--in-cluster",
      `--kubeconfig=${ready.kubeconfig}`,
      "--bind-address=127.0.0.1",
      `--ui-port=${port}`,
      `--health-port=${health}`,
      `--manager-url=${ready.status}`,
      `--manager-token=${folder}/token`,
      `--manager-ca=${folder}/ca.crt`,
      `--max-streams=${2 * VIEWERS}`,
      `--max-streams-per-subject=${2 * VIEWERS}`,
    ],
    {},
    isApart ? LEAST : 0,
  );
  const url = `https://127.0.0.1:${port}`;
  await until("the page is ready", async () => {
    const answer = await fetch(`http://127.0.0.1:${health}/readyz`);
    await answer.body?.cancel();
    return answer.ok;
  });
  const job = (name: string) => `job=${TRAINJOB.id}/${NAMESPACE}/${name}`;
  const query = `/view/v1/events?list=${encodeURIComponent("limit=50")}&${job("train-0")}&${
    job("train-1")
  }`;
  await pushFor(pushers, http);
  const ratios: number[] = [];
  const [alone, beside]: number[][] = [[], []];
  const costs: number[] = [];
  for (let pair = 1; pair <= PAIRS; pair++) {
    await sleep(REST_MS);
    const without = quantile(await pushFor(pushers, http), 0.99);
    const looking = await openViewers(url, viewing, query);
    await sleep(REST_MS);
    const before = await cpuSeconds(page.child.pid);
    const withThem = quantile(await pushFor(pushers, http), 0.99);
    costs.push((await cpuSeconds(page.child.pid) - before) * 1_000 / SECONDS / VIEWERS);
    await looking.end();
    say(`pair ${pair} of ${PAIRS}: ${without.toFixed(1)} and ${withThem.toFixed(1)} ms`);
    alone?.push(without);
    beside?.push(withThem);
    ratios.push(100 * (withThem / without - 1));
  }
  const memory = await peakRssMb(page.child.pid);
  client.close();
  return [
    {
      name: `p99 of pushes beside ${VIEWERS} viewers: how much more, median of ${PAIRS} pairs`,
      value: quantile(ratios, 0.5),
      unit: "%",
      goal: { is: "at most", limit: 20 },
    },
    {
      name: "p99 of pushes beside them, median",
      value: quantile(beside ?? [], 0.5),
      unit: "ms",
      beside: { name: "without", value: quantile(alone ?? [], 0.5) },
    },
    {
      name: "processor time of ui a viewer, each second",
      value: quantile(costs, 0.5),
      unit: "ms",
    },
    {
      name: `most memory of ui with ${VIEWERS} streams`,
      value: memory,
      unit: "MB",
      goal: { is: "at most", limit: 512 },
    },
  ];
}

export const viewers: Benchmark = {
  about:
    "a thousand viewers of the page in a cluster: what they cost pushes, and its memory (--apart)",
  takesOptions: true,
  run(say, args) {
    const { values } = parseArgs({ args: [...args], options: { apart: { type: "boolean" } } });
    const how = { say, isApart: values.apart ?? false };
    return inFolder((folder) =>
      withStandaloneIn(`${folder}/data`, (standalone) => measure(folder, standalone, how))
    );
  },
};
