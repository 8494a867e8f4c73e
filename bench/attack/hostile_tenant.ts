/** `deno task bench tenant`: the start of a replica beside large objects of a tenant that the manager watches. */
import { startControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { install, type Installation } from "../../tests/cluster/support/installation.ts";
import { until } from "../../tests/support/until.ts";
import { peakRssMb } from "../process_stats.ts";
import type { Benchmark, Measure } from "../result.ts";
import { shippedProgram } from "../status/sides.ts";
import { createHostileConfigMaps, createHostileJobs } from "./hostile_objects.ts";

const ATTACK = { namespace: "default", count: 60, bytes: 1_000_000 } as const;
/** A replica that does not lead after this time is given up, in milliseconds. */
const PATIENCE_MS = 60_000;
/** What the tenant creates, in this order. */
const WAYS = {
  "beside 60 ConfigMaps of 1 MB": createHostileConfigMaps,
  "beside 60 Jobs of 1 MB more": createHostileJobs,
} as const;
/** Beyond what a start takes without them: each such Job is requested by itself. In seconds. */
const SPARE_SECONDS = 20;
/** The memory limit that is shipped, in megabytes. */
const MEMORY_LIMIT_MB = 512;

/** The start of one manager. */
interface Start {
  /** Until it leads, in seconds; infinite if it does not. */
  readonly seconds: number;
  readonly peakMb: number;
}

async function leads(metricsUrl: string): Promise<boolean> {
  const answer = await fetch(`${metricsUrl}/metrics`, { signal: AbortSignal.timeout(5_000) });
  return /^milepost_leader 1$/m.test(await answer.text());
}

async function start(installation: Installation, program: readonly string[]): Promise<Start> {
  const began = performance.now();
  const manager = await installation.startManager({ program, waitUntilReady: false });
  try {
    const seconds = await until("the manager leads", async () => {
      return await leads(manager.metricsUrl) && (performance.now() - began) / 1000;
    }, { timeoutMs: PATIENCE_MS }).catch(() => Number.POSITIVE_INFINITY);
    return { seconds, peakMb: await peakRssMb(manager.pid ?? 0) };
  } finally {
    await manager.kill();
  }
}

function measuresOf(name: string, beside: Start, without: Start): Measure[] {
  return [
    {
      name: `start until it leads, ${name}`,
      value: beside.seconds,
      unit: "s",
      goal: { is: "at most", limit: without.seconds + SPARE_SECONDS },
      beside: { name: "without", value: without.seconds },
    },
    {
      name: `peak memory of the start, ${name}`,
      value: beside.peakMb,
      unit: "MB",
      goal: { is: "below", limit: MEMORY_LIMIT_MB },
      beside: { name: "without", value: without.peakMb },
    },
  ];
}

export const hostileTenant: Benchmark = {
  about:
    "start and peak memory of a replica beside 60 ConfigMaps of 1 MB of `<` that look like ours",
  async run(say): Promise<Measure[]> {
    await using cleanup = new AsyncDisposableStack();
    // Without the garbage collector, which would delete what has a made-up owner.
    const plane = await startControlPlane({ scheduler: false, controllerManager: false });
    cleanup.defer(() => plane.stop());
    const installation = await install(plane);
    cleanup.defer(() => installation.stop());
    const program = await shippedProgram(plane.folder);
    await start(installation, program);
    const without = await start(installation, program);
    if (!Number.isFinite(without.seconds)) {
      throw new Error(
        `no replica leads within ${PATIENCE_MS / 1000} s, even without large objects`,
      );
    }
    say(
      `without: leads after ${without.seconds.toFixed(1)} s, peak ${without.peakMb.toFixed(0)} MB`,
    );
    const measures: Measure[] = [];
    for (const [name, create] of Object.entries(WAYS)) {
      await create(plane.client, ATTACK);
      const beside = await start(installation, program);
      say(
        `${name}: leads after ${beside.seconds.toFixed(1)} s, peak ${beside.peakMb.toFixed(0)} MB`,
      );
      measures.push(...measuresOf(name, beside, without));
    }
    return measures;
  },
};
