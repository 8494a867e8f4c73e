/**
 * `deno task bench trials --db-manager FILE`: trials whose rows go through Katib's real DB manager to Postgres,
 * at a rate that it sustains, at a higher one, and while it is killed. Afterwards the logs are read back.
 */
import { KINDS } from "../../crds/kinds.ts";
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { systemClock } from "../../platform/base/clock.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { addresses } from "../status/turns.ts";
import { type Load, type LoadPlan, runLoad } from "../generator/generator.ts";
import { cpuSeconds, rssMb } from "../process_stats.ts";
import type { Measure } from "../result.ts";
import { LIFTED, type Side } from "../status/sides.ts";
import type { Pusher } from "../status/world.ts";
import { type Account, accountOf, bodyOf, type Part } from "./accounts.ts";
import { type DbManager, startKatibDbManager, type Written } from "./db_manager.ts";
import { type Ground, NAMESPACE, onTrials } from "./ground.ts";

/** Options of a run through Katib's DB manager. */
export interface KatibRun {
  readonly dbManager: string;
  readonly trials: number;
  /** Of each part. */
  readonly seconds: number;
  /** Pushes a second that the DB manager takes. */
  readonly perSecond: number;
  /** Pushes a second that are more than it takes. */
  readonly beyond: number;
  readonly say: (text: string) => void;
}

/** One part, with its results. */
interface PartResult extends Part {
  readonly name: string;
  readonly load: Load;
  readonly written: Written;
  /** Memory of the manager at its most, in MB. */
  readonly rssMb: number;
  /** Of the manager, mean. */
  readonly cores: number;
  /** TrainJobs whose status shows a push of this part. */
  readonly updated: number;
}

/** Context of all parts. */
interface World {
  readonly client: KubeClient;
  readonly side: Side;
  readonly pushers: readonly Pusher[];
  readonly dbManager: DbManager;
  readonly run: KatibRun;
}

/** Tokens are reviewed at the rate at which trials begin here. */
const SETTINGS = { ...LIFTED, tokenReviewQps: "1000" } as const;
const FIRST_PER_SECOND = 100;
/** Pushes under way at a time where more are offered than are taken, and the addresses they come from. */
const BEYOND = { connections: 1000, addresses: 8 } as const;
/** How often a push is sent again that was not taken, while the DB manager is away. */
const ATTEMPTS = 15;

/** The loss that each TrainJob's status shows, by the job's name. */
async function lossesOf(client: KubeClient): Promise<Map<string, string>> {
  const { items } = await client.list(KINDS.trainJob, { namespace: NAMESPACE });
  return new Map(items.map(({ metadata, status }) => {
    const loss = status?.trainerStatus?.metrics?.find(({ name }) => name === "loss")?.value;
    return [metadata.name ?? "", loss ?? ""];
  }));
}

/** The most memory that a process has while `work` is under way. */
async function whileWatching<T>(pid: number, work: Promise<T>): Promise<{ done: T; most: number }> {
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, await rssMb(pid));
      await systemClock.sleep(500);
    }
  })();
  try {
    return { done: await work, most };
  } finally {
    isOver = true;
    await watching;
  }
}

/** Pushes for a while, and counts. */
async function part(
  { client, side, pushers, dbManager, run }: World,
  { name, digit }: { name: string; digit: string },
  plan: Partial<LoadPlan>,
): Promise<PartResult> {
  run.say(name);
  const pid = side.pids[0] ?? 0;
  const cpuBefore = await cpuSeconds(pid);
  const { done, most } = await whileWatching(
    pid,
    runLoad({
      name,
      targets: pushers.map(({ namespace, trainJob, token }) => ({
        url: `${side.url}${statusPath(TRAINJOB, namespace, trainJob)}`,
        token,
      })),
      caPem: side.caPem,
      connections: pushers.length,
      sources: addresses(BEYOND.addresses),
      timeoutMs: 10_000,
      body: bodyOf({ digit }),
      outcomes: true,
      ...plan,
    }),
  );
  const cores = (await cpuSeconds(pid) - cpuBefore) / done.seconds;
  const updated = [...(await lossesOf(client)).values()].filter((it) => it.startsWith(digit));
  const written = await dbManager.writtenOf({ digit });
  const { outcomes } = done;
  return {
    name,
    digit,
    outcomes,
    load: done,
    written,
    rssMb: most,
    cores,
    updated: updated.length,
  };
}

/** Measurements of the DB manager's outage. */
interface Away {
  /** From being killed until it served again. */
  readonly seconds: number;
  /** TrainJobs whose status changed meanwhile. */
  readonly changed: number;
}

/** Pushes, and kills the DB manager in the middle. */
async function interrupted(world: World): Promise<PartResult & { away: Away }> {
  const { client, dbManager, run } = world;
  const third = 1000 * run.seconds / 3;
  const interrupting = (async () => {
    await systemClock.sleep(third);
    await dbManager.kill();
    const killedAt = systemClock.monotonic();
    await systemClock.sleep(third / 10);
    const before = await lossesOf(client);
    await systemClock.sleep(0.9 * third);
    const after = await lossesOf(client);
    await dbManager.restart();
    const seconds = (systemClock.monotonic() - killedAt) / 1000;
    return {
      seconds,
      changed: [...after].filter(([name, loss]) => before.get(name) !== loss).length,
    };
  })();
  const [result, away] = await Promise.all([
    part(world, { name: `killed at ${run.perSecond}/s`, digit: "4" }, {
      rate: run.perSecond,
      durationMs: run.seconds * 1000,
      inOrder: true,
      attempts: ATTEMPTS,
    }),
    interrupting,
  ]);
  return { ...result, away };
}

