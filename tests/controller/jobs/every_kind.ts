/** A job of each v1 kind, and a test in a world of its own, for what the kinds share. */
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { JobWorld, replicas } from "./job_world.ts";

/** Every kind by name, in the order of the table. */
export const KIND_NAMES: readonly V1KindName[] = Object.values(V1_KINDS).map(({ kind }) => kind);

/** Replica types with their numbers, of each kind; the type that decides comes first, workers last. */
export const TYPES: Readonly<Record<V1KindName, Readonly<Record<string, number>>>> = {
  TFJob: { PS: 2, Worker: 4 },
  PyTorchJob: { Master: 1, Worker: 4 },
  XGBoostJob: { Master: 1, Worker: 4 },
  MXJob: { Scheduler: 1, Server: 2, Worker: 4 },
  MPIJob: { Launcher: 1, Worker: 4 },
  PaddleJob: { Master: 1, Worker: 4 },
  JAXJob: { Worker: 4 },
};

/** The pods whose success is the job's. */
export const DECIDERS: Readonly<Record<V1KindName, readonly string[]>> = {
  TFJob: ["j-worker-0"],
  PyTorchJob: ["j-master-0"],
  XGBoostJob: ["j-master-0"],
  MXJob: ["j-scheduler-0"],
  MPIJob: ["j-launcher"],
  PaddleJob: ["j-master-0"],
  JAXJob: ["j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3"],
};

/** The spec of a job with the types of {@link TYPES}; `more` goes into each of them. */
export function specOfKind(
  kind: V1KindName,
  runPolicy: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { specsKey, container } = V1_KINDS[kind];
  const specs = Object.entries(TYPES[kind])
    .map(([type, count]) => [type, replicas(container, count, more)]);
  return {
    runPolicy,
    [specsKey]: Object.fromEntries(specs),
    ...(kind === "MXJob" && { jobMode: "MXTrain" }),
  };
}

/** Runs the test in a world whose controllers work, and ends them. */
export function testInWorld(name: string, body: (world: JobWorld) => Promise<void>): void {
  Deno.test(name, async () => {
    const world = new JobWorld();
    world.start();
    try {
      await body(world);
    } finally {
      await world.stop();
    }
  });
}

/** Puts a job of that kind, and lets its pods run. */
export async function runJob(
  world: JobWorld,
  kind: V1KindName,
  ...[runPolicy, more]: [Record<string, unknown>?, Record<string, unknown>?]
): Promise<string> {
  const key = world.put(kind, specOfKind(kind, runPolicy, more));
  await world.settle();
  world.reportAll({ phase: "Running" });
  await world.settle();
  return key;
}
