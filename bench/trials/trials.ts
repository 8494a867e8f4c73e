/** `deno task bench trials`: 1,000 running trials push every second, and their rules are applied. */
import { parseArgs } from "node:util";
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { type Load, type LoadPlan, runLoad } from "../generator/generator.ts";
import { katibProgram } from "../katib/programs.ts";
import { cpuSeconds, peakRssMb, rssMb } from "../process_stats.ts";
import type { Benchmark, Measure } from "../result.ts";
import type { Owner } from "../status/objects.ts";
import { LIFTED, type Side } from "../status/sides.ts";
import type { Pusher } from "../status/world.ts";
import { NAMESPACE, onTrials } from "./ground.ts";
import { type BenchLog, benchLog, type SinkName } from "./observation_log.ts";
import { throughKatib } from "./through_katib.ts";

/** Each token is reviewed once before its first push is taken, 50 a second (`--token-review-qps`). */
const FIRST_PUSHES_PER_SECOND = 40;
const WARM_UP_MS = 10_000;
/** Of each push; all of them are recorded. */
const METRICS = 2;
/** Limit of a push's p99, from the time at which it was due until its answer, in milliseconds. */
const P99_GOAL_MS = 100;

/** Options of a run. */
interface Run {
  readonly trials: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly sink: SinkName;
  readonly say: (text: string) => void;
}

/** The pushes of all trials, each in its turn, each over a connection that is kept. */
function pushAll(
  side: Side,
  pushers: readonly Pusher[],
  times: Pick<LoadPlan, "rate" | "durationMs" | "warmUpMs">,
) {
  return runLoad({
    name: "trials",
    ...times,
    targets: pushers.map(({ namespace, trainJob, token }) => ({
      url: `${side.url}${statusPath(TRAINJOB, namespace, trainJob)}`,
      token,
    })),
    caPem: side.caPem,
    connections: pushers.length,
    body: '{"trainerStatus":{"progressPercentage":{{percentage}},"metrics":[' +
      '{"name":"loss","value":"{{value}}"},{"name":"accuracy","value":"{{value}}"}],' +
      '"lastUpdatedTime":"{{now}}"}}',
  });
}

/** Results of a run. */
interface Measured {
  readonly measures: Measure[];
  /** Pushes that were answered with 200. */
  readonly acknowledged: number;
}

/** Memory of the manager now, in a list that is shown. */
async function watchMemory(pid: number, signal: AbortSignal): Promise<number[]> {
  const samples: number[] = [];
  while (!signal.aborted) {
    samples.push(await rssMb(pid));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 10_000);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      }, { once: true });
    });
  }
  return samples;
}

function measuresOf(
  { trials, perSecond, sink }: Run,
  load: Load & { readonly cpuSeconds: number },
  { idle, samples, peak, cpu, firstOk }: {
    readonly idle: number;
    readonly samples: readonly number[];
    readonly peak: number;
    readonly cpu: number;
    readonly firstOk: number;
  },
): Measured {
  const statuses = Object.entries(load.byStatus).map(([code, count]) => `${code}: ${count}`);
  const about = `${trials} trials, ${perSecond} pushes a second, sink ${sink}`;
  const name = (text: string) => `trials: ${text}`;
  const { p50, p90, p99, max, count } = load.warm;
  const measures: Measure[] = [
    {
      name: name("p99 of a push"),
      value: p99,
      unit: "ms",
      goal: { is: "below", limit: P99_GOAL_MS },
      note: `${about}; ${count} after the warm-up: p50 ${p50}, p90 ${p90}, most ${max} ms`,
    },
    {
      name: name("pushes not taken"),
      value: load.sent - load.ok,
      unit: "",
      goal: { is: "at most", limit: 0 },
      note: `${statuses.join(", ")}; ${JSON.stringify(load.errors)} ${load.examples.join("; ")}`,
    },
    { name: name("pushes taken"), value: load.rate, unit: "/s" },
    {
      name: name("memory of the manager at its most"),
      value: peak,
      unit: "MB",
      beside: { name: "before the first push", value: idle },
      note: `every 10 s: ${samples.map((it) => it.toFixed(0)).join(" ")} MB`,
    },
    {
      name: name("processor of the manager"),
      value: cpu,
      unit: "cores",
      note: `the generator: ${(load.cpuSeconds / load.seconds).toFixed(2)} cores`,
    },
  ];
  return { measures, acknowledged: firstOk + load.ok };
}

