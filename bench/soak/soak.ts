/** `deno task bench soak [--minutes N]`: everything at once for half an hour; memory must stay flat. */
import { parseArgs } from "node:util";
import type { Benchmark, Measure } from "../result.ts";
import { connectInspector } from "../status/profile.ts";
import * as loads from "./loads.ts";
import { type ManagerWorld, type Sample, sample, withManager } from "./manager_world.ts";

const JOBS = 64;

/** Means of the third after the warm-up, which is the first third, and of the last; the growth in per cent. */
export function growth(samples: readonly Sample[], of: "rss" | "heap"): number {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const mean = (some: readonly Sample[]) => some.reduce((sum, it) => sum + it[of], 0) / some.length;
  const [early, late] = [mean(samples.slice(third, 2 * third)), mean(samples.slice(-third))];
  return 100 * (late / early - 1);
}

function line({ minute, rss, heap, files }: Sample, counts: loads.SoakCounts): string {
  const failed = Object.values(counts.failed).reduce((sum, it) => sum + it, 0);
  return `${minute.toFixed(1).padStart(5)} min  RSS ${rss.toFixed(1)} MB  heap ${
    heap.toFixed(1)
  } MB  ` +
    `${files} files  ${counts.honest} pushes, ${failed} failed; ${counts.hostile} hostile, ` +
    `${counts.slow} slow, ${counts.streams} streams, ${counts.churned} jobs gone, ${counts.swaps} swaps`;
}

async function watchMemory(
  side: { readonly pids: readonly number[]; readonly inspector?: number },
  { minutes, counts, say }: {
    readonly minutes: number;
    readonly counts: loads.SoakCounts;
    readonly say: (text: string) => void;
  },
): Promise<Sample[]> {
  const [pid = 0] = side.pids;
  const inspector = await connectInspector(side.inspector ?? 0);
  const everyMs = minutes >= 10 ? 60_000 : 15_000;
  const beganMs = performance.now();
  const samples: Sample[] = [];
  try {
    while (performance.now() - beganMs < minutes * 60_000) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      const taken = await sample(inspector, pid, beganMs);
      samples.push(taken);
      say(line(taken, counts));
    }
  } finally {
    inspector.close();
  }
  return samples;
}

function measures(samples: readonly Sample[], counts: loads.SoakCounts): Measure[] {
  const flat = (of: "rss" | "heap", name: string): Measure => ({
    name: `soak: growth of ${name}`,
    value: growth(samples, of),
    unit: "%",
    goal: { is: "below", limit: 5 },
    note: samples.map((it) => it[of].toFixed(1)).join(" ") + " MB",
  });
  const none = (name: string, value: number, note: string): Measure => ({
    name: `soak: ${name}`,
    value,
    unit: "",
    goal: { is: "at most", limit: 0 },
    note,
  });
  const failed = Object.values(counts.failed).reduce((sum, it) => sum + it, 0);
  return [
    flat("rss", "RSS after the warm-up"),
    flat("heap", "the heap after the warm-up"),
    none(
      "honest pushes that failed",
      failed,
      `of ${counts.honest}; ${JSON.stringify(counts.failed)}`,
    ),
    none(
      "hostile requests with a wrong answer",
      counts.wrong.length,
      `of ${counts.hostile}; ${counts.wrong.join("; ")}`,
    ),
    {
      name: "soak: certificate swaps",
      value: counts.swaps,
      unit: "",
      note:
        `${counts.slow} slow clients, ${counts.streams} streams, ${counts.churned} jobs came and went`,
    },
  ];
}

async function soakFor(
  minutes: number,
  ground: ManagerWorld,
  say: (text: string) => void,
): Promise<Measure[]> {
  const stop = new AbortController();
  const world = { ...ground, signal: stop.signal };
  const counts = loads.noCounts();
  const { pushOn, attackOn, dawdleOn, watchOn, churnOn, swapOn } = loads;
  const running = Promise.all(
    [pushOn, attackOn, dawdleOn, watchOn, churnOn, swapOn].map((load) => load(world, counts)),
  );
  const ended = running.then(() => {
    throw new Error("the loads ended before the soak did");
  });
  try {
    const watching = watchMemory(world.side, { minutes, counts, say });
    watching.catch(() => {});
    const samples = await Promise.race([watching, ended]);
    stop.abort();
    await running;
    return measures(samples, counts);
  } finally {
    stop.abort();
    ended.catch(() => {});
  }
}

export const soak: Benchmark = {
  about: "30 minutes of everything at once; memory must stay flat; --minutes N",
  takesOptions: true,
  async run(say, options) {
    const { values } = parseArgs({
      args: [...options],
      options: { minutes: { type: "string", default: "30" } },
    });
    return await withManager(say, JOBS, (world) => soakFor(Number(values.minutes), world, say));
  },
};
