/** Curves of a time range: asked for once the range is settled, and again while it reaches to the present. */
import { useEffect, useState } from "preact/hooks";
import type { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";
import { call } from "../page_state.ts";
import { type Curve, readCurves } from "../feed/view_answers_read.ts";

/** What is asked for. */
export interface ZoomQuery {
  readonly jobs: readonly {
    readonly key: string;
    readonly fromMs: number;
    /** Absent: up to the present. */
    readonly toMs?: number;
  }[];
  readonly metrics: readonly string[];
}

/** Curves by the keys of their jobs. */
export interface Zoomed {
  readonly phase: "asking" | "here";
  readonly byJob: ReadonlyMap<string, readonly Curve[]>;
  /** Why there are none, or no newer ones. */
  readonly problem: string;
}

/** Most metrics of a question. */
export const MOST_ZOOMED: typeof CURVE_LIMITS.metrics = 16;
/** How often a range that reaches to the present is asked for, in milliseconds. */
const AGAIN_MS = 5_000;
const NOTHING: Zoomed = { phase: "asking", byJob: new Map(), problem: "" };

const time = (ms: number) => new Date(ms).toISOString();

/** Asks for the curves of one job. */
async function ask(
  { metrics }: ZoomQuery,
  { key, fromMs, toMs }: ZoomQuery["jobs"][number],
  signal: AbortSignal,
): Promise<readonly Curve[]> {
  const query = new URLSearchParams([
    ["job", key],
    ["from", time(fromMs)],
    ...metrics.map((name) => ["metric", name]),
  ]);
  if (toMs !== undefined) query.set("to", time(toMs));
  const answer = await call(`/view/v1/curves?${query}`, { signal });
  return readCurves(await answer.json()).jobs.find((it) => it.key === key)?.curves ?? [];
}

async function askAll(query: ZoomQuery, before: Zoomed, signal: AbortSignal): Promise<Zoomed> {
  try {
    const all = await Promise.all(
      query.jobs.map(async (job) => [job.key, await ask(query, job, signal)] as const),
    );
    return { phase: "here", byJob: new Map(all), problem: "" };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { ...before, phase: "here", problem };
  }
}

const reachesPresent = ({ jobs }: ZoomQuery) =>
  jobs.some(({ toMs = Infinity }) => toMs > Date.now() - AGAIN_MS);

/** Returns what is known of a range; undefined while all of the time is shown. */
export function useZoomed(query: ZoomQuery | undefined): Zoomed | undefined {
  const [zoomed, setZoomed] = useState(NOTHING);
  const text = JSON.stringify(query);
  useEffect(() => {
    if (query === undefined) return setZoomed(NOTHING);
    const stop = new AbortController();
    let timer = 0;
    let last = NOTHING;
    setZoomed(NOTHING);
    const run = async () => {
      last = await askAll(query, last, stop.signal);
      if (stop.signal.aborted) return;
      setZoomed(last);
      if (reachesPresent(query)) timer = setTimeout(run, AGAIN_MS);
    };
    run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [text]);
  return query && zoomed;
}

/** Says what the lines of a chart were made of within the range. */
export function sourceText(
  { phase, problem }: Pick<Zoomed, "phase" | "problem">,
  curves: readonly Partial<Pick<Curve, "source" | "cut">>[],
): string {
  if (phase === "asking") return "Asking for finer points…";
  if (problem !== "") return `Finer points cannot be had now: ${problem}`;
  const fromLog = curves.filter(({ source }) => source === "log");
  if (fromLog.length === 0) return "As kept: 128 buckets over the whole time.";
  const cut = fromLog.some(({ cut }) => cut) ? ", which has not all of this range" : "";
  const others = fromLog.length < curves.length ? " where there is one, else as kept" : "";
  return `From the log${others}${cut}.`;
}
