/** `deno task bench zoom`: curves of a time range from a log of 100,000 rows, and what pushes notice of viewers who zoom. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { ObservationSink } from "../../owner/observations/sink.ts";
import { createMemorySink, createSqliteSink } from "../../katib/log/sqlite_sink.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createLogZoom, type LogZoom } from "../../owner/curves/log_zoom.ts";
import type { ObservationReader } from "../../owner/observations/observations.ts";
import { createCurveStore, type JobCurves } from "../../owner/curves/curve_store.ts";
import type { ObservationRow } from "../../trials/recording/observation_row.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";

const [SAMPLES, EVERY_MS, VIEWERS, PUSHES] = [25_000, 1_000, 8, 1_500];
const METRICS = ["loss", "grad_norm", "learning_rate", "eval_accuracy"];
const START_MS = Date.parse("2026-01-01T00:00:00Z");
const key = { kind: "trial", namespace: "team", name: "long", uid: "uid-1" } as const;
const job = { kind: TRAINJOB, namespace: "team", name: "long", uid: "uid-1" };
const never = new AbortController().signal;

const samplesFrom = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => {
    const timeMs = START_MS + (from + n) * EVERY_MS;
    const metrics = METRICS.map((name) => ({ name, value: String(Math.random()) }));
    return { timeMs, metrics };
  });
const rowsOf = (samples: ReturnType<typeof samplesFrom>): ObservationRow[] =>
  samples.flatMap(({ timeMs, metrics }) =>
    metrics.map((metric) => ({ time: new Date(timeMs).toISOString(), run: "pod", ...metric }))
  );

/** A log of 100,000 rows, the curves that are kept of them, and a zoom into it. */
async function filled(sink: ObservationSink) {
  const endMs = START_MS + SAMPLES * EVERY_MS;
  const store = createCurveStore({ clock: { now: () => endMs } });
  for (let from = 0; from < SAMPLES; from += 1_000) {
    const samples = samplesFrom(from, 1_000);
    await sink.append(key, rowsOf(samples), never);
    store.record(job, undefined, samples);
  }
  const readLog: ObservationReader["pageOf"] = async (_, part, signal) => {
    const { limit } = part;
    const rows = await sink.read(key, signal, { ...part, limit: limit + 1 });
    return { rows: rows.slice(0, limit), more: rows.length > limit, isTold: true };
  };
  const zoom = createLogZoom({ readLog, clock: systemClock });
  return { zoom, curvesOf: (query: object) => store.curvesOf(job.uid, query) };
}

interface Filled {
  readonly zoom: LogZoom;
  readonly curvesOf: (query: object) => JobCurves | undefined;
}

/** Shows a range that begins at a random time. */
async function show({ zoom, curvesOf }: Filled, seconds: number, metrics: readonly string[]) {
  const fromMs = START_MS + Math.random() * (SAMPLES * EVERY_MS - seconds * 1000);
  const range = { fromMs, toMs: fromMs + seconds * 1000 };
  const kept = curvesOf({ ...range, metrics });
  if (kept === undefined) throw new Error("there are no curves");
  const began = performance.now();
  const curves = await zoom(job, kept, { ...range, points: 128 }, never);
  if (curves.some(({ source, cut }) => source !== "log" || cut)) throw new Error("not the log");
  return performance.now() - began;
}

async function times(count: number, work: () => Promise<number>): Promise<number> {
  const all: number[] = [];
  for (let n = 0; n < count; n++) all.push(await work());
  return quantile(all, 0.5);
}

/** Pushes of four rows, one each 4 ms, and how long the 99th of a hundred takes from the time at which it is due. */
async function pushed(sink: ObservationSink, name: string): Promise<number> {
  const took: number[] = [];
  const other = { ...key, name, uid: name };
  const began = performance.now();
  for (let n = 0; n < PUSHES; n++) {
    const dueMs = began + n * 4;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await systemClock.sleep(waitMs);
    await sink.append(other, rowsOf(samplesFrom(n, 1)), never);
    took.push(performance.now() - dueMs);
  }
  return quantile(took, 0.99);
}

async function measure(sink: ObservationSink, say: (text: string) => void): Promise<Measure[]> {
  say("writing 100,000 rows");
  const log = await filled(sink);
  say("zooming");
  const [first = ""] = METRICS;
  const short = await times(50, () => show(log, 100, [first]));
  const hour = await times(20, () => show(log, 3_600, [first]));
  const hourOfAll = await times(20, () => show(log, 3_600, METRICS));
  const wide = await times(5, () => show(log, 12_000, METRICS));
  say("pushing, alone and beside viewers who zoom all the time");
  // Into a log in memory, because the time of a disk varies more than what is measured.
  const others = createMemorySink();
  const pairs: (readonly [number, number])[] = [];
  for (let pair = 0; pair < 5; pair++) {
    const alone = await pushed(others, `alone-${pair}`);
    let isOver = false;
    const viewers = Array.from({ length: VIEWERS }, async () => {
      while (!isOver) await show(log, 3_600, METRICS);
    });
    pairs.push([await pushed(others, `beside-${pair}`), alone]);
    isOver = true;
    await Promise.all(viewers);
  }
  await others.close();
  const median = (place: 0 | 1) => quantile(pairs.map((pair) => pair[place]), 0.5);
  return [
    { name: "100 samples of one metric", value: short, unit: "ms" },
    { name: "an hour of one metric: 3,600 rows", value: hour, unit: "ms" },
    { name: "an hour of all four: 14,400 rows", value: hourOfAll, unit: "ms" },
    { name: "200 minutes of all four: 48,000 rows", value: wide, unit: "ms" },
    {
      name: `p99 of writes while ${VIEWERS} viewers zoom all the time`,
      value: median(0),
      unit: "ms",
      beside: { name: "without viewers", value: median(1) },
      note:
        "to a log in memory, 250 a second of four rows, from the time at which they are due; median of five pairs",
    },
  ];
}

export const zoom: Benchmark = {
  about: "curves of a time range from a log of 100,000 rows in SQLite, with pushes beside it",
  async run(say): Promise<Measure[]> {
    const folder = await Deno.makeTempDir();
    const sink = createSqliteSink(`${folder}/observations.db`, systemClock);
    try {
      return await measure(sink, say);
    } finally {
      await sink.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
};
