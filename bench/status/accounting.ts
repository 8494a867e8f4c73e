/** Accounts of a load: processor time of each process, and requests to the API server. */
import type { KubeClient } from "../../platform/kube/client.ts";
import type { ControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { cpuSeconds, peakRssMb, rssMb } from "../process_stats.ts";

/** Numbers by the name of what they are of. */
export type Named = Readonly<Record<string, number>>;

/** What was taken and asked between two moments. */
export interface Account {
  /** Processor seconds by process: `endpoint`, `kube-apiserver`, `etcd`. */
  readonly cpu: Named;
  /** Requests that the API server answered: `status writes`, `refused writes`, `TokenReviews`. */
  readonly requests: Named;
  readonly seconds: number;
  /** Of the endpoint at the end, and the most that it had. */
  readonly rssMb: number;
  readonly peakRssMb: number;
}

/** One series of metrics as text: its labels and its value. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of one name in Prometheus' text format. Pure. */
export function samplesOf(text: string, name: string): Sample[] {
  const lines = text.split("\n").filter((line) =>
    line.startsWith(`${name}{`) || line.startsWith(`${name} `)
  );
  return lines.map((line) => {
    const labels = Object.fromEntries(
      [...line.matchAll(/[{,](\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", text = ""]) =>
        [key, text] as const
      ),
    );
    return { labels, value: Number(line.slice(line.lastIndexOf(" ") + 1)) };
  });
}

/** The sum of the samples whose labels are these. Pure. */
export function sumOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samplesOf(text, name)
    .filter((sample) => Object.entries(labels).every(([key, it]) => sample.labels[key] === it))
    .reduce((sum, { value }) => sum + value, 0);
}

/** What of later numbers is more than of earlier ones. Pure. */
export function more(after: Named, before: Named): Named {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]),
  );
}

/** Requests in the API server's metrics. Pure. */
export function requestsIn(metrics: string): Named {
  const name = "apiserver_request_total";
  const writes = samplesOf(metrics, name).filter(({ labels }) =>
    labels.resource === "trainjobs" && labels.subresource === "status" && labels.verb !== "GET"
  );
  const sum = (samples: Sample[]) => samples.reduce((all, { value }) => all + value, 0);
  return {
    "status writes": sum(writes.filter(({ labels }) => labels.code?.startsWith("2"))),
    "refused writes": sum(writes.filter(({ labels }) => !labels.code?.startsWith("2"))),
    TokenReviews: sumOf(metrics, name, { resource: "tokenreviews" }),
  };
}

/** What a manager of Milepost's has asked the API server for, by verb and resource. Pure. */
export function askedIn(metrics: string): Named {
  const asked = new Map<string, number>();
  for (const { labels, value } of samplesOf(metrics, "milepost_api_requests_total")) {
    const what = `${labels.verb} ${labels.resource} ${labels.code}`;
    asked.set(what, (asked.get(what) ?? 0) + value);
  }
  return Object.fromEntries(asked);
}

/** Text of the API server's metrics. */
async function metricsOf(client: KubeClient): Promise<string> {
  return (await client.read("/metrics", { maxBytes: 64 << 20 })).text;
}

/** How many writes of statuses the API server has answered so far. */
export async function statusWrites(client: KubeClient): Promise<number> {
  const { "status writes": done = 0, "refused writes": refused = 0 } = requestsIn(
    await metricsOf(client),
  );
  return done + refused;
}

async function sumFor(pids: readonly number[], read: (pid: number) => Promise<number>) {
  const each = await Promise.all(pids.map(read));
  return each.reduce((sum, it) => sum + it, 0);
}

async function cpuNow({ etcd, apiServer }: ControlPlane, pids: readonly number[]): Promise<Named> {
  return {
    endpoint: await sumFor(pids, cpuSeconds),
    "kube-apiserver": await cpuSeconds(apiServer.pid ?? 0),
    etcd: await cpuSeconds(etcd.pid ?? 0),
  };
}

/** Runs `work`. Returns its result, and what the processes `pids` and the plane used meanwhile. */
export async function accountFor<T>(
  plane: ControlPlane,
  pids: readonly number[],
  work: () => Promise<T>,
): Promise<Account & { readonly result: T }> {
  const requests = requestsIn(await metricsOf(plane.client));
  const cpu = await cpuNow(plane, pids);
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  const cpuAfter = await cpuNow(plane, pids);
  return {
    result,
    seconds,
    cpu: more(cpuAfter, cpu),
    requests: more(requestsIn(await metricsOf(plane.client)), requests),
    rssMb: await sumFor(pids, rssMb),
    peakRssMb: await sumFor(pids, peakRssMb),
  };
}
