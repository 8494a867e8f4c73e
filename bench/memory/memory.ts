/** `deno task bench memory [--jobs N]`: what the manager takes at rest with many TrainJobs. */
import { parseArgs } from "node:util";
import { z } from "zod";
import { createDaemon } from "../../tests/cluster/control_plane/daemon.ts";
import { managerSettings } from "../../tests/cluster/support/manager.ts";
import { flagOf } from "../../app/configuration/setting_entries.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { rssMb } from "../process_stats.ts";
import type { Benchmark, Measure } from "../result.ts";
import { connectInspector } from "../status/profile.ts";
import { shippedProgram } from "../status/sides.ts";
import { trainingWorld } from "./api_objects.ts";
import { startMemoryApiServer } from "./api_server.ts";

/** After it is ready, in milliseconds. */
const REST_MS = 20_000;
const MANY = 10_000;

const usageSchema = z.looseObject({ usedSize: z.number() });

/** Memory of a manager with a number of TrainJobs, in megabytes. */
interface Taken {
  /** Of the process, after {@link REST_MS}. */
  readonly rss: number;
  /** Of the heap after a collection; only of a manager with an inspector. */
  readonly heap?: number;
}

async function kubeconfigFor(folder: string, server: string): Promise<string> {
  const file = `${folder}/kubeconfig`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "memory", cluster: { server } }],
    users: [{ name: "manager", user: {} }],
    contexts: [{ name: "memory", context: { cluster: "memory", user: "manager" } }],
    "current-context": "memory",
  };
  await Deno.writeTextFile(file, JSON.stringify(config));
  return file;
}

async function isReady(healthUrl: string): Promise<boolean> {
  const answer = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(2_000) });
  await answer.body?.cancel();
  return answer.ok;
}

async function heapMb(port: number): Promise<number> {
  const inspector = await connectInspector(port);
  try {
    await inspector.ask("HeapProfiler.collectGarbage");
    const { usedSize } = usageSchema.parse(await inspector.ask("Runtime.getHeapUsage"));
    return usedSize / (1 << 20);
  } finally {
    inspector.close();
  }
}

/** Runs a manager, with an inspector where the heap is asked for: an inspector costs memory. */
async function take(
  { folder, program, jobs, inspects }: {
    readonly folder: string;
    readonly program: readonly string[];
    readonly jobs: number;
    readonly inspects: boolean;
  },
): Promise<Taken> {
  await using cleanup = new AsyncDisposableStack();
  const api = await startMemoryApiServer(trainingWorld(jobs, "bench"));
  cleanup.defer(() => api.stop());
  const settings = managerSettings(await kubeconfigFor(folder, api.url));
  const [inspector, [run = "run", ...rest]] = [freePort(), program];
  const flags = Object.entries(settings).map(([name, value]) => `${flagOf(name)}=${value}`);
  const daemon = createDaemon({
    name: "milepost manager",
    program: Deno.execPath(),
    args: [
      run,
      ...inspects ? [`--inspect=127.0.0.1:${inspector}`] : [],
      ...rest,
      "manager",
      ...flags,
    ],
    env: { NO_COLOR: "1" },
    logFile: `${folder}/manager.log`,
    isReady: () => isReady(`http://127.0.0.1:${settings.healthPort}`),
  });
  cleanup.defer(() => daemon.stop());
  await daemon.start();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const rss = await rssMb(daemon.pid ?? 0);
  if (!inspects) return { rss };
  const heap = await heapMb(inspector);
  return { rss, heap };
}

export const memory: Benchmark = {
  about: "the manager's memory at rest with 10,000 TrainJobs (--jobs N), without a control plane",
  takesOptions: true,
  async run(say, args): Promise<Measure[]> {
    const { values } = parseArgs({
      args: [...args],
      options: { jobs: { type: "string" }, "v8-flags": { type: "string" } },
    });
    const jobs = Number(values.jobs ?? MANY);
    const folder = await Deno.makeTempDir({ prefix: "milepost-memory-" });
    try {
      const program = await shippedProgram(
        folder,
        values["v8-flags"] && `--v8-flags=${values["v8-flags"]}`,
      );
      const turn = async (count: number, inspects: boolean) => {
        const taken = await take({ folder, program, jobs: count, inspects });
        const { rss, heap } = taken;
        say(
          `${count} jobs: RSS ${rss.toFixed(1)} MB${
            heap ? `, live heap ${heap.toFixed(1)} MB` : ""
          }`,
        );
        return { rss, heap: heap ?? 0 };
      };
      const [none, full] = [await turn(0, true), await turn(jobs, true)];
      const { rss } = await turn(jobs, false);
      return [
        {
          name: `memory at rest, ${jobs} jobs`,
          value: rss,
          unit: "MB",
          goal: { is: "below", limit: 200 },
        },
        { name: "live heap without jobs", value: none.heap, unit: "MB" },
        {
          name: "live heap for each job",
          value: (full.heap - none.heap) * 1024 / jobs,
          unit: "kB",
        },
      ];
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
};
