/** One turn of the reconcile benchmark: a thousand jobs at once, until each has what its controller makes of it. */
import { z } from "zod";
import type { KubeClient } from "../../platform/kube/client.ts";
import { until } from "../../tests/support/until.ts";
import { cpuSeconds, peakRssMb, rssMb } from "../process_stats.ts";
import type { Load } from "./load.ts";
import type { Side } from "./side.ts";

/** What a turn found. */
export interface Turn {
  readonly readySeconds: number;
  readonly jobsPerSecond: number;
  /** Requests to the API server for each job, watches aside. */
  readonly requestsPerJob: number;
  /** The same by verb, resource and answer. */
  readonly requests: Readonly<Record<string, number>>;
  /** Processor time a job: of the manager, and of the API server with all that it does. */
  readonly cpuMsPerJob: number;
  readonly serverCpuMsPerJob: number;
  readonly restingMb: number;
  readonly loadedMb: number;
  readonly peakMb: number;
}

/** Creations under way at a time: more than an API server works on at once. */
const PARALLEL = 50;
/** Longer than anything that is done after a start or after the last object, in milliseconds. */
const SETTLE_MS = 5_000;

const countSchema = z.looseObject({
  items: z.array(z.unknown()),
  metadata: z.looseObject({ remainingItemCount: z.number().optional() }),
});

/** Returns how many objects a collection has, at the price of one. */
async function countIn(client: KubeClient, path: string): Promise<number> {
  const { text } = await client.read(`${path}?limit=1`);
  const { items, metadata } = countSchema.parse(JSON.parse(text));
  return items.length + (metadata.remainingItemCount ?? 0);
}

/** Creates the jobs. Responses are not parsed, because the benchmark should use little of the same cores. */
async function createJobs(client: KubeClient, load: Load, count: number): Promise<void> {
  const path = load.jobs;
  const headers = { "content-type": "application/json" };
  let next = 0;
  const work = async () => {
    for (let number = next++; number < count; number = next++) {
      const body = JSON.stringify(load.job(`job-${number}`));
      await client.read(path, { method: "POST", headers, body });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Requests of the manager by what they were; those of a thousand jobs stand out. */
async function requestsOf({ plane, user }: Side): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { user: who, verb, objectRef, responseStatus, stage } of await plane.auditLog()) {
    if (who.username !== user || stage !== "ResponseComplete") continue;
    const { resource = "", subresource } = objectRef ?? {};
    const what = subresource === undefined ? resource : `${resource}/${subresource}`;
    const key = `${verb} ${what} ${responseStatus?.code ?? ""}`.trim();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Measures one side with `count` jobs. */
export async function measureSide(side: Side, load: Load, count: number): Promise<Turn> {
  const { client } = side.plane;
  const readySeconds = await side.restart() / 1000;
  await pause(SETTLE_MS);
  const restingMb = await rssMb(side.pid());
  const server = side.plane.apiServer.pid ?? 0;
  const cpuBefore = await cpuSeconds(side.pid());
  const serverBefore = await cpuSeconds(server);
  const before = await requestsOf(side);
  const began = performance.now();
  const creating = createJobs(client, load, count);
  for (const [path, each] of Object.entries(load.made)) {
    await until(`all of ${path}`, async () => await countIn(client, path) >= each * count, {
      timeoutMs: 300_000,
      everyMs: 100,
    });
  }
  const seconds = (performance.now() - began) / 1000;
  await creating;
  await pause(SETTLE_MS);
  const requests: Record<string, number> = {};
  for (const [key, number] of await requestsOf(side)) {
    const more = number - (before.get(key) ?? 0);
    if (more > 0) requests[key] = more / count;
  }
  return {
    readySeconds,
    jobsPerSecond: count / seconds,
    requestsPerJob: Object.values(requests).reduce((sum, it) => sum + it, 0),
    requests,
    serverCpuMsPerJob: 1000 * (await cpuSeconds(server) - serverBefore) / count,
    cpuMsPerJob: 1000 * (await cpuSeconds(side.pid()) - cpuBefore) / count,
    restingMb,
    loadedMb: await rssMb(side.pid()),
    peakMb: await peakRssMb(side.pid()),
  };
}
