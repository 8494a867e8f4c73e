/** The shipped manager as a process on a real control plane, with its memory and open files. */
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { startControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { install } from "../../tests/cluster/support/installation.ts";
import { shellRuntime } from "../../tests/support/standalone.ts";
import { buildGenerator } from "../generator/generator.ts";
import { rssMb } from "../process_stats.ts";
import { connectInspector } from "../status/profile.ts";
import { shippedProgram, type Side, startMilepost } from "../status/sides.ts";
import { createPushers, type Pusher } from "../status/world.ts";

/** The manager, and jobs that may push to it. */
export interface ManagerWorld {
  readonly side: Side;
  readonly client: KubeClient;
  readonly pushers: readonly Pusher[];
}

/** Memory of the manager, in megabytes, after a garbage collection that was asked for. */
export interface Sample {
  readonly minute: number;
  readonly rss: number;
  readonly heap: number;
  /** Open files and sockets. */
  readonly files: number;
}

const usageSchema = z.looseObject({ usedSize: z.number() });

/** Runs `work` with a manager and `jobs` TrainJobs, and stops everything. */
export async function withManager<T>(
  say: (text: string) => void,
  jobs: number,
  work: (world: ManagerWorld) => Promise<T>,
): Promise<T> {
  await buildGenerator();
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ scheduler: false, controllerManager: false });
  cleanup.defer(() => plane.stop());
  const { client, folder } = plane;
  const installation = await install(plane);
  cleanup.defer(() => installation.stop());
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("torch-distributed", "true"));
  const pushers = await createPushers(client, { namespace: "soak", count: jobs, say });
  const program = await shippedProgram(folder);
  const side = await startMilepost({ plane, installation, program, profiles: folder });
  cleanup.defer(() => side.stop());
  return await work({ side, client, pushers });
}

/** Open files and sockets of a process. */
export async function openFiles(pid: number): Promise<number> {
  let count = 0;
  for await (const _ of Deno.readDir(`/proc/${pid}/fd`)) count += 1;
  return count;
}

type Inspector = Awaited<ReturnType<typeof connectInspector>>;

/** Takes a sample, after a garbage collection. */
export async function sample(inspector: Inspector, pid: number, beganMs: number): Promise<Sample> {
  await inspector.ask("HeapProfiler.collectGarbage");
  const { usedSize } = usageSchema.parse(await inspector.ask("Runtime.getHeapUsage"));
  return {
    minute: (performance.now() - beganMs) / 60_000,
    rss: await rssMb(pid),
    heap: usedSize / (1 << 20),
    files: await openFiles(pid),
  };
}