function measuresOf(result: PartResult, all: number): Measure[] {
  const { name, load, written, rssMb, cores, updated } = result;
  const { ok, sent, unsent, seconds, byStatus, errors, again, withoutReturn, examples } = load;
  const answers = Object.entries(byStatus).map(([code, count]) => `${code}: ${count}`).join(", ");
  const failures = Object.entries(errors).map(([kind, count]) => `${kind}: ${count}`).join(", ");
  const others = Object.entries(byStatus).filter(([code]) => code !== "200" && code !== "503");
  return [
    {
      name: `${name}: pushes acknowledged`,
      value: ok / seconds,
      unit: "/s",
      note:
        `${ok} of ${sent} in ${seconds.toFixed(1)} s, ${unsent} more were offered; ${answers}; ` +
        `no answer: ${failures || "0"}; sent again: ${again} ${examples[0] ?? ""}`,
    },
    { name: `${name}: a push, p50`, value: load.latency.p50, unit: "ms" },
    { name: `${name}: a push, p99`, value: load.latency.p99, unit: "ms" },
    { name: `${name}: calls of the DB manager`, value: written.calls / seconds, unit: "/s" },
    {
      name: `${name}: rows written`,
      value: written.rows / seconds,
      unit: "/s",
      note: `${(written.rows / Math.max(1, written.calls)).toFixed(1)} rows a call`,
    },
    { name: `${name}: answers of 503`, value: byStatus["503"] ?? 0, unit: "" },
    {
      name: `${name}: of these without Retry-After`,
      value: withoutReturn,
      unit: "",
      goal: { is: "at most", limit: 0 },
    },
    {
      name: `${name}: other answers than 200 and 503`,
      value: others.reduce((sum, [, count]) => sum + count, 0),
      unit: "",
      goal: { is: "at most", limit: 0 },
    },
    { name: `${name}: memory of the manager`, value: rssMb, unit: "MB" },
    { name: `${name}: processor of the manager`, value: cores, unit: "cores" },
    { name: `${name}: TrainJobs whose status was updated`, value: updated, unit: `of ${all}` },
  ];
}

function measuresOfAccount(account: Account): Measure[] {
  const none = { unit: "", goal: { is: "at most", limit: 0 } } as const;
  return [
    {
      name: "read back: pushes acknowledged",
      value: account.acknowledged,
      unit: "",
      note: `${account.unacknowledged} more are there that were not acknowledged, which is allowed`,
    },
    { name: "read back: acknowledged and lost", value: account.lost, ...none },
    { name: "read back: doubled", value: account.doubled, ...none },
    { name: "read back: rows that nobody pushed", value: account.foreign, ...none },
  ];
}

async function measure(ground: Ground, dbManager: DbManager, run: KatibRun) {
  const { plane: { client }, pushers } = ground;
  const side = await ground.start({
    ...SETTINGS,
    observationSink: "katib",
    katibDbManager: dbManager.address,
  });
  const world = { client, side, pushers, dbManager, run };
  const durationMs = run.seconds * 1000;
  const first = await part(world, { name: "the first push of each", digit: "1" }, {
    rate: FIRST_PER_SECOND,
    count: pushers.length,
    attempts: ATTEMPTS,
  });
  const usual = await part(world, { name: `at ${run.perSecond}/s`, digit: "2" }, {
    rate: run.perSecond,
    durationMs,
    inOrder: true,
  });
  const beyond = await part(world, { name: `at ${run.beyond}/s`, digit: "3" }, {
    rate: run.beyond,
    durationMs,
    connections: BEYOND.connections,
  });
  const killed = await interrupted(world);
  run.say("reading all logs back");
  const logs = await dbManager.read(pushers.map(({ trainJob }) => trainJob));
  const parts = [usual, beyond, killed];
  return [
    ...parts.flatMap((it) => measuresOf(it, pushers.length)),
    {
      name: `${killed.name}: the DB manager was away`,
      value: killed.away.seconds,
      unit: "s",
      note: "started again it waits 5 s before it opens its table",
    },
    {
      name: `${killed.name}: statuses that changed meanwhile`,
      value: killed.away.changed,
      unit: `of ${pushers.length}`,
      goal: { is: "at least", limit: 1 },
    } satisfies Measure,
    ...measuresOfAccount(accountOf([first, ...parts], logs)),
  ];
}

/** Runs all of it. */
export async function throughKatib(run: KatibRun): Promise<Measure[]> {
  return await onTrials(run, async (ground) => {
    const dbManager = await startKatibDbManager(ground.plane.folder, run.dbManager);
    try {
      return await measure(ground, dbManager, run);
    } finally {
      await dbManager.stop();
    }
  });
}
