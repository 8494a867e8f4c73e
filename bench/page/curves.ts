/**
 * Process that records the curves of many jobs, and prints what they take as JSON; with `idle` it makes the same pushes
 * and records none. Needs `--expose-gc`.
 */
import { z } from "zod";
import { createCurveStore, type CurveStore } from "../../owner/curves/curve_store.ts";
import { rssMb } from "../process_stats.ts";
import { quantile } from "../result.ts";

const [JOBS, SAMPLES, READ, READS] = [10_000, 300, 100, 50];
const START_MS = Date.parse("2026-01-01T00:00:00Z");
/** A sample each 10 s of each job. */
const EVERY_MS = 10_000;
const METRICS = ["loss", "grad_norm", "learning_rate", "eval_accuracy"];

export const curvesTakenSchema = z.object({
  jobs: z.number(),
  /** Jobs whose curves are all kept. */
  complete: z.number(),
  countedBytes: z.number(),
  /** Of the heap and buffers, after a collection. */
  liveBytes: z.number(),
  rssBytes: z.number(),
  readMs: z.number(),
  answerBytes: z.number(),
  pushesPerSecond: z.number(),
  longestMs: z.number(),
});
export type CurvesTaken = z.infer<typeof curvesTakenSchema>;

const collectorSchema = z.object({ gc: z.custom<() => void>((it) => typeof it === "function") });

async function memory(): Promise<{ live: number; rss: number }> {
  const { gc } = collectorSchema.parse(globalThis);
  gc();
  gc();
  const { heapUsed, external } = Deno.memoryUsage();
  return { live: heapUsed + external, rss: await rssMb(Deno.pid) * (1 << 20) };
}

const uidOf = (job: number) => `00000000-0000-4000-8000-${String(job).padStart(12, "0")}`;

/** A push as the status endpoint hands it over: parsed from JSON, so that no string is shared. */
function pushOf(job: number, sample: number, timeMs: number) {
  const value = (metric: number) =>
    String(Math.exp(-sample / 100) * (1 + metric) + Math.random() / 10);
  const metrics = METRICS.map((name, metric) => ({ name, value: value(metric) }));
  const pod = { name: `job-${job}-node-0-0-bcdfg`, uid: `${uidOf(job)}-pod` };
  const push = { uid: uidOf(job), pod, sample: { timeMs, metrics, progress: sample / 3 } };
  return pushSchema.parse(JSON.parse(JSON.stringify(push)));
}
const pushSchema = z.object({
  uid: z.string(),
  pod: z.object({ name: z.string(), uid: z.string() }),
  sample: z.object({
    timeMs: z.number(),
    metrics: z.array(z.object({ name: z.string(), value: z.string() })),
    progress: z.number(),
  }),
});

/** All jobs push in turn. */
function pushAll(record: CurveStore["record"], setTime: (ms: number) => void) {
  let [spent, longestMs] = [0, 0];
  for (let sample = 0; sample < SAMPLES; sample++) {
    const timeMs = START_MS + sample * EVERY_MS;
    setTime(timeMs);
    for (let job = 0; job < JOBS; job++) {
      const push = pushOf(job, sample, timeMs + job % 1000);
      const began = performance.now();
      record(push, push.pod, [push.sample]);
      const took = performance.now() - began;
      spent += took;
      longestMs = Math.max(longestMs, took);
    }
  }
  return { pushesPerSecond: JOBS * SAMPLES * 1000 / spent, longestMs };
}

function read(store: CurveStore) {
  let answerBytes = 0;
  const times = Array.from({ length: READS }, (_, turn) => {
    const uids = Array.from({ length: READ }, (_, index) => uidOf(turn * READ + index));
    const began = performance.now();
    const answer = uids.map((uid) => store.curvesOf(uid));
    const took = performance.now() - began;
    answerBytes = JSON.stringify(answer).length;
    return took;
  });
  return { readMs: quantile(times, 0.99), answerBytes };
}

function complete(store: CurveStore): number {
  let count = 0;
  for (let job = 0; job < JOBS; job++) {
    const { metrics = [] } = store.curvesOf(uidOf(job)) ?? {};
    const first = metrics.at(-1)?.points[0]?.[1];
    if (metrics.length === METRICS.length + 1 && first === 0) count++;
  }
  return count;
}

async function measured(isIdle: boolean): Promise<CurvesTaken> {
  let nowMs = START_MS;
  const clock = { now: () => nowMs };
  const setTime = (ms: number) => nowMs = ms + EVERY_MS;
  // Compiles the code, and lets the heap grow by what is not kept.
  const warm = createCurveStore({ clock, maxBytes: 1 << 20 });
  for (let push = 0; push < 50_000; push++) {
    const { uid, pod, sample } = pushOf(push % 100, push, START_MS);
    warm.record({ uid }, pod, [sample]);
  }
  const before = await memory();
  const store = createCurveStore({ clock });
  const rates = pushAll(isIdle ? () => {} : store.record, setTime);
  const after = await memory();
  return {
    jobs: JOBS,
    complete: complete(store),
    countedBytes: store.bytes,
    liveBytes: after.live - before.live,
    rssBytes: after.rss - before.rss,
    ...read(store),
    ...rates,
  };
}

// deno-lint-ignore no-console
if (import.meta.main) console.log(JSON.stringify(await measured(Deno.args.includes("idle"))));