/** Acknowledged rows that are not in the log; a push has {@link METRICS}. */
async function lostRows(
  log: BenchLog,
  trials: readonly Owner[],
  acknowledged: number,
): Promise<Measure[]> {
  const rows = await log.rows(trials);
  if (rows === undefined) return [];
  return [{
    name: "trials: acknowledged rows that are not in the log",
    value: Math.max(0, METRICS * acknowledged - rows),
    unit: "",
    goal: { is: "at most", limit: 0 },
    note: `${acknowledged} pushes were acknowledged, the log has ${rows} rows`,
  }];
}

async function measure(side: Side, pushers: readonly Pusher[], run: Run): Promise<Measured> {
  const [pid = 0] = side.pids;
  const idle = await rssMb(pid);
  run.say("the first push of each");
  const durationMs = 1000 * pushers.length / FIRST_PUSHES_PER_SECOND;
  const first = await pushAll(side, pushers, { rate: FIRST_PUSHES_PER_SECOND, durationMs });
  run.say(`${first.ok} of ${first.sent} were taken; now all, ${run.perSecond} a second`);
  const began = performance.now();
  const cpuBefore = await cpuSeconds(pid);
  const over = new AbortController();
  const watching = watchMemory(pid, over.signal);
  try {
    const load = await pushAll(side, pushers, {
      rate: run.perSecond,
      durationMs: WARM_UP_MS + run.seconds * 1000,
      warmUpMs: WARM_UP_MS,
    });
    const cpu = (await cpuSeconds(pid) - cpuBefore) / ((performance.now() - began) / 1000);
    over.abort();
    const samples = await watching;
    const peak = await peakRssMb(pid);
    return measuresOf(run, load, { idle, samples, peak, cpu, firstOk: first.ok });
  } finally {
    over.abort();
    await watching;
  }
}

function withTrials(run: Run): Promise<Measure[]> {
  return onTrials(run, async ({ plane: { client, folder }, program, owners, pushers, start }) => {
    await using cleanup = new AsyncDisposableStack();
    const log = benchLog(run.sink, folder, NAMESPACE);
    cleanup.defer(() => log.stop());
    const side = await start({ ...LIFTED, observationSink: log.flag });
    await log.start(client, program);
    const { measures, acknowledged } = await measure(side, pushers, run);
    await side.stop();
    return [...measures, ...await lostRows(log, owners, acknowledged)];
  });
}

function sinkOf(text: string): SinkName {
  if (text === "memory" || text === "sqlite" || text === "grpc") return text;
  throw new Error(`--sink: "${text}" must be memory, sqlite or grpc`);
}

export const trials: Benchmark = {
  about:
    "1,000 trials that push every second; --trials N --seconds N --rate N --sink memory|sqlite|grpc, " +
    "or --db-manager FILE [--beyond N]: Katib's DB manager, as you have built it",
  takesOptions: true,
  async run(say, options) {
    const { values } = parseArgs({
      args: [...options],
      options: {
        trials: { type: "string", default: "1000" },
        seconds: { type: "string" },
        rate: { type: "string" },
        sink: { type: "string", default: "memory" },
        "db-manager": { type: "string" },
        beyond: { type: "string", default: "3000" },
      },
    });
    if (values["db-manager"] !== undefined) {
      return await throughKatib({
        dbManager: await katibProgram("db-manager", values["db-manager"]),
        trials: Number(values.trials),
        seconds: Number(values.seconds ?? 15),
        perSecond: Number(values.rate ?? 300),
        beyond: Number(values.beyond),
        say,
      });
    }
    return await withTrials({
      trials: Number(values.trials),
      seconds: Number(values.seconds ?? 60),
      perSecond: Number(values.rate ?? 1000),
      sink: sinkOf(values.sink),
      say,
    });
  },
};
