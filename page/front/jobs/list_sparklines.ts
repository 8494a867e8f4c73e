/** Sparklines of the list: curves of the rows that are seen, asked for again as the rows change. */
import { effect, signal, untracked } from "@preact/signals";
import type { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";
import { curvesOf } from "../feed/curve_requests.ts";
import { keyOf, MOST_JOBS } from "../feed/job_key.ts";
import { inTurn } from "../charts/frame_turns.ts";
import { call, list, sessionKey, view } from "../page_state.ts";
import type { JobCurves, Row } from "../feed/view_answers_read.ts";
import { frameOf } from "../feed/view_state.ts";
import type { View } from "../url_state.ts";

/** Metrics that a row shows. */
const ROW_METRICS = 2;
/** Metrics that one request may name. */
const MOST_METRICS: typeof CURVE_LIMITS.metrics = 16;
/** Least time between two requests, in milliseconds. */
const EVERY_MS = 2_000;

/** Curves by the keys of their jobs. */
export const sparklines = signal<ReadonlyMap<string, JobCurves>>(new Map());

/** Rows as they were when their curves were asked for, with the metric that was the first then. */
const asked = new WeakMap<Row, string>();

/** Returns the metric that the list is ordered by; empty if by something else. */
export const orderMetric = (view: View): string =>
  view.page === "jobs" && view.sort === "metric" ? view.sortMetric : "";

/** Returns the metrics that a row shows: the first ones, and before them the one that is to be `first`. */
export const shownMetrics = ({ metrics }: Row, first: string): Row["metrics"] =>
  [...metrics].sort((one, other) => Number(other.name === first) - Number(one.name === first))
    .slice(0, ROW_METRICS);

/** Returns whether the curves of a row are to be asked for. */
const isWanted = (row: Row, first: string) => row.metrics.length > 0 && asked.get(row) !== first;

async function askFor(
  rows: readonly Row[],
  first: string,
  signal: AbortSignal,
): Promise<void> {
  const names = rows.flatMap((row) => shownMetrics(row, first)).map(({ name }) => name);
  const metrics = [...new Set(names)].slice(0, MOST_METRICS);
  const { jobs } = await curvesOf(
    rows.map(keyOf),
    [...metrics.map((name) => ["metric", name] as const), ["points", "32"]],
    (path) => call(path, { signal }),
  );
  inTurn(() => draw(jobs));
}

/** Draws curves, a few in each frame. */
function draw(jobs: readonly JobCurves[]): void {
  const { now, later } = frameOf(jobs);
  const seen = new Set(untracked(() => list.value)?.rows.map(keyOf));
  // Curves of rows that are not seen any more are not kept.
  const kept = [...sparklines.value].filter(([key]) => seen.has(key));
  sparklines.value = new Map([...kept, ...now.map((job) => [job.key, job] as const)]);
  if (later.length > 0) inTurn(() => draw(later));
}

/** Keeps the sparklines of the list current, while it is the page. */
export function startSparklines(): void {
  let timer = 0;
  let lastMs = 0;
  let running: AbortController | undefined;
  const look = async () => {
    timer = 0;
    const first = orderMetric(view.value);
    const rows = (list.value?.rows ?? []).filter((row) => isWanted(row, first))
      .slice(0, MOST_JOBS);
    if (rows.length === 0 || sessionKey.value === undefined || view.value.page !== "jobs") return;
    running = new AbortController();
    lastMs = Date.now();
    try {
      for (const row of rows) asked.set(row, first);
      await askFor(rows, first, running.signal);
    } catch {
      // The list goes without them, and its connection says what is wrong.
      for (const row of rows) asked.delete(row);
    } finally {
      running = undefined;
      plan();
    }
  };
  const plan = () => {
    if (timer !== 0 || running !== undefined) return;
    const first = orderMetric(view.value);
    if (!list.value?.rows.some((row) => isWanted(row, first))) return;
    timer = setTimeout(look, Math.max(0, lastMs + EVERY_MS - Date.now()));
  };
  effect(() => {
    if (view.value.page === "jobs" && list.value !== undefined) untracked(plan);
  });
}
