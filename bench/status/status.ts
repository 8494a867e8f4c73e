/** `deno task bench status`: the status endpoint beside upstream's and a bare one, on a real control plane. */
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import { isNotFound } from "../../platform/kube/errors.ts";
import { startControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { install } from "../../tests/cluster/support/installation.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { until } from "../../tests/support/until.ts";
import { buildGenerator } from "../generator/generator.ts";
import type { Benchmark, Measure } from "../result.ts";
import {
  costRows,
  GOALS,
  manyJobsRows,
  oneJobRows,
  rateRows,
  replicasRows,
  type TurnsOf,
} from "./compare.ts";
import { readOptions, type RowName, type SideName, type StatusOptions } from "./options.ts";
import { type Ground, shippedProgram, type Side, startMilepost, startSide } from "./sides.ts";
import { lineOf, takeTurn, type Turn } from "./turns.ts";
import { createPushers, type Pusher } from "./world.ts";

type Say = (text: string) => void;

/** Jobs of the rows that are not the large cluster. */
const JOBS = 64;
/** As shipped: `--status-writes-qps`. */
const WRITE_BUDGET = 50;
/** What a program does at its start is over by then, in milliseconds. */
const SETTLE_MS = 3_000;
const SHARED: readonly RowName[] = ["keep-alive", "connections", "one-job"];

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs `work` with a side that is stopped in any case. */
async function withSide<T>(starting: Promise<Side>, work: (side: Side) => Promise<T>): Promise<T> {
  const side = await starting;
  try {
    await pause(SETTLE_MS);
    return await work(side);
  } finally {
    await side.stop();
  }
}

/** The rows that all sides take, in turns. */
async function inTurns(
  ground: Ground,
  pushers: readonly Pusher[],
  { rows, sides, sizes }: StatusOptions,
  say: Say,
): Promise<Map<RowName, TurnsOf>> {
  const wanted = SHARED.filter((row) => rows.includes(row));
  const found = new Map<RowName, Partial<Record<SideName, Turn[]>>>(
    wanted.map((row) => [row, {}]),
  );
  for (let round = 1; round <= sizes.rounds; round++) {
    for (const name of sides) {
      // Pushes that wait in vain for a write hold back those after them: each load meets it fresh.
      const shipped = name === "upstream as shipped";
      for (const group of shipped ? wanted.map((row) => [row]) : [wanted]) {
        if (group.length === 0) continue;
        await withSide(startSide(name, ground), async (side) => {
          for (const row of group) {
            const own = row === "one-job" ? pushers.slice(0, 1) : pushers;
            const load = { name: row, sizes, pushers: own, warms: !shipped };
            const turn = await takeTurn(ground, side, load);
            say(`round ${round} of ${sizes.rounds}, ${row}, ${name}: ${lineOf(turn)}`);
            const turns = found.get(row);
            if (turns !== undefined) (turns[name] ??= []).push(turn);
          }
        });
      }
    }
  }
  return found;
}

function sharedRows(turns: ReadonlyMap<RowName, TurnsOf>): Measure[] {
  return [...turns].flatMap(([row, all]) => {
    const goals = GOALS[row];
    const rates = goals === undefined ? [] : rateRows(row, all, goals);
    if (row === "keep-alive") return [...rates, ...costRows(all)];
    return row === "one-job" ? [...rates, ...oneJobRows(all)] : rates;
  });
}

async function manyJobs(
  ground: Ground,
  pushers: readonly Pusher[],
  { sizes }: StatusOptions,
  say: Say,
): Promise<Measure[]> {
  return await withSide(startMilepost(ground), async (side) => {
    const turn = await takeTurn(ground, side, { name: "many-jobs", sizes, pushers, warms: false });
    say(`many-jobs: ${lineOf(turn)}`);
    return manyJobsRows(turn, WRITE_BUDGET);
  });
}

/** A balancer in front of the managers, while `work` runs. */
async function behindBalancer<T>(side: Side, work: (url: string) => Promise<T>): Promise<T> {
  const listen = `127.0.0.1:${freePort()}`;
  const backends = side.managers.map(({ statusUrl }) => new URL(statusUrl).host);
  const balancer = new Deno.Command(await buildGenerator(), {
    args: ["balance", listen, ...backends],
    stdin: "null",
    stdout: "null",
  }).spawn();
  try {
    const [hostname = "", port] = listen.split(":");
    await until("the balancer", async () => {
      (await Deno.connect({ hostname, port: Number(port) })).close();
      return true;
    });
    return await work(`https://${listen}`);
  } finally {
    balancer.kill();
    await balancer.status;
  }
}

async function replicas(
  ground: Ground,
  pushers: readonly Pusher[],
  { sizes }: StatusOptions,
  say: Say,
): Promise<Measure[]> {
  const row = { name: "replicas" as const, sizes, pushers };
  const turnOf = (count: number) =>
    withSide(
      startMilepost(ground, { replicas: count }),
      (side) =>
        behindBalancer(side, async (url) => {
          const turn = await takeTurn(ground, side, row, url);
          say(`${count} behind a balancer: ${lineOf(turn)}`);
          return turn;
        }),
    );
  const one = await turnOf(1);
  const two = await turnOf(2);
  return replicasRows(two, one.load.rate);
}

/** Managers that are stopped leave their webhooks, which would refuse what is created now. */
async function removeWebhooks({ plane: { client } }: Ground): Promise<void> {
  const kinds = [
    [KINDS.mutatingWebhookConfiguration, MANAGER.mutatingConfiguration],
    [KINDS.validatingWebhookConfiguration, MANAGER.validatingConfiguration],
  ] as const;
  for (const [kind, name] of kinds) {
    try {
      await client.delete(kind, { name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

async function measureAll(ground: Ground, options: StatusOptions, say: Say): Promise<Measure[]> {
  const { rows, sizes } = options;
  const { client } = ground.plane;
  const pushers = await createPushers(client, { namespace: "bench", count: JOBS, say });
  const measures = sharedRows(await inTurns(ground, pushers, options, say));
  if (rows.includes("replicas")) measures.push(...await replicas(ground, pushers, options, say));
  if (!rows.includes("many-jobs")) return measures;
  // Last: 40,000 objects would weigh on everybody before.
  await removeWebhooks(ground);
  const large = await createPushers(client, { namespace: "large", count: sizes.many.jobs, say });
  return [...measures, ...await manyJobs(ground, large, options, say)];
}

export const status: Benchmark = {
  about: "pushes to the status endpoint, beside upstream v2.3.0 and a bare endpoint",
  takesOptions: true,
  async run(say, args) {
    const options = readOptions(args);
    await buildGenerator();
    await using cleanup = new AsyncDisposableStack();
    const plane = await startControlPlane({ scheduler: false, controllerManager: false });
    cleanup.defer(() => plane.stop());
    const installation = await install(plane);
    cleanup.defer(() => installation.stop());
    const source = new URL("../../main.ts", import.meta.url).pathname;
    const program = options.fromSource
      ? ["run", "-A", "--no-check", source]
      : await shippedProgram(plane.folder, options.v8Flags);
    return await measureAll(
      { plane, installation, program, profiles: options.profiles },
      options,
      say,
    );
  },
};
