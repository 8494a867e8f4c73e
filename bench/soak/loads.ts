/** Loads of a soak, repeated to its end: honest pushes, hostile bytes, streams, churn, swaps. */
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { MANAGER, TRAINER_API_VERSION } from "../../crds/names.ts";
import { JOBSET_API_VERSION } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { answersIn, dial, exchange } from "../../tests/status/hostile/connection.ts";
import { HONEST, RAW_CASES } from "../../tests/status/hostile/raw_cases.ts";
import { openSlowClients } from "../../tests/platform/http/slow_clients.ts";
import { type LoadPlan, runLoads } from "../generator/generator.ts";
import type { Side } from "../status/sides.ts";
import { addresses, targetsOf } from "../status/turns.ts";
import { createPushers, type Pusher } from "../status/world.ts";

/** Context of the loads. */
export interface SoakWorld {
  readonly side: Side;
  readonly client: KubeClient;
  readonly pushers: readonly Pusher[];
  readonly signal: AbortSignal;
}

/** Counts of the loads' results. */
export interface SoakCounts {
  honest: number;
  /** Honest pushes that were not answered with 200, by the answer. */
  readonly failed: Record<string, number>;
  hostile: number;
  /** Hostile requests with a wrong answer. */
  readonly wrong: string[];
  slow: number;
  streams: number;
  churned: number;
  swaps: number;
}

/** Nothing happened yet. */
export const noCounts = (): SoakCounts => ({
  honest: 0,
  failed: {},
  hostile: 0,
  wrong: [],
  slow: 0,
  streams: 0,
  churned: 0,
  swaps: 0,
});

const ROUND_MS = 20_000;
const SWAP_EVERY_MS = 10_000;
/** Far from saturation: what is looked for is growth. */
const RATE = { kept: 300, fresh: 100 };

/** Ends early, and silently, with the soak. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

/** Pushes on kept connections, and on a connection each. */
export async function pushOn({ side, pushers, signal }: SoakWorld, counts: SoakCounts) {
  const plan = (name: string, mode: LoadPlan["mode"], rate: number): LoadPlan => ({
    name,
    mode,
    rate,
    targets: targetsOf(side.url, pushers),
    caPem: side.caPem,
    connections: 32,
    durationMs: ROUND_MS,
    sources: addresses(16),
  });
  const plans = [
    plan("kept", "keep-alive", RATE.kept),
    plan("fresh", "connection-per-push", RATE.fresh),
  ];
  while (!signal.aborted) {
    for (const load of (await runLoads(plans)).results) {
      counts.honest += load.ok;
      const others = { ...load.byStatus, ...load.errors };
      for (const [what, count] of Object.entries(others)) {
        if (what !== "200" && count > 0) counts.failed[what] = (counts.failed[what] ?? 0) + count;
      }
    }
  }
}

/** Sends the corpus of hostile bytes, one after the other. */
export async function attackOn({ side, signal }: SoakWorld, counts: SoakCounts) {
  const target = { port: Number(new URL(side.url).port), localAddress: "127.0.0.240" };
  const cases = Object.entries(RAW_CASES);
  for (let index = 0; !signal.aborted; index++) {
    const [sentence, one] = cases[index % cases.length] ?? [];
    if (sentence === undefined || one === undefined) return;
    const codes = answersIn(await exchange(target, one.bytes, one.ends)).map(({ code }) => code);
    counts.hostile += 1;
    const isWrong = codes.some((code) => code === 200 || (code >= 500 && code !== 503));
    if (isWrong && counts.wrong.length < 20) counts.wrong.push(`${sentence}: ${codes.join()}`);
    await pause(20, signal);
  }
}

/** Clients that take their time, from an address of their own. */
export async function dawdleOn({ side, signal }: SoakWorld, counts: SoakCounts) {
  const target = { port: Number(new URL(side.url).port) };
  const honest = HONEST.replace("Connection: close\r\n", "");
  while (!signal.aborted) {
    const sources = ["127.0.0.241", "127.0.0.242"];
    const clients = await openSlowClients({ target, sources, honest, count: 50, atOnce: 4 });
    counts.slow += clients.length;
    await pause(30_000, signal);
    for (const client of clients) client.destroy();
    await Promise.all(clients.map(({ closed }) => closed));
  }
}

async function readStream(world: SoakWorld, http: Deno.HttpClient, pusher: Pusher, ms: number) {
  const end = AbortSignal.any([world.signal, AbortSignal.timeout(ms)]);
  const url = `${world.side.url}${
    statusPath(TRAINJOB, pusher.namespace, pusher.trainJob)
  }?watch=true`;
  const headers = { authorization: `Bearer ${pusher.token}` };
  try {
    const answer = await fetch(url, { client: http, headers, signal: end });
    for await (const _ of answer.body ?? []) if (end.aborted) break;
    return answer.ok;
  } catch {
    return end.aborted;
  }
}

/** Streams of status events, ended by their clients. */
export async function watchOn(world: SoakWorld, counts: SoakCounts) {
  using http = Deno.createHttpClient({ caCerts: [world.side.caPem] });
  while (!world.signal.aborted) {
    const some = world.pushers.slice(0, 10);
    const read = await Promise.all(some.map((it, index) => {
      return readStream(world, http, it, 3000 + 1000 * index);
    }));
    counts.streams += read.filter((ok) => ok).length;
    await pause(500, world.signal);
  }
}

/** Everything that controllers would remove with the TrainJobs. */
async function removeAll(client: KubeClient, namespace: string): Promise<void> {
  const paths = [
    `/apis/${TRAINER_API_VERSION}/namespaces/${namespace}/trainjobs`,
    `/apis/${JOBSET_API_VERSION}/namespaces/${namespace}/jobsets`,
    `/apis/batch/v1/namespaces/${namespace}/jobs?propagationPolicy=Background`,
    `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`,
  ];
  for (const path of paths) {
    await client.read(path, { method: "DELETE" });
  }
}

/** TrainJobs that come, push once or more, and go. */
export async function churnOn({ side, client, signal }: SoakWorld, counts: SoakCounts) {
  for (let round = 0; !signal.aborted; round++) {
    const namespace = `churn-${round}`;
    const pushers = await createPushers(client, { namespace, count: 20, say: () => {} });
    const load = {
      name: "churn",
      targets: targetsOf(side.url, pushers),
      caPem: side.caPem,
      connections: 20,
      count: 200,
      sources: addresses(16),
    };
    const [result] = (await runLoads([load])).results;
    counts.honest += result?.ok ?? 0;
    await removeAll(client, namespace);
    counts.churned += pushers.length;
    await pause(5000, signal);
  }
}

/** Fingerprint of the certificate that the endpoint presents. */
function fingerprint(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = dial({ port });
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
  });
}

/** Takes the serving certificate out of its Secret, so that the manager makes and swaps another. */
export async function swapOn({ side, client, signal }: SoakWorld, counts: SoakCounts) {
  const secret = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const body = { data: { "tls.crt": null, "tls.key": null } };
  const port = Number(new URL(side.url).port);
  while (!signal.aborted) {
    const before = await fingerprint(port);
    await client.patch(KINDS.secret, secret, { type: "merge", body });
    await pause(SWAP_EVERY_MS, signal);
    if (await fingerprint(port) !== before) counts.swaps += 1;
  }
}
