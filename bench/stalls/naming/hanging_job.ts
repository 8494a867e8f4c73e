/** Job that hangs in earnest: four processes of PyTorch in four pods, of which one is frozen, stuck or killed, and what is told of it. */
import { KINDS } from "../../../crds/kinds.ts";
import { EVENT_REASONS } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { freePort } from "../../../tests/support/free_port.ts";
import { shellRuntime, trainJob } from "../../../tests/support/standalone.ts";
import { until } from "../../../tests/support/until.ts";

const namespace = "default";
const PODS = 4;
const PROGRAM = new URL("train.py", import.meta.url).pathname;
const SOURCES = new URL("../../../clients/python/src", import.meta.url).pathname;
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";
/** Steps before it hangs: of 50 ms each, so that every pod has sent a heartbeat; and how many more at random. */
const STEPS = { least: 300, more: 100 } as const;
/** Time from a hang to what is told of it, at most, and for how long it must stay so, in milliseconds. */
const [TOLD_MS, STAYS_MS] = [120_000, 12_000];
/** Starting takes so long on a busy machine. */
const START_MS = 240_000;

/** What happens: `loader` and `worker` are one process whose data does not come, from itself or from one of its own. */
export const HANGS = ["frozen", "loader", "worker", "storage", "store", "killed"] as const;
export type Hang = typeof HANGS[number];

/** The pods that are to be named, and where. */
const PLACES: Partial<Record<Hang, RegExp>> = {
  frozen: /./,
  loader: /^loader\.py:\d+$/,
  worker: /^train\.py:\d+$/,
};

/** The runtime of the jobs: PyTorch's, whose pods are not started again by themselves. */
const RUNTIME = "torch-once";

/** Creates the runtime of the jobs. */
export async function createRuntime(client: KubeClient): Promise<void> {
  const made = shellRuntime(RUNTIME, "true");
  const spec = { ...made.spec, mlPolicy: { numNodes: PODS, torch: {} } };
  await client.create(
    KINDS.clusterTrainingRuntime,
    KINDS.clusterTrainingRuntime.parse({ ...made, spec }),
  );
}

/** Where jobs hang. */
export interface HangingWorld {
  readonly client: KubeClient;
  /** Folder of `torchrun` with PyTorch. */
  readonly bin: string;
  readonly folder: string;
}

/** What became of it. */
export interface Told {
  readonly hang: Hang;
  readonly isRight: boolean;
  /** From the hang until it was told; of a killed process, until the job failed. */
  readonly afterMs: number;
  readonly message: string;
  /** Ranks of the pods that were named, each time that it changed. */
  readonly named: readonly string[];
}

/** A number that a process has written. */
async function numberIn(path: string): Promise<number | undefined> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  return text === undefined ? undefined : Number(text);
}

const rankOf = (name: string): string => /-node-0-(\d+)-/.exec(name)?.[1] ?? name;

function jobOf(name: string, hang: Hang, rank: number, { bin, folder }: HangingWorld): TrainJob {
  const env = Object.entries({
    PATH: `${bin}:${SYSTEM_PATH}`,
    PYTHONPATH: SOURCES,
    PYTHONDONTWRITEBYTECODE: "1",
    OMP_NUM_THREADS: "1",
    // Short enough for the sockets by which PyTorch's loaders hand over.
    TMPDIR: `${folder}/${name}`,
    FOLDER: `${folder}/${name}`,
    HANG: hang,
    HANG_RANK: String(rank),
    HANG_STEP: String(STEPS.least + Math.floor(Math.random() * STEPS.more)),
  }).map(([name, value]) => ({ name, value }));
  const command = ["torchrun", `--master_port=${freePort()}`, PROGRAM];
  const trainer = { numNodes: PODS, numProcPerNode: 1, command, env };
  return trainJob(name, RUNTIME, { spec: { trainer } });
}

async function hangs(
  name: string,
  hang: Hang,
  rank: number,
  { client, folder }: HangingWorld,
): Promise<Told> {
  const now = () => client.get(KINDS.trainJob, { namespace, name });
  const file = (what: string) => numberIn(`${folder}/${name}/${what}-${rank}`);
  const startedMs = await until(`${name} hangs`, async () => {
    const { status } = await now();
    if (status?.state === "Failed") return NaN;
    const seconds = await file("hung");
    return seconds === undefined ? undefined : seconds * 1000;
  }, { timeoutMs: START_MS, everyMs: 100 });
  if (Number.isNaN(startedMs)) {
    throw new Error(`${name} failed: ${JSON.stringify((await now()).status?.failure)}`);
  }
  const process = await file("process");
  if (process === undefined) throw new Error(`${name} has no process ${rank}`);
  if (hang === "frozen") Deno.kill(process, "SIGSTOP");
  if (hang === "killed") Deno.kill(process, "SIGKILL");
  const told = await until(`${name} says so`, async () => {
    const { status } = await now();
    return status?.stalled !== undefined || status?.state === "Failed" ? status : undefined;
  }, { timeoutMs: TOLD_MS, everyMs: 100 });
  const afterMs = Date.now() - startedMs;
  const named: string[] = [];
  let [stalled, state] = [told.stalled, told.state];
  for (const endMs = Date.now() + STAYS_MS; Date.now() < endMs && state !== "Failed";) {
    const names = (stalled?.pods ?? []).map(({ name }) => rankOf(name)).join("+") || "none";
    if (named.at(-1) !== names) named.push(names);
    await new Promise((resolve) => setTimeout(resolve, 250));
    const { status } = await now();
    [stalled, state] = [status?.stalled ?? stalled, status?.state];
  }
  const common = { hang, afterMs, named };
  if (hang === "killed") {
    const failed = await until(`${name} says why`, async () => {
      const { status } = await now();
      return status?.failure?.headline === undefined ? undefined : status.failure;
    });
    const events = await client.list(KINDS.event, { namespace });
    const wasStalled = events.items.some(({ involvedObject, reason }) =>
      involvedObject?.name === name && reason === EVENT_REASONS.stalled
    );
    const isRight = state === "Failed" && !wasStalled;
    return { ...common, isRight, message: failed.headline ?? "" };
  }
  const message = stalled?.message ?? "";
  const place = PLACES[hang];
  const isRight = place === undefined
    ? named.join() === "none" && /all 4 ranks at step \d+ in \w+\.py:\d+/.test(message)
    : named.join() === String(rank) && place.test(stalled?.pods?.[0]?.place ?? "");
  return { ...common, isRight, message };
}

/** Ends the processes of a job, and removes it. */
async function clear(name: string, { client, folder }: HangingWorld): Promise<void> {
  for (let rank = 0; rank < PODS; rank++) {
    const process = await numberIn(`${folder}/${name}/process-${rank}`);
    try {
      if (process !== undefined) Deno.kill(process, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  await client.delete(KINDS.trainJob, { namespace, name }, { propagationPolicy: "Background" });
}

/** Lets a job hang in one of its processes, and returns what was told of it. Throws if it does not come so far. */
export async function letHang(
  world: HangingWorld,
  { name, hang, rank }: { readonly name: string; readonly hang: Hang; readonly rank: number },
): Promise<Told> {
  await Deno.mkdir(`${world.folder}/${name}`);
  await world.client.create(KINDS.trainJob, jobOf(name, hang, rank, world));
  try {
    return await hangs(name, hang, rank, world);
  } finally {
    await clear(name, world);
  }
}
